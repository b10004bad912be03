package web

import (
	"net/http"
	"strings"

	"sched/schedule/serve"
)

// ShowSchedules answers with the page of a site: each schedule at which the visitor may look, with
// its verdict. It is the menu of the site, too.
func ShowSchedules(w http.ResponseWriter, site *serve.Site, seen []serve.Sighting) {
	var out writer
	base := seen[0].SitePath()
	out.begin("All schedules", "sched", base)
	out.put(`<a class="name" href="%s/" aria-current="page">All schedules</a><span id="live"></span>`, base)
	out.visitor(seen[0].Who, base)
	out.put(`</header><main id="main"><h1>All schedules</h1><div id="schedules" data-live>`)
	for _, one := range seen {
		out.summary(one)
	}
	out.put(`</div>`)
	for _, one := range site.Broken {
		out.put(`<p class="alert" role="status">✕ %s</p>`, one)
	}
	out.send(w, http.StatusOK)
}

// summary writes what is to be said of one schedule.
func (w *writer) summary(of serve.Sighting) {
	w.put(`<section><h2><a href="%s/">%s</a></h2>`, of.BasePath, strings.TrimPrefix(of.Mount, "/s/"))
	defer w.put(`</section>`)
	visit, leave, err := of.Visit(of.Request, serve.ScopeRead, serve.Quick)
	if err != nil {
		problem := serve.ProblemOf(err)
		w.put(`<p class="verdict bad"><span aria-hidden="true">✕</span> %s</p>`, problem.Detail)
		for _, one := range problem.Problems {
			w.put(`<p><code>%s</code></p>`, one)
		}
		return
	}
	defer leave()
	p := (&pages{Server: of.Server}).page(of.Request, visit)
	p.verdict(p.judged())
	if visit.Invalid != nil {
		p.put(`<p class="alert">✕ The schedule is invalid; this is about %s.</p>`, visit.Schedule.InPlace())
	}
	for _, one := range visit.Problems() {
		p.put(`<p class="alert">! %s</p>`, one)
	}
	w.put(`%s`, markup(p.String()))
}
