package web

import (
	"net/http"
	"slices"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/serve"
	"sched/schedule/view"
)

type overviewPage struct{ *page }

// showOverview is the first page: what is wrong, what went wrong since the evening before, and what
// comes next.
func showOverview(made *page) error {
	p := overviewPage{made}
	p.title = "Overview"
	o := p.View.Overview(p.request.Context(), p.health())
	since := o.Since.Format("Mon 15:04 MST")
	p.put(`<h1 class="hidden">Overview</h1><div id="overview" data-live>`)
	if o.ExitCode == view.AllWell && len(o.Incidents) == 0 {
		p.put(`<p class="verdict good"><span aria-hidden="true">✓</span> Since %s nothing failed, timed out, was missed or took unusually long. <small>%s</small></p>`, since, o.First)
	} else {
		p.verdict(o.Status)
	}
	if len(o.Incidents) > 0 {
		p.put(`<section aria-labelledby="incidents-h"><h2 id="incidents-h">Wrong since %s, and what is wrong still</h2>`, since)
		p.incidents(o)
		p.put(`</section>`)
	}
	p.next(o.Next)
	p.paused(slices.Concat(o.Paused, slices.DeleteFunc(slices.Clone(o.Planned),
		func(item view.TaskPause) bool { return !item.Announced(p.now) })))
	p.put(`</div>`)
	return nil
}

func (p *page) health() *view.Health { return view.HealthOf(p.Schedule, p.Invalid != nil, p.now) }

// verdict writes a status in one line: red if a task fails or nothing starts. The troubles of no
// task come below it, but for those that the page tells as its problems.
func (p *page) verdict(status view.Status) {
	p.hasStatus = true
	class, sign := "good", "✓"
	switch fails := func(t view.Trouble) bool { return outcome.Outcome(t.Kind).Failure() }; {
	case status.ExitCode == view.IsDown, slices.ContainsFunc(status.Troubles, fails):
		class, sign = "bad", "✕"
	case status.ExitCode != view.AllWell:
		class, sign = "warn", "!"
	}
	p.put(`<p class="verdict %s"><span aria-hidden="true">%s</span> %s</p>`, class, sign, status.First)
	for _, t := range status.Troubles {
		if t.Task == "" && !p.Reported(t) {
			p.put(`<p class="alert">! %s <code>%s</code></p>`, t.Text, t.Next)
		}
	}
}

func (p overviewPage) incidents(o view.Overview) {
	p.put(`<table class="incidents"><thead><tr><th>Task<th>What<th>How<th>It printed at last</tr></thead><tbody>`)
	for _, i := range o.Incidents {
		p.put(`<tr><th scope="row"><a href="%s">%s</a>`, p.taskURL(i.Task), i.Task)
		if t := p.tasks[i.Task]; t != nil && t.Description != "" {
			p.put(`<small>%s</small>`, t.Description)
		}
		p.put(`</th><td data-label="what">%s</td><td data-label="how">`, badge(i.Kind))
		if i.Run != "" {
			p.put(`<a href="%s">%s</a>`, p.runURL(i.Run), i.Text)
		} else {
			p.put(`%s`, i.Text)
		}
		switch {
		case i.Failures == view.MaxFailures:
			p.put(` <small>the last %d runs, or more, failed</small>`, i.Failures)
		case i.Failures > 1:
			p.put(` <small>%d in a row since %s, for %s</small>`, i.Failures, p.timeNear(i.First, p.zoneOf(i.Task)), humanize.Age(i.First, p.now))
		case i.IsPast && i.Kind != string(view.RunsLong):
			p.put(` <small>%s since</small>`, badge("well"))
		}
		p.put(`</td><td>`)
		if len(i.Printed) > 0 {
			p.put(`<pre class="printed">`)
			for _, line := range i.Printed {
				p.put("%s\n", line)
			}
			p.put(`</pre>`)
		}
		p.put(`</td></tr>`)
	}
	p.put(`</tbody></table>`)
	if o.More > 0 {
		p.put(`<p class="quiet">and <a href="%s/tasks?state=trouble">%s</a>`, p.base, humanize.Count(o.More, "other task"))
	}
}

func (p overviewPage) next(next []view.Upcoming) {
	if len(next) == 0 {
		return
	}
	p.put(`<section aria-labelledby="next-h"><h2 id="next-h">Next</h2><dl class="facts">`)
	for _, item := range next {
		p.put(`<dt>%s<dd><a href="%s">%s</a>`, p.timeAndDistance(item.At, p.zoneOf(item.Task)), p.taskURL(item.Task), item.Task)
	}
	p.put(`</dl><p><a href="%s/timeline">All of the day</a></p></section>`, p.base)
}

// paused writes pauses in effect, and planned ones, the one that ends first at the top.
func (p overviewPage) paused(all []view.TaskPause) {
	if len(all) == 0 {
		return
	}
	p.put(`<section aria-labelledby="paused-h"><h2 id="paused-h">Paused</h2><dl class="facts">`)
	slices.SortStableFunc(all, func(a, b view.TaskPause) int {
		if a.Raw.Until.IsZero() != b.Raw.Until.IsZero() {
			return map[bool]int{true: 1, false: -1}[a.Raw.Until.IsZero()]
		}
		return a.Raw.Until.Compare(b.Raw.Until)
	})
	const maxItems = 8
	for _, item := range all[:min(maxItems, len(all))] {
		p.put(`<dt>`)
		if item.Task == "" {
			p.put(`everything`)
		} else {
			p.put(`<a href="%s">%s</a>`, p.taskURL(item.Task), item.Task)
		}
		state := "paused"
		if item.Planned {
			state = "planned"
		}
		p.put(`<dd>%s %s`, badge(state), item.Raw.Text(p.now, p.zone))
	}
	p.put(`</dl>`)
	if len(all) > maxItems {
		p.put(`<p><a href="%s/pauses">All %d</a></p>`, p.base, len(all))
	}
	p.put(`</section>`)
}

// ShowSchedules answers with the page of a site: each schedule at which the visitor may look, with
// its verdict. It is the menu of the site, too.
func ShowSchedules(w http.ResponseWriter, site *serve.Site, seen []serve.Sighting) {
	var out writer
	base := seen[0].SitePath()
	out.begin("All schedules", "sched", base)
	out.put(`<a class="name" href="%s/" aria-current="page">All schedules</a><span id="live"></span>`, base)
	out.visitor(seen[0].Who, base)
	out.put(`</header><main id="main"><h1>All schedules</h1><div id="schedules" data-live>`)
	for _, sighting := range seen {
		out.summary(sighting)
	}
	out.put(`</div>`)
	for _, text := range site.Broken {
		out.put(`<p class="alert" role="status">✕ %s</p>`, text)
	}
	out.send(w, http.StatusOK)
}

// summary writes what is to be said of one schedule.
func (w *writer) summary(sighting serve.Sighting) {
	w.put(`<section><h2><a href="%s/">%s</a></h2>`, sighting.BasePath, strings.TrimPrefix(sighting.Mount, "/s/"))
	defer w.put(`</section>`)
	visit, leave, err := sighting.Visit(sighting.Request, serve.ScopeRead, serve.Quick)
	if err != nil {
		problem := serve.ProblemOf(err)
		w.put(`<p class="verdict bad"><span aria-hidden="true">✕</span> %s</p>`, problem.Detail)
		for _, text := range problem.Problems {
			w.put(`<p><code>%s</code></p>`, text)
		}
		return
	}
	defer leave()
	p := (&pages{Server: sighting.Server}).newPage(sighting.Request, visit)
	p.verdict(p.View.Status(p.health()))
	if visit.Invalid != nil {
		p.put(`<p class="alert">✕ The schedule is invalid; this is about %s.</p>`, visit.Schedule.InPlace())
	}
	for _, text := range visit.Problems() {
		p.put(`<p class="alert">! %s</p>`, text)
	}
	w.put(`%s`, markup(p.String()))
}
