package web

import (
	"errors"
	"net/url"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/serve"
	"sched/schedule/view"
)

func showServers(p *page) error {
	p.title = "Servers"
	p.put(`<h1>Servers</h1><div id="servers" data-live>`)
	all, err := p.View.Servers(p.request.Context())
	var wrong *view.Error
	if errors.As(err, &wrong) && wrong.Kind == view.NotFound {
		p.put(`<p class="empty">This machine stands alone: the schedule has no store. With <code>store: redis://…</code> servers share it, and are listed here.</p></div>`)
		return nil
	}
	if err != nil {
		return err
	}
	if len(all) == 0 {
		p.put(`<p class="empty">No server has ticked in the last ten minutes.</p></div>`)
		return nil
	}
	p.put(`<table><thead><tr><th>Server<th>Last tick<th>Clock<th>Version<th>Schedule<th>Running</tr></thead><tbody>`)
	for i, s := range view.ServersOf(all) {
		putServer(p, s, all[i].File, all[i].Digest)
	}
	p.put(`</tbody></table><p class="quiet">Each server tells the others what it runs and ran. Its own pages have what it skipped or missed, and what its runs print.</p></div>`)
	return nil
}

// putServer writes the row of a server, whose schedule is in a file with a digest.
func putServer(p *page, s view.Server, file, digest string) {
	p.put(`<tr><th scope="row">%s`, s.Name)
	if s.SharedName {
		p.put(` %s`, badge("more than one machine"))
	}
	if s.Environment != "" && s.Environment != p.Schedule.Environment {
		p.put(` %s`, badge("environment "+s.Environment))
	}
	p.put(`</th><td data-label="last tick">%s</td><td data-label="clock">%s</td><td data-label="version">%s</td>`,
		p.timeAndDistance(parseTime(s.Minute), p.zone), clockOf(s.ClockOffset), s.Version)
	text := badge("as here")
	if digest != p.Schedule.Digest {
		text = badge("another text")
	}
	p.put(`<td data-label="schedule">%s <code title="%s">%s</code></td><td data-label="running">`, text, digest, file)
	for _, r := range s.Running {
		p.put(`<div><a href="%s">%s</a> since %s</div>`, p.runURL(r.Run), r.Task, p.timeExact(parseTime(r.Since), p.zone))
	}
	switch {
	case s.More > 0:
		p.put(`and %d more`, s.More)
	case len(s.Running) == 0:
		p.put(`–`)
	}
	p.put(`</td></tr>`)
}

// clockOf says how far a clock is from the clock of the store; less than a second counts as right.
func clockOf(offset float64) string {
	d := time.Duration(offset * float64(time.Second))
	switch {
	case d.Abs() < time.Second:
		return "right"
	case d > 0:
		return humanize.Duration(d) + " ahead"
	}
	return humanize.Duration(-d) + " behind"
}

func showPauses(p *page) error {
	p.title = "Pauses"
	p.put(`<h1>Pauses</h1>`)
	all := p.Pauses()
	everything := false
	for _, pausing := range all {
		everything = everything || pausing.Everything && !pausing.Planned
	}
	if p.Operates() && !everything {
		p.put(`<div class="buttons" id="buttons" data-live>`)
		p.button(button{id: "pause", label: "Pause everything",
			reasoned: true, grave: true, fields: howLong, path: p.base + "/pauses",
			effect: "No task will start, and slots will be skipped. Runs go on to their ends."})
		p.put(`</div>`)
	}
	p.put(`<div id="pauses" data-live>`)
	if len(all) == 0 {
		p.put(`<p class="empty">Nothing is paused, and no pause is planned.</p></div>`)
		return nil
	}
	p.put(`<table><thead><tr><th>Task<th>Until<th>From<th>By<th>Reason<th></tr></thead><tbody>`)
	for _, pausing := range all {
		putPause(p, pausing)
	}
	p.put(`</tbody></table></div>`)
	return nil
}

func putPause(p *page, pausing serve.Pausing) {
	if pausing.Everything {
		p.put(`<tr><th scope="row"><a href="%s/">everything</a></th>`, p.base)
	} else {
		p.put(`<tr><th scope="row"><a href="%s">%s</a></th>`, p.taskURL(pausing.Task), pausing.Task)
	}
	until := markup("somebody resumes it")
	if pausing.Until != nil {
		until = p.timeAndDistance(parseTime(*pausing.Until), p.zone)
	}
	planned := markup("")
	if pausing.Planned {
		planned = badge("planned")
	}
	p.put(`<td data-label="until">%s</td><td data-label="from">%s %s</td><td data-label="by">%s</td><td data-label="reason">%s</td><td>`, until, planned, p.timeAndDistance(parseTime(pausing.Since), p.zone), pausing.By, pausing.Reason)
	if p.Operates() && pausing.ID != "" {
		label := "Resume"
		if pausing.Planned {
			label = "Take back"
		}
		p.put(`<form method="post" action="%s/pauses/%s/resume"><button>%s</button></form>`,
			p.base, url.PathEscape(pausing.ID), label)
	}
	p.put(`</td></tr>`)
}

const changesOfAPage = 100

func showAudit(p *page) error {
	p.title = "Audit"
	changes, more, err := p.server.Changes(p.query("below"), changesOfAPage)
	if err != nil {
		return err
	}
	p.put(`<h1>Audit</h1><div id="audit" data-live>`)
	if len(changes) == 0 {
		p.put(`<p class="empty">Nobody has changed anything yet, here or with a command.</p></div>`)
		return nil
	}
	p.put(`<table><thead><tr><th>When<th>Who<th>From<th>Did<th>To<th>Reason</tr></thead><tbody>`)
	for _, c := range changes {
		p.put(`<tr><td data-label="when">%s</td><td data-label="who">%s</td><td data-label="from">%s</td><td data-label="did">%s</td><td data-label="to">`, p.timeExact(parseTime(c.At), p.zone), c.Who, c.From, c.Action)
		switch {
		case p.tasks[c.Target] != nil:
			p.put(`<a href="%s">%s</a>`, p.taskURL(c.Target), c.Target)
		case c.Action == "stop" || c.Action == "retry" || c.Action == "cancel":
			p.put(`<a href="%s"><code>%s</code></a>`, p.runURL(c.Target), humanize.ShortRun(c.Target))
		default:
			p.put(`%s`, c.Target)
		}
		p.put(`</td><td data-label="reason">%s`, c.Reason)
		if c.Error != "" {
			p.put(` <span class="trouble">✕ not done: %s</span>`, c.Error)
		}
		p.put(`</td></tr>`)
	}
	p.put(`</tbody></table>`)
	if more {
		p.put(`<nav class="pager" aria-label="Pages of the list"><a href="%s" rel="next">older →</a></nav>`, p.urlWith("below", changes[len(changes)-1].ID))
	}
	p.put(`</div>`)
	return nil
}
