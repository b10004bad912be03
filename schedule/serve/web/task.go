package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
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
	p.put(`<section id="now" data-live aria-labelledby="now-h"><h2 id="now-h">Now</h2>`)
	p.live(shown)
	if shown.Paused != nil {
		p.put(`<p>%s %s</p>`, badge("paused"), shown.Paused.Raw.Text(p.now, p.zone))
	}
	p.why(w)
	p.put(`</section>`)
	all, err := p.View.Records(p.request.Context())
	if err != nil {
		return err
	}
	defer all.Close()
	ran, err := p.last(all, t.Name, plottedRuns, outcome.Ran...)
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
	p.put(`<section id="runs" data-live aria-labelledby="runs-h"><h2 id="runs-h">Runs</h2>`)
	list := runTable{made}
	list.outcomeChips()
	if err := list.runsOf(t.Name, 20); err != nil {
		return err
	}
	if p.View.Controls.Store != nil {
		p.put(`<p><a href="%s">on all servers</a></p>`, p.base+"/runs?"+url.Values{"all_servers": {"true"}, "task": {t.Name}}.Encode())
	}
	p.put(`</section>`)
	return nil
}

func (p taskPage) why(w *view.Inquiry) {
	a, zone := w.Answer, p.zoneOf(w.Task.Name)
	if a.Down != "" {
		p.put(`<p class="alert">! %s</p>`, a.Down)
	}
	if a.Off != "" {
		p.put(`<p>%s It does not run here: it is %s.</p>`, badge("off"), a.Off)
	}
	if full := a.Pool.Full(); full != "" {
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
	if a.Free != nil {
		p.put(`<dt>Will run<dd>%s, the first slot that no condition of time keeps from running`, p.when(stamp(*a.Free), zone))
	}
	p.put(`</dl>`)
}

func (p taskPage) minute(label string, m *view.Minute) {
	if m == nil {
		return
	}
	for _, slot := range m.Slots {
		p.put(`<dt>%s<dd>%s`, label, p.when(slot.At, p.zoneOf(p.request.PathValue("name"))))
		for _, r := range slot.Records {
			p.put(` <a href="%s">%s%s</a>`, p.runURL(r.Run), badge(r.Outcome), details(m.Ended[r.Run]))
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
	fact := func(label, format markup, args ...any) {
		p.put(`<dt>%s<dd>`, label)
		p.put(format, args...)
	}
	fact("Defined at", `<code>%s</code>`, view.Place(t))
	fact("Command", `<code>%s</code>`, d.Command)
	if len(d.Cron) > 0 {
		fact("When", `<code>%s</code> in %s`, strings.Join(d.Cron, " | "), d.Timezone)
	}
	for _, by := range d.TriggeredBy {
		fact("Triggered by", `<a href="%s">%s</a> (%s)`, p.taskURL(by.Task), by.Task, by.On)
	}
	for i, at := range d.Times {
		if i == 0 {
			p.put(`<dt>Next times<dd>`)
		}
		p.put(`<span class="time">%s</span> `, p.exactly(at, p.zoneOf(t.Name)))
	}
	for _, one := range []struct{ label, value string }{
		{"Conditions", d.Conditions}, {"Asks", strings.Join(d.Asks, "; ")}, {"Tags", strings.Join(d.Tags, ", ")}, {"User", d.User},
		{"Folder", d.Dir}, {"Environment", strings.Join(d.Environment, ", ")}, {"Environment files", strings.Join(d.EnvFiles, ", ")},
	} {
		if one.value != "" {
			fact(markup(one.label), `%s`, one.value)
		}
	}
	if d.WithoutOverlapping {
		fact("Overlap", `never: its mutex is <code>%s</code>`, d.Mutex)
	}
	if d.Pool != "" {
		fact("Pool", `<code>%s</code>`, d.Pool)
	}
	if d.OneServer {
		fact("Servers", `one server runs each slot`)
	}
	if d.Timeout != nil {
		fact("Timeout", `%s, then TERM, and KILL after %s`, seconds(*d.Timeout), seconds(d.KillAfter))
	}
	if d.Attempts > 1 {
		fact("Attempts", `up to %d`, d.Attempts)
	}
	if d.StartDeadline != nil {
		fact("Start deadline", `%s`, seconds(*d.StartDeadline))
	}
	if !slices.Equal(d.SuccessCodes, []int{0}) {
		fact("Success codes", `%s`, strings.Trim(fmt.Sprint(d.SuccessCodes), "[]"))
	}
	for _, hook := range d.Hooks {
		fact("Hook", `<code>%s</code> %s`, hook.Key, hook.Does)
	}
	p.put(`</dl>`)
	p.editButtons(t.Name)
	p.put(`</section>`)
}
