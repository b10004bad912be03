package web

import (
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

const runsOfAPage = 50

type runTable struct{ *page }

// showRuns lists the outcomes of slots, by the parameters task, outcome, all (true: runs of all
// servers of the store) and below.
func showRuns(p *page) error {
	p.title = "Runs"
	task := p.query("task")
	p.put(`<h1>Runs`)
	if task != "" {
		p.put(` of <a href="%s">%s</a>`, p.taskURL(task), task)
	}
	p.put(`</h1><div id="runs" data-live>`)
	list := runTable{p}
	list.serverChips()
	list.outcomeChips()
	if err := list.runsOf(task, runsOfAPage); err != nil {
		return err
	}
	p.put(`</div>`)
	return nil
}

func (p runTable) ofAll() bool {
	return p.View.Controls.Store != nil && p.query("all_servers") == "true"
}

func (p runTable) serverChips() {
	if p.View.Controls.Store == nil {
		return
	}
	here, all := markup(` aria-current="true"`), markup("")
	if p.ofAll() {
		here, all = all, here
	}
	p.put(`<nav class="chips" aria-label="Servers"><a class="chip" href="%s"%s>this server</a><a class="chip" href="%s"%s>all servers</a>`,
		p.with("all_servers", "", "below", ""), here, p.with("all_servers", "true", "below", "", "outcome", ""), all)
	if p.ofAll() {
		p.put(`<span class="quiet">what they skipped or missed is on their own pages</span>`)
	}
	p.put(`</nav>`)
}

func (p runTable) outcomeChips() {
	chip := func(value, label string) {
		here := markup("")
		if p.query("outcome") == value {
			here = ` aria-current="true"`
		}
		p.put(`<a class="chip" href="%s"%s>%s</a>`, p.with("outcome", value, "below", ""), here, label)
	}
	p.put(`<nav class="chips" aria-label="Filter by outcome">`)
	chip("", "all")
	outcomes := outcome.All
	if p.ofAll() {
		outcomes = outcome.Ran
	}
	for _, o := range outcomes {
		chip(strings.ReplaceAll(string(o), " ", "-"), string(o))
	}
	p.put(`</nav>`)
}

func (p runTable) runsOf(task string, limit int) error {
	q := state.Query{Task: task, Limit: limit, Below: p.below()}
	if o, ok := outcome.Parse(p.query("outcome")); ok {
		q.Outcomes = []outcome.Outcome{o}
	}
	page := p.View.Page
	if p.ofAll() {
		page = p.View.PageOfAll
	}
	records, next, err := page(p.request.Context(), q)
	if err != nil {
		return err
	}
	if len(records) == 0 {
		p.put(`<p class="empty">Nothing is recorded here.</p>`)
		return nil
	}
	p.recordTable(records, task == "")
	p.put(`<nav class="pager" aria-label="Pages of the list">`)
	if p.query("below") != "" {
		p.put(`<a href="%s">↑ the newest</a>`, p.with("below", ""))
	}
	if next.ID != "" {
		p.put(`<a href="%s" rel="next">older →</a>`, p.with("below", strconv.FormatInt(next.Slot.UnixMicro(), 10)+"."+next.ID))
	}
	p.put(`</nav>`)
	return nil
}

// below reads the position at which the list goes on. A parameter that was made up means the
// beginning.
func (p runTable) below() state.Position {
	at, run, ok := strings.Cut(p.query("below"), ".")
	n, err := strconv.ParseInt(at, 10, 64)
	slot := time.UnixMicro(n).UTC()
	if !ok || err != nil || slot.Year() < 1 || slot.Year() > 9999 {
		return state.Position{}
	}
	return state.Position{Slot: slot, ID: run}
}

func (p runTable) recordTable(records []outcome.Record, named bool) {
	p.put(`<table class="runs"><thead><tr>`)
	if named {
		p.put(`<th>Task`)
	}
	p.put(`<th>Slot<th>Outcome<th class="n">Took<th>Why`)
	if p.ofAll() {
		p.put(`<th>Server`)
	}
	p.put(`<th>Run</tr></thead><tbody>`)
	elsewhere := p.View.RanElsewhere(p.request.Context(), records)
	for _, r := range records {
		p.put(`<tr>`)
		if named {
			p.put(`<th scope="row"><a href="%s">%s</a></th>`, p.taskURL(r.Task), r.Task)
		}
		p.put(`<td data-label="slot">%s</td><td data-label="outcome">%s`, p.exactly(r.Slot, p.zoneOf(r.Task)), badge(string(r.Outcome)))
		if r.IsRange() {
			p.put(` <small>%s, to %s</small>`, humanize.Count(r.Slots, "slot"), humanize.SlotZone(r.Until, p.zoneOf(r.Task)))
		}
		took := ""
		if !r.Started.IsZero() {
			took = humanize.Duration(r.Duration())
		}
		p.put(`</td><td class="n" data-label="took">%s</td><td class="why">`, took)
		p.why(r, elsewhere[r.Run])
		if r.Attempts > 1 {
			p.put(` <small>%s</small>`, humanize.Count(r.Attempts, "attempt"))
		}
		if r.Origin != "" {
			p.put(` <small>%s</small>`, r.Origin)
		}
		p.put(`</td>`)
		if p.ofAll() {
			p.put(`<td data-label="server">%s</td>`, r.Server)
		}
		p.put(`<td data-label="run"><a href="%s"><code>%s</code></a></td></tr>`, p.runURL(r.Run), humanize.ShortRun(r.Run))
	}
	p.put(`</tbody></table>`)
}

// why writes the reason of an outcome and, if it is known, the outcome of the slot on another
// server. It says only once that another server took the slot.
func (p *page) why(r, elsewhere outcome.Record) {
	if elsewhere.Run == "" {
		p.put(`%s`, r.Reason)
		return
	}
	if !strings.HasPrefix(r.Reason, outcome.AnotherTick) {
		p.put(`%s; `, r.Reason)
	}
	p.elsewhere(elsewhere)
}

func (p *page) elsewhere(r outcome.Record) {
	as, took := "running", ""
	if r.Outcome != "" {
		as, took = string(r.Outcome), " in "+humanize.Duration(r.Duration())
	}
	p.put(`<a href="%s">on %s</a> %s%s`, p.runURL(r.Run), r.Server, badge(as), took)
}

func (p *page) live(t view.Task) {
	for _, r := range t.Running {
		p.put(`<p>%s <a href="%s"><code>%s</code></a>`, badge("running"), p.runURL(r.Run), humanize.ShortRun(r.Run))
		if !r.Began.IsZero() {
			p.put(` for %s`, humanize.Duration(max(0, p.now.Sub(r.Began))))
		}
		if r.Host != "" {
			p.put(` on %s`, r.Host)
		}
		p.put(`</p>`)
	}
	for _, w := range t.Waiting {
		p.put(`<p>%s <a href="%s"><code>%s</code></a> %s</p>`, badge("waiting"), p.runURL(w.Run), humanize.ShortRun(w.Run), w.Text(p.now, p.zone))
	}
}
