// Package web is the pages of `sched serve`: what the API answers, for people.
//
// Every page is made here whole and works without the script, which only loads what has changed.
// Forms do what the API does, with the rights of their sender. Package serve decides who may look.
//
// Each page has a template (task.templ) and a function that reads its values (task.go).
// layout.templ is around all of them, and parts.templ has what several of them use. After a change
// of a template, `go generate ./schedule/serve/web` writes its Go code anew.
package web

//go:generate sh -c "$(go -C ../../../packaging/tools tool -n templ) generate"

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/a-h/templ"

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
	addPage(p, "GET /{$}", readOverview, showOverview, serve.Quick)
	addPage(p, "GET /tasks", readTaskList, showTasks, serve.Quick)
	addPage(p, "GET /tasks/{name}", readTask, showTask, serve.Quick)
	addPage(p, "GET /timeline", readTimeline, showTimeline, serve.Quick)
	addPage(p, "GET /runs", readRuns, showRuns, serve.Quick)
	addPage(p, "GET /runs/{id}", readRun, showRun, serve.Quick)
	addPage(p, "GET /servers", readServers, showServers, serve.Quick)
	addPage(p, "GET /machine", readMachine, showMachine, serve.Forecasting)
	addPage(p, "GET /pauses", readPauses, showPauses, serve.Quick)
	addPage(p, "GET /audit", readAudit, showAudit, serve.Quick)
	addPage(p, "GET /forecast", readForecast, showForecast, serve.Forecasting)
	p.mux.HandleFunc("GET "+p.BasePath+"/runs/{id}/log", func(w http.ResponseWriter, r *http.Request) {
		if err := download(server, w, r); err != nil {
			p.fail(w, r, err)
		}
	})
	p.mux.HandleFunc("POST "+p.BasePath+"/zone",
		func(w http.ResponseWriter, r *http.Request) { keepZone(server, w, r) })
	p.mux.HandleFunc("GET "+p.BasePath+serve.Assets+"{file}", asset)
	if p.ReadOnly {
		return p
	}
	addPage(p, "GET /act", readConfirmation, showConfirmation, serve.Quick)
	addPage(p, "GET /proposals", readProposals, showProposals, serve.Quick)
	addPage(p, "GET /proposals/{id}", readProposal, showProposal, serve.Forecasting)
	for path, send := range proposalForms() {
		p.addForm(path, send)
	}
	for path, send := range forms() {
		p.addForm(path, send)
	}
	if p.Edit != "" {
		addPage(p, "GET /new", forEditors(readNew), showNew, serve.Quick)
		addPage(p, "GET /tasks/{name}/edit", forEditors(readEdit), showEdit, serve.Quick)
		addPage(p, "POST /edit", forEditors(readDraft), showDraft, serve.Quick)
		for path, send := range editorForms() {
			p.addForm(path, send)
		}
	}
	return p
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := p.mux.Handler(r); pattern == "" {
		p.fail(w, r, &serve.Problem{
			Status: http.StatusNotFound, Detail: "there is no page " + r.URL.Path, Hint: "each page is a link above"})
		return
	}
	p.mux.ServeHTTP(w, r)
}

// addPage adds a page: read reads its values, and its template shows them. The route is a method
// and a path. The page is made first and sent then, so a slow reader takes no place from others.
func addPage[V any](
	p *pages, route string, read func(*page) (V, error), show func(V) templ.Component, work serve.Work,
) {
	method, path, _ := strings.Cut(route, " ")
	p.mux.HandleFunc(method+" "+p.BasePath+path, func(w http.ResponseWriter, r *http.Request) {
		whole, err := makePage(p.Server, r, read, show, work)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		send(w, http.StatusOK, whole)
	})
}

// makePage lets the visitor in, and makes the page.
func makePage[V any](
	server *serve.Server, r *http.Request, read func(*page) (V, error), show func(V) templ.Component, work serve.Work,
) ([]byte, error) {
	visit, leave, err := serve.NewVisit(server, r, serve.ScopeRead, work)
	if err != nil {
		return nil, err
	}
	defer leave()
	made := newPage(server, r, visit)
	values, err := read(made)
	if err != nil {
		return nil, err
	}
	return made.render(show(values))
}

// addForm adds the handler of a form. perform returns the path of the page that comes next.
func (p *pages) addForm(path string, perform sender) {
	p.mux.HandleFunc("POST "+p.BasePath+path, func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm() // a visit has a copy of the request; the body can be read only once
		next, err := perform(p.Server, r)
		if refused, is := errors.AsType[*refusedError](err); is {
			whole, failure := makePage(p.Server, r, readRefused(refused), showConfirmation, serve.Quick)
			if failure == nil {
				send(w, serve.ProblemOf(err).Status, whole)
				return
			}
		}
		if err != nil {
			p.fail(w, r, err)
			return
		}
		http.Redirect(w, r, p.BasePath+next, http.StatusSeeOther)
	})
}

// wrongPage says what is wrong.
type wrongPage struct {
	*page
	Problem *serve.Problem
	Hint    string
}

func (p *pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	made, problem := newPage(p.Server, r, nil), serve.ProblemOf(err)
	made.title = "This did not work"
	whole, err := made.render(showWrong(wrongPage{made, problem, hintOf(problem)}))
	if err != nil {
		whole = []byte(err.Error())
	}
	send(w, problem.Status, whole)
}

// asset answers with the style, the script or the icon.
func asset(w http.ResponseWriter, r *http.Request) {
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

func etagOf(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}
