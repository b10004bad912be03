package web

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

const runsOfAPage = 50

// A runTable lists the outcomes of slots. Its methods write a part of the page, unless they return
// something.
type runTable struct{ *page }

// showRuns lists the outcomes of slots, by the parameters task, outcome, since and until (days), q
// (words), all_servers (true: runs of all servers of the store) and below.
func showRuns(p *page) error {
	p.title = "Runs"
	task := p.query("task")
	p.put(`<h1>Runs`)
	if task != "" {
		p.put(` of <a href="%s">%s</a>`, p.taskURL(task), task)
	}
	p.put(`</h1>`)
	list := runTable{p}
	list.form()
	p.put(`<div id="runs" data-live>`)
	list.serverChips()
	list.outcomeChips()
	if err := list.listRuns(task, runsOfAPage); err != nil {
		return err
	}
	p.put(`</div>`)
	return nil
}

// form writes the fields that restrict the list. It keeps the other parameters.
func (p runTable) form() {
	p.put(`<form class="filter" role="search" method="get" action="%s/runs"><input type="search" name="q" value="%s" placeholder="words of why, or of a note" aria-label="Filter by words">
<label>Task <input name="task" value="%s" list="tasks-known"></label><label>From <input type="date" name="since" value="%s"></label><label>To <input type="date" name="until" value="%s"></label><datalist id="tasks-known">`,
		p.base, p.query("q"), p.query("task"), p.query("since"), p.query("until"))
	for _, t := range p.Schedule.Tasks {
		p.put(`<option value="%s">`, t.Name)
	}
	p.put(`</datalist>`)
	p.keepParams("outcome", "all_servers")
	p.put(`<button>Filter</button></form>`)
}

// listQuery is the query that the parameters state.
func (p runTable) listQuery(task string, limit int) (q state.Query, err error) {
	q = state.Query{Task: task, Limit: limit, Below: p.below()}
	if o, ok := outcome.Parse(p.query("outcome")); ok {
		q.Outcomes = []outcome.Outcome{o}
	}
	if q.Since, err = p.day("since"); err != nil {
		return q, err
	}
	if q.Until, err = p.day("until"); err == nil && !q.Until.IsZero() {
		q.Until = q.Until.AddDate(0, 0, 1) // the whole day
	}
	return q, err
}

// A recordReader is view.Source.Page or PageOfAll.
type recordReader func(context.Context, state.Query) ([]state.Row, state.Position, error)

// maxReads bounds how often matching reads MaxPageSize records for one page.
const maxReads = 10

// matching returns a page of the records that have all of the words in their task, their reason,
// their origin or their notes. If few records have them, the page is short, and the next page goes
// on where this one stopped looking.
func (read recordReader) matching(
	ctx context.Context, q state.Query, words []string,
) (found []state.Row, next state.Position, err error) {
	if len(words) == 0 {
		return read(ctx, q)
	}
	limit := q.Limit
	q.Limit = view.MaxPageSize
	for range maxReads {
		records, below, err := read(ctx, q)
		if err != nil {
			return nil, next, err
		}
		for _, r := range records {
			if !hasWords(r, words) {
				continue
			}
			if len(found) == limit { // so there is a next page
				last := found[limit-1]
				return found, state.Position{Slot: last.Slot, ID: last.ID}, nil
			}
			found = append(found, r)
		}
		if below.ID == "" {
			return found, below, nil
		}
		q.Below, next = below, below
	}
	return found, next, nil
}

// hasWords reports whether a record has all of the words, which are in lower case.
func hasWords(r state.Row, words []string) bool {
	texts := append([]string{r.Task, view.Describe(r), r.Reason, r.Origin}, r.Notes...)
	text := strings.ToLower(strings.Join(texts, " "))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// isOfAllServers reports whether the list has the runs of all servers of the store.
func (p runTable) isOfAllServers() bool {
	return p.View.Controls.Store != nil && p.query("all_servers") == "true"
}

// serverChips leads from the runs of this server to the runs of all servers, and back.
func (p runTable) serverChips() {
	if p.View.Controls.Store == nil {
		return
	}
	p.put(`<nav class="chips" aria-label="Servers"><a class="chip" href="%s"%s>this server</a><a class="chip" href="%s"%s>all servers</a>`,
		p.urlWith("all_servers", "", "below", ""), currentIf(!p.isOfAllServers()),
		p.urlWith("all_servers", "true", "below", "", "outcome", ""), currentIf(p.isOfAllServers()))
	if p.isOfAllServers() {
		p.put(`<span class="quiet">what they skipped or missed is on their own pages</span>`)
	}
	p.put(`</nav>`)
}

// outcomeChips leads to the records with one outcome.
func (p runTable) outcomeChips() {
	p.put(`<nav class="chips" aria-label="Filter by outcome">`)
	p.chip("outcome", "", "all", 0)
	for _, o := range outcome.Filters {
		if p.isOfAllServers() && (o == outcome.Skipped || o == outcome.Missed) {
			continue
		}
		p.chip("outcome", outcome.Words([]outcome.Outcome{o})[0], string(o), 0)
	}
	p.put(`</nav>`)
}

// listRuns writes a page of the list, and links to the pages before and behind it. task is the only
// task of the list; "" for all.
func (p runTable) listRuns(task string, limit int) error {
	q, err := p.listQuery(task, limit)
	if err != nil {
		return err
	}
	read := recordReader(p.View.Page)
	if p.isOfAllServers() {
		read = p.View.PageOfAll
	}
	records, next, err := read.matching(p.request.Context(), q, strings.Fields(strings.ToLower(p.query("q"))))
	if err != nil {
		return err
	}
	switch {
	case len(records) > 0:
		p.recordTable(records, task == "")
	case next.ID != "":
		p.put(`<p class="empty">Nothing down to %s.</p>`, p.timeExact(next.Slot, p.zone))
	default:
		p.put(`<p class="empty">Nothing is recorded here.</p>`)
		return nil
	}
	p.put(`<nav class="pager" aria-label="Pages of the list">`)
	if p.query("below") != "" {
		p.put(`<a href="%s">↑ the newest</a>`, p.urlWith("below", ""))
	}
	if next.ID != "" {
		p.put(`<a href="%s" rel="next">older →</a>`, p.urlWith("below", positionText(next)))
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

// positionText returns the parameter that below reads.
func positionText(p state.Position) string {
	return strconv.FormatInt(p.Slot.UnixMicro(), 10) + "." + p.ID
}

// recordTable writes a row for each record, and one row for skips that follow each other. Rows name
// their task only withTask.
func (p runTable) recordTable(records []state.Row, withTask bool) {
	p.put(`<table class="runs"><thead><tr>`)
	if withTask {
		p.put(`<th>Task`)
	}
	p.put(`<th>Slot<th>Outcome<th class="n">Took<th>Why`)
	if p.isOfAllServers() {
		p.put(`<th>Server`)
	}
	p.put(`<th>Run</tr></thead><tbody>`)
	elsewhere := view.RanElsewhere(p.request.Context(), p.View, records)
	for len(records) > 0 {
		if n := p.countFoldable(records, elsewhere); n >= minFolded {
			p.folded(records[:n], withTask)
			records = records[n:]
			continue
		}
		p.record(records[0], elsewhere[records[0].ID], withTask)
		records = records[1:]
	}
	p.put(`</tbody></table>`)
}

// minFolded is the fewest skips in a row that become one line.
const minFolded = 3

// countFoldable counts the records, from the first on, that are skips that can be one line: they
// are of one task or have one reason, and ran nowhere else. Somebody who asks for skips sees each.
func (p runTable) countFoldable(records []state.Row, elsewhere map[string]state.Row) (n int) {
	if p.query("outcome") != "" {
		return 0
	}
	isSkip := func(r state.Row) bool {
		_, ran := elsewhere[r.ID]
		return r.Outcome == outcome.Skipped && !ran
	}
	first := records[0]
	oneTask, oneReason := true, true
	for n < len(records) && isSkip(records[n]) {
		oneTask = oneTask && records[n].Task == first.Task
		oneReason = oneReason && records[n].Reason == first.Reason
		if !oneTask && !oneReason {
			break
		}
		n++
	}
	return n
}

// folded writes a line that stands for skips. It leads to a list that has each of them.
func (p runTable) folded(records []state.Row, withTask bool) {
	tasks, reasons, slots := map[string]int{}, map[string]int{}, 0
	for _, r := range records {
		tasks[r.Task]++
		reasons[r.Reason]++
		slots += max(1, r.Slots)
	}
	newest, oldest := records[0], records[len(records)-1]
	p.put(`<tr class="folded">`)
	if withTask && len(tasks) == 1 {
		p.put(`<th scope="row"><a href="%s">%s</a></th>`, p.taskURL(newest.Task), newest.Task)
	} else if withTask {
		p.put(`<th scope="row">%s</th>`, humanize.Count(len(tasks), "task"))
	}
	p.put(`<td data-label="slot">%s to %s</td><td data-label="outcome">%s <small>%s</small></td><td class="n"></td><td class="why">%s`,
		p.timeExact(oldest.Slot, p.zone), p.timeExact(newest.Slot, p.zone), badge(string(outcome.Skipped)),
		humanize.Count(slots, "slot"), newest.Reason)
	if len(reasons) > 1 {
		p.put(` <small>and %s</small>`, humanize.Count(len(reasons)-1, "other reason"))
	}
	p.put(`</td>`)
	if p.isOfAllServers() {
		p.put(`<td></td>`)
	}
	above := positionText(state.Position{Slot: newest.Slot.Add(time.Microsecond)}) // just above the newest of them
	p.put(`<td data-label="run"><a href="%s">each</a></td></tr>`, p.urlWith("outcome", string(outcome.Skipped), "below", above))
}

// record writes a row. elsewhere is the run of another server for the slot; the zero Row for none.
func (p runTable) record(r, elsewhere state.Row, withTask bool) {
	p.put(`<tr>`)
	if withTask {
		p.put(`<th scope="row"><a href="%s">%s</a></th>`, p.taskURL(r.Task), r.Task)
	}
	p.put(`<td data-label="slot">%s</td><td data-label="outcome">%s`, p.timeExact(r.Slot, p.zoneOf(r.Task)), endedBadge(r.Result))
	if r.IsRange() {
		p.put(` <small>%s, to %s</small>`, humanize.Count(r.Slots, "slot"), humanize.SlotZone(r.LastSlot, p.zoneOf(r.Task)))
	}
	took := ""
	if !r.Started.IsZero() {
		took = humanize.Duration(r.Duration())
	}
	p.put(`</td><td class="n" data-label="took">%s</td><td class="why">`, took)
	p.why(r, elsewhere)
	if r.Attempt.Number > 1 {
		p.put(` <small>%s</small>`, humanize.Count(r.Attempt.Number, "attempt"))
	}
	if r.Origin != "" {
		p.put(` <small>%s</small>`, r.Origin)
	}
	p.put(`</td>`)
	if p.isOfAllServers() {
		p.put(`<td data-label="server">%s</td>`, r.Server)
	}
	p.put(`<td data-label="run"><a href="%s"><code>%s</code></a></td></tr>`, p.runURL(r.ID), humanize.ShortRun(r.ID))
}

// why writes the reason of an outcome and, if it is known, the outcome of the slot on another
// server. It says only once that another server took the slot.
func (p runTable) why(r, elsewhere state.Row) {
	if elsewhere.ID == "" {
		p.put(`%s`, r.Reason)
		return
	}
	if r.Kind != outcome.Elsewhere {
		p.put(`%s; `, r.Reason)
	}
	p.runElsewhere(elsewhere)
}

// runElsewhere writes a run of another server.
func (p *page) runElsewhere(r state.Row) {
	as, took := "running", ""
	if r.Outcome != "" {
		as, took = r.OutcomeText(), " in "+humanize.Duration(r.Duration())
	}
	p.put(`<a href="%s">on %s</a> %s%s`, p.runURL(r.ID), r.Server, badge(as), took)
}
