// Package web is the pages of `sched serve`: what the API answers, for people.
//
// Every page is made here whole and works without the script, which only loads what has changed.
// Forms do what the API does, with the rights of their sender. Package serve decides who may look.
//
// put writes HTML and escapes all but constants of this package. html/template would keep
// unused methods in the binary that every tick starts (docs/internals/decisions.md).
package web

import (
	"embed"
	"net/http"
	"strings"

	"sched/schedule/serve"
)

//go:embed assets/style.css assets/live.js assets/icon.svg
var assets embed.FS

type pages struct {
	*serve.Server
	mux *http.ServeMux
}

// New returns the handler of the pages, for serve.Server.Handler.
func New(server *serve.Server) http.Handler {
	p := &pages{Server: server, mux: http.NewServeMux()}
	for path, show := range map[string]func(*page) error{
		"/{$}": showOverview, "/tasks": showTasks, "/timeline": showTimeline, "/tasks/{name}": showTask,
		"/runs": showRuns, "/runs/{id}": showRun,
		"/servers": showServers, "/pauses": showPauses, "/audit": showAudit,
	} {
		p.mux.Handle("GET "+p.BasePath+path, p.showing(show, serve.Quick))
	}
	p.mux.Handle("GET "+p.BasePath+"/forecast", p.showing(showForecast, serve.Foresees))
	p.mux.HandleFunc("GET "+p.BasePath+"/runs/{id}/log", p.download)
	p.mux.HandleFunc("POST "+p.BasePath+"/zone", p.chooseZone)
	p.mux.HandleFunc("GET "+p.BasePath+serve.Assets+"{file}", p.asset)
	if !p.ReadOnly {
		p.actions()
	}
	if !p.ReadOnly && p.Edit != "" {
		p.editor()
	}
	return p
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := p.mux.Handler(r); pattern == "" {
		p.fail(w, r, &serve.Problem{Status: http.StatusNotFound, Detail: "there is no page " + r.URL.Path,
			Hint: "each page is a link above"})
		return
	}
	p.mux.ServeHTTP(w, r)
}

// showing returns the handler of a page. It makes the page first and sends it then, so a slow
// reader takes no place from others.
func (p *pages) showing(show func(*page) error, work serve.Work) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, err := p.made(r, show, work)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		page.send(w, http.StatusOK)
	})
}

func (p *pages) made(r *http.Request, show func(*page) error, work serve.Work) (*page, error) {
	visit, leave, err := p.Visit(r, serve.ScopeRead, work)
	if err != nil {
		return nil, err
	}
	defer leave()
	page := p.page(r, visit)
	return page, show(page)
}

func (p *pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	problem := serve.ProblemOf(err)
	page := p.page(r, nil)
	page.title = "This did not work"
	page.put(`<h1>This did not work</h1><p role="alert" class="alert">%s</p>`, problem.Detail)
	if problem.Hint != "" {
		page.put(`<p>Hint: %s</p>`, problem.Hint)
	}
	for _, text := range problem.Problems {
		page.put(`<p><code>%s</code></p>`, text)
	}
	page.put(`<p><a href="%s/">To the overview</a></p>`, p.BasePath)
	page.send(w, problem.Status)
}

func (p *pages) asset(w http.ResponseWriter, r *http.Request) {
	text, err := assets.ReadFile("assets/" + r.PathValue("file"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	kinds := map[string]string{"css": "text/css; charset=utf-8",
		"js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
	_, ending, _ := strings.Cut(r.PathValue("file"), ".")
	w.Header().Set("Content-Type", kinds[ending])
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("ETag", etagOf(text))
	if r.Header.Get("If-None-Match") == etagOf(text) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Write(text)
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
	p := (&pages{Server: sighting.Server}).page(sighting.Request, visit)
	p.verdict(p.judged())
	if visit.Invalid != nil {
		p.put(`<p class="alert">✕ The schedule is invalid; this is about %s.</p>`, visit.Schedule.InPlace())
	}
	for _, text := range visit.Problems() {
		p.put(`<p class="alert">! %s</p>`, text)
	}
	w.put(`%s`, markup(p.String()))
}
