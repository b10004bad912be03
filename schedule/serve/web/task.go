package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/schedule/view"
)

const plottedRuns = 60

type taskPage struct{ *page }

func showTask(made *page) error {
	p := taskPage{made}
	w, err := p.View.Why(p.request.Context(), p.request.PathValue("name"), time.Time{})
	if err != nil {
		return err
	}
	t := w.Task
	p.title = t.Name
	shown := p.View.Tasks(p.request.Context(), func(other *schedule.Task) bool { return other == t }, p.now, 5).Items[0]
	p.put(`<h1>%s</h1>`, t.Name)
	if t.Description != "" {
		p.put(`<p class="about">%s</p>`, t.Description)
	}
	p.taskButtons(shown)
	p.nowSection(w, shown)
	all, err := p.View.Records(p.request.Context())
	if err != nil {
		return err
	}
	defer all.Close()
	ran, err := all.Find(p.request.Context(), state.Query{Task: t.Name, Limit: plottedRuns, Outcomes: outcome.Ran})
	if err != nil {
		return err
	}
	usual, err := all.Usual(p.request.Context(), []string{t.Name})
	if err != nil {
		return err
	}
	p.put(`<section id="durations" data-live aria-labelledby="durations-h"><h2 id="durations-h">How long it takes</h2>`)
	p.plot(ran, usual[t.Name].Duration)
	p.put(`</section>`)
	p.definition(view.DefinitionOf(t, shown, usual[t.Name].Duration), t)
	return p.runsSection(t.Name)
}

// nowSection shows what the task does now, and why.
func (p taskPage) nowSection(w *view.Inquiry, shown view.Task) {
	p.put(`<section id="now" data-live aria-labelledby="now-h"><h2 id="now-h">Now</h2>`)
	p.live(shown)
	for _, planned := range shown.Planned {
		p.put(`<p>%s will be %s</p>`, badge("planned"), planned.Raw.Text(p.now, p.zone))
	}
	if shown.Paused != nil {
		p.put(`<p>%s %s</p>`, badge("paused"), shown.Paused.Raw.Text(p.now, p.zone))
	}
	p.why(w)
	p.put(`</section>`)
}

func (p taskPage) runsSection(task string) error {
	p.put(`<section id="runs" data-live aria-labelledby="runs-h"><h2 id="runs-h">Runs</h2>`)
	list := runTable(p)
	list.outcomeChips()
	if err := list.listRuns(task, 20); err != nil {
		return err
	}
	if p.View.Controls.Store != nil {
		query := url.Values{"all_servers": {"true"}, "task": {task}}.Encode()
		p.put(`<p><a href="%s">on all servers</a></p>`, p.base+"/runs?"+query)
	}
	p.put(`</section>`)
	return nil
}

func (p taskPage) why(w *view.Inquiry) {
	a, zone := w.Answer, p.zoneOf(w.Task.Name)
	if a.Maintenance != "" {
		p.put(`<p class="alert">! %s</p>`, a.Maintenance)
	}
	if a.Off != "" {
		p.put(`<p>%s It does not run here: it is %s.</p>`, badge("off"), a.Off)
	}
	if full := a.Pool.Full(zone); full != "" {
		p.put(`<p>Now %s.</p>`, full)
	}
	if a.Held != "" {
		p.put(`<p>Its mutex <code>%s</code> is held %s.</p>`, w.Task.Mutex, a.Held)
	}
	if a.Failures > 1 {
		p.put(`<p>%s <a href="%s">The last %d runs failed</a>.</p>`, badge("failed"), p.runsURL(a.Task, ""), a.Failures)
	}
	p.put(`<dl class="facts">`)
	p.minute("Last due", a.Last)
	p.minute("Next", a.Next)
	if a.NextAllowed != nil {
		p.fact("Will run", `%s, the first slot that no condition of time keeps from running`, p.timeAndDistance(parseTime(*a.NextAllowed), zone))
	}
	p.put(`</dl>`)
}

func (p taskPage) minute(label string, m *view.Minute) {
	if m == nil {
		return
	}
	for _, slot := range m.Slots {
		p.put(`<dt>%s<dd>%s`, label, p.timeAndDistance(slot.At, p.zoneOf(p.request.PathValue("name"))))
		for _, r := range slot.Records {
			p.put(` <a href="%s">%s%s</a>`, p.runURL(r.Run), endedBadge(m.Ended[r.Run].Result), details(m.Ended[r.Run]))
		}
		if slot.Says != "" {
			p.put(` %s`, slot.Says)
		}
		if m.Clock != "" {
			p.put(` <small>%s</small>`, m.Clock)
		}
	}
}

func (p taskPage) definition(d view.Definition, t *schedule.Task) {
	p.put(`<section aria-labelledby="definition-h"><h2 id="definition-h">Definition</h2><dl class="facts">`)
	p.fact("Defined at", `<code>%s</code>`, view.Place(t))
	p.fact("Command", `<code>%s</code>`, d.Command)
	p.whenFacts(d, p.zoneOf(t.Name))
	p.factIfAny("User", d.User)
	p.factIfAny("Folder", d.Dir)
	p.factIfAny("Environment", strings.Join(d.Environment, ", "))
	p.factIfAny("Environment files", strings.Join(d.EnvFiles, ", "))
	for _, param := range d.Params {
		p.fact("Param", `<code>%s</code> %s`, param.Name, param.String())
	}
	p.limitFacts(d)
	for _, hook := range d.Hooks {
		p.fact("Hook", `<code>%s</code> %s`, hook.Key, hook.Does)
	}
	p.put(`</dl>`)
	p.editButtons(t.Name)
	p.put(`</section>`)
}

// whenFacts are what starts the task, and what may keep it from starting.
func (p taskPage) whenFacts(d view.Definition, zone *time.Location) {
	if len(d.Cron) > 0 {
		p.fact("When", `<code>%s</code> in %s`, strings.Join(d.Cron, " | "), d.Timezone)
	}
	for _, by := range d.TriggeredBy {
		p.fact("Triggered by", `<a href="%s">%s</a> (%s)`, p.taskURL(by.Task), by.Task, by.On)
	}
	for i, at := range d.Times {
		if i == 0 {
			p.put(`<dt>Next times<dd>`)
		}
		p.put(`<span class="time">%s</span> `, p.timeExact(at, zone))
	}
	p.factIfAny("Conditions", d.Conditions)
	p.factIfAny("Asks", strings.Join(d.Asks, "; "))
	p.factIfAny("Tags", strings.Join(d.Tags, ", "))
}

// limitFacts are what bounds the runs of the task, and how they are judged.
func (p taskPage) limitFacts(d view.Definition) {
	if d.WithoutOverlapping {
		p.fact("Overlap", `never: its mutex is <code>%s</code>`, d.Mutex)
	}
	if d.Pool != "" {
		p.fact("Pool", `<code>%s</code>`, d.Pool)
	}
	if d.OneServer {
		p.fact("Servers", `one server runs each slot`)
	}
	if d.Timeout != nil {
		p.fact("Timeout", `%s, then TERM, and KILL after %s`, secondsText(*d.Timeout), secondsText(d.KillAfter))
	}
	if d.Attempts > 1 {
		p.fact("Attempts", `up to %d`, d.Attempts)
	}
	if d.StartDeadline != nil {
		p.factIfAny("Start deadline", secondsText(*d.StartDeadline))
	}
	if !slices.Equal(d.SuccessCodes, []int{0}) {
		p.factIfAny("Success codes", strings.Trim(fmt.Sprint(d.SuccessCodes), "[]"))
	}
	p.factIfAny("Warn codes", strings.Trim(fmt.Sprint(d.WarnCodes), "[]"))
}

func (p taskPage) taskButtons(t view.Task) {
	if !p.Operates() {
		return
	}
	at := p.taskURL(t.Name)
	p.put(`<div class="buttons" id="buttons" data-live>`)
	if p.Schedule.Active(p.tasks[t.Name]) {
		p.button(button{id: "trigger", label: "Trigger", reasoned: true, path: at + "/trigger",
			fields: paramFields(p.tasks[t.Name], t.Name, nil),
			effect: "Run " + t.Name + " once more, now or with the next tick: " + t.Command})
	}
	if t.Paused == nil {
		p.button(button{id: "pause", label: "Pause", reasoned: true, fields: howLong, path: at + "/pause",
			effect: t.Name + " will not start, and its slots will be skipped. Runs go on to their ends."})
	} else if !t.Paused.Everything && !t.Paused.Raw.InFile {
		p.button(button{id: "resume", label: "Resume", reasoned: true, path: at + "/resume",
			effect: t.Name + " will start again at its next slot."})
	}
	p.put(`</div>`)
}

// plot draws how long the last runs took, given newest first.
func (p taskPage) plot(records []state.Row, usual time.Duration) {
	const height = 96.0
	longest := usual
	for _, r := range records {
		longest = max(longest, r.Duration())
	}
	if longest == 0 || len(records) == 0 {
		p.put(`<p class="quiet">No runs yet.</p>`)
		return
	}
	heightOf := func(d time.Duration) float64 { return max(2, float64(d)/float64(longest)*height) }
	p.put(`<figure class="plot"><svg aria-hidden="true">`)
	if usual > 0 {
		p.put(`<line class="usual" x1="0" x2="100%%" y1="%.1f" y2="%.1f"/>`, height-heightOf(usual), height-heightOf(usual))
	}
	width := 100.0 / float64(max(len(records), 20))
	for i, r := range records {
		class, _ := shape(r.Result)
		up := heightOf(r.Duration())
		p.bar(bar{
			left: 100 - float64(i+1)*width, width: width * 0.8, top: height - up, height: up,
			class: class, href: p.runURL(r.ID), title: p.recordTitle(r),
		})
		if class == "bad" {
			p.put(`<text class="mark" x="%.2f%%" y="%.1f">✕</text>`, 100-(float64(i)+0.6)*width, height-4)
		}
	}
	p.put(`</svg><figcaption>%s, the longest %s`, humanize.Count(len(records), "run"), humanize.Duration(longest))
	if usual > 0 {
		p.put(`; usually %s (the line)`, humanize.Duration(usual))
	}
	p.put(`</figcaption></figure>`)
}

func (p taskPage) live(t view.Task) {
	for _, r := range t.Running {
		p.put(`<p>%s <a href="%s"><code>%s</code></a>`, badge("running"), p.runURL(r.Run), humanize.ShortRun(r.Run))
		if !r.Began.IsZero() {
			p.put(` for %s`, humanize.Age(r.Began, p.now))
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

// editButtons are below the definition of a task that may be edited here.
func (p taskPage) editButtons(name string) {
	if !p.Edits() {
		return
	}
	written, err := serve.Folder{Visit: p.Visit}.Written(name)
	if err != nil {
		p.put(`<p class="quiet">It cannot be edited here: %s.</p>`, err.Error())
		return
	}
	tag := format(`<input type="hidden" name="tag" value="%s">`, written.Tag)
	p.put(`<div class="buttons"><a class="button" href="%s/edit">Edit</a> `, p.taskURL(name))
	p.button(button{id: "delete", label: "Delete", reasoned: true, grave: true,
		path: p.taskURL(name) + "/delete", fields: tag,
		effect: "The file of " + name + " is removed. " +
			"It does not run any more; what runs goes on, and its history stays."})
	p.put(`</div>`)
}
