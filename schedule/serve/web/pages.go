// Package web is the pages of `sched serve`: what the API answers, for people.
//
// Every page is made here whole and works without the script, which only loads what has changed.
// Forms do what the API does, with the rights of their sender. Package serve decides who may look.
//
// put writes HTML and escapes all but constants of this package. html/template would keep
// unused methods in the binary that every tick starts (docs/internals/decisions.md).
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/serve"
)

//go:embed assets/style.css assets/live.js assets/icon.svg
var assets embed.FS

// pages answers the requests for pages of one schedule.
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
		p.mux.Handle("GET "+p.BasePath+path, p.pageHandler(show, serve.Quick))
	}
	p.mux.Handle("GET "+p.BasePath+"/forecast", p.pageHandler(showForecast, serve.Forecasting))
	p.mux.HandleFunc("GET "+p.BasePath+"/runs/{id}/log", p.download)
	p.mux.HandleFunc("POST "+p.BasePath+"/zone", p.chooseZone)
	p.mux.HandleFunc("GET "+p.BasePath+serve.Assets+"{file}", p.asset)
	if !p.ReadOnly {
		p.addForms()
	}
	if !p.ReadOnly && p.Edit != "" {
		p.addEditor()
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

// pageHandler returns the handler of a page. It makes the page first and sends it then, so a slow
// reader takes no place from others.
func (p *pages) pageHandler(show func(*page) error, work serve.Work) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, err := p.makePage(r, show, work)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		page.send(w, http.StatusOK)
	})
}

// makePage lets the visitor in, and makes the page.
func (p *pages) makePage(r *http.Request, show func(*page) error, work serve.Work) (*page, error) {
	visit, leave, err := p.Visit(r, serve.ScopeRead, work)
	if err != nil {
		return nil, err
	}
	defer leave()
	page := p.newPage(r, visit)
	return page, show(page)
}

// fail answers with a page that says what is wrong.
func (p *pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	problem := serve.ProblemOf(err)
	page := p.newPage(r, nil)
	page.title = "This did not work"
	page.put(`<h1>This did not work</h1><p role="alert" class="alert">%s</p>`, problem.Detail)
	if hint := hintOf(problem); hint != "" {
		page.put(`<p>Hint: %s</p>`, hint)
	}
	for _, text := range problem.Problems {
		page.put(`<p><code>%s</code></p>`, text)
	}
	page.put(`<p><a href="%s/">To the overview</a></p>`, p.BasePath)
	page.send(w, problem.Status)
}

// hintOf returns what to do about a problem. Nobody can send an ETag from a page.
func hintOf(problem *serve.Problem) string {
	switch problem.Status {
	case http.StatusPreconditionRequired:
		return "choose another name, or edit the task that is there"
	case http.StatusPreconditionFailed:
		return "keep a copy of what you wrote, and edit the task as it is now"
	}
	return problem.Hint
}

// asset answers with the style, the script or the icon.
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

// A page is one page while it is made.
type page struct {
	writer       // put
	*serve.Visit // Schedule, View, Who and what the visitor may do; nil for a page that says only what is wrong
	request      *http.Request
	server       *serve.Server
	base         string
	now          time.Time
	zoneChoice   // zone
	title        string
	isStatic     bool // the script does not load it again
	hasStatus    bool // it has the status, which says that no ticks come
	tasks        map[string]*schedule.Task
}

func (p *pages) newPage(r *http.Request, visit *serve.Visit) *page {
	made := &page{Visit: visit, request: r, server: p.Server, base: p.BasePath, now: p.Now()}
	made.zone = time.UTC
	if visit != nil {
		made.tasks = map[string]*schedule.Task{}
		made.setZone()
		for _, t := range visit.Schedule.Tasks {
			made.tasks[t.Name] = t
		}
	}
	return made
}

func (p *page) query(name string) string { return p.request.URL.Query().Get(name) }

// number returns a parameter that is a number of at least 1; 1 if it is no such number.
func (p *page) number(name string) int {
	n, err := strconv.Atoi(p.query(name))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, 1_000_000)
}

// urlWith returns a link to this page with some parameters changed. The pairs are name, value,
// name, value; an empty value removes the parameter.
func (p *page) urlWith(pairs ...string) string {
	query := p.request.URL.Query()
	for i := 0; i < len(pairs); i += 2 {
		name, value := pairs[i], pairs[i+1]
		query.Set(name, value)
		if value == "" {
			query.Del(name)
		}
	}
	return "?" + query.Encode()
}

func (p *page) taskURL(name string) string { return p.base + "/tasks/" + url.PathEscape(name) }
func (p *page) runURL(id string) string    { return p.base + "/runs/" + url.PathEscape(id) }

// keepParams writes hidden fields: with them a form sends the parameters that the page has.
func (p *page) keepParams(names ...string) {
	for _, name := range names {
		if value := p.query(name); value != "" {
			p.put(`<input type="hidden" name="%s" value="%s">`, name, value)
		}
	}
}

// runsURL is the list of the runs of a task ("" for all), with an outcome ("" for all).
func (p *page) runsURL(task, outcome string) string {
	query := url.Values{}
	for name, value := range map[string]string{"task": task, "outcome": outcome} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return p.base + "/runs?" + query.Encode()
}

var places = []struct{ path, name string }{
	{"/", "Overview"}, {"/tasks", "Tasks"}, {"/timeline", "Timeline"}, {"/forecast", "Forecast"}, {"/runs", "Runs"},
	{"/servers", "Servers"}, {"/pauses", "Pauses"}, {"/audit", "Audit"},
}

// send answers with the page: its head, its problems and what was put into it.
func (p *page) send(w http.ResponseWriter, status int) {
	var whole writer
	name := "sched"
	if p.Visit != nil {
		name = p.Schedule.Name
	}
	whole.begin(p.title, name, p.base)
	p.links(&whole, name)
	if p.Visit != nil {
		p.zoneControl(&whole)
		whole.visitor(p.Who, p.server.SitePath())
	}
	whole.put(`</header><main id="main">`)
	if p.Visit != nil {
		p.alerts(&whole)
	}
	whole.put(`%s`, markup(p.String()))
	whole.send(w, status)
}

// links writes the links to all pages. The schedule is called name.
func (p *page) links(w *writer, name string) {
	if p.server.Mount != "" {
		w.put(`<a href="%s/">All schedules</a>`, p.server.SitePath())
	}
	w.put(`<a class="name" href="%s/">%s</a><nav aria-label="Pages">`, p.base, name)
	for _, place := range places {
		current := markupIf(p.request.URL.Path == p.base+place.path, ` aria-current="page"`)
		w.put(`<a href="%s%s"%s>%s</a>`, p.base, place.path, current, place.name)
	}
	w.put(`</nav><span id="live"></span>`)
}

// alerts writes the problems of the schedule, and the parts that the answers on the page lack.
func (p *page) alerts(w *writer) {
	w.put(`<div id="problems"%s>`, markupIf(!p.isStatic, " data-live"))
	if p.Invalid != nil {
		w.put(`<p class="alert" role="status">✕ The schedule is invalid; this is about %s. <code>sched check</code> says what is wrong.</p>`, p.Schedule.InPlace())
	}
	if missing := p.View.TicksMissing(); missing != "" && !p.hasStatus {
		w.put(`<p class="alert" role="status">! %s, so nothing starts.</p>`, missing)
	}
	for _, problem := range p.Problems() {
		w.put(`<p class="alert" role="status">! %s</p>`, problem)
	}
	w.put(`</div>`)
}

// begin writes all that comes before the links in the head of a page.
func (w *writer) begin(title, name, base string) {
	w.put(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>%s – %s</title><link rel="icon" href="%s/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="%s/assets/style.css"><script src="%s/assets/live.js" defer data-base="%s"></script></head>
<body><a class="skip" href="#main">To the content</a><header>`, title, name, base, base, base, base)
}

// visitor says who looks at a page, with a form to sign out that is sent to base.
func (w *writer) visitor(who serve.Who, base string) {
	switch {
	case who.From == "socket":
	case who.ByHeader:
		w.put(`<span class="who">%s</span>`, who.Name)
	default:
		w.put(`<form method="post" action="%s/logout" class="who"><span>%s</span><button class="quiet">Sign out</button></form>`, base, who.Name)
	}
}

// send ends a page and answers with it.
func (w *writer) send(to http.ResponseWriter, status int) {
	w.put("</main></body></html>\n")
	to.Header().Set("Content-Type", "text/html; charset=utf-8")
	to.WriteHeader(status)
	to.Write(w.Bytes())
}

func etagOf(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}
