// Package web is the pages of `sched serve`: what the API answers, for people.
//
// Every page is made here whole and works without the script, which only loads what has changed.
// Forms do what the API does, with the rights of their sender. Package serve decides who may look.
//
// The folder pages has the HTML: a template for each page, layout.html around all of them, and
// parts.html with what several of them use. A function of this package reads the values of a page.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"strings"

	"sched/schedule/serve"
)

//go:embed assets/style.css assets/live.js assets/icon.svg
var assets embed.FS

// pages answers the requests for pages of one schedule.
type pages struct {
	*serve.Server
	mux *http.ServeMux
}

// A reader reads the values that the template of a page shows.
type reader func(*page) (values any, err error)

// New returns the handler of the pages, for serve.Server.Handler.
func New(server *serve.Server) http.Handler {
	p := &pages{Server: server, mux: http.NewServeMux()}
	for path, read := range map[string]reader{
		"/{$} overview": readOverview, "/tasks tasks": readTaskList, "/timeline timeline": readTimeline,
		"/tasks/{name} task": readTask, "/runs runs": readRuns, "/runs/{id} run": readRun,
		"/servers servers": readServers, "/pauses pauses": readPauses, "/audit audit": readAudit,
	} {
		p.addPage("GET "+path, read, serve.Quick)
	}
	p.addPage("GET /forecast forecast", readForecast, serve.Forecasting)
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
	p.addPage("GET /act confirm", readConfirmation, serve.Quick)
	for path, send := range forms() {
		p.addForm(path, send)
	}
	if p.Edit != "" {
		p.addPage("GET /new new", forEditors(readNew), serve.Quick)
		p.addPage("GET /tasks/{name}/edit edit", forEditors(readEdit), serve.Quick)
		p.addPage("POST /edit draft", forEditors(readDraft), serve.Quick)
		for path, send := range editorForms() {
			p.addForm(path, send)
		}
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

// addPage adds a page. The route is its method, its path and the name of its template. The page is
// made first and sent then, so a slow reader takes no place from others.
func (p *pages) addPage(route string, read reader, work serve.Work) {
	fields := strings.Fields(route)
	p.mux.HandleFunc(fields[0]+" "+p.BasePath+fields[1], func(w http.ResponseWriter, r *http.Request) {
		whole, err := p.makePage(r, fields[2]+".html", read, work)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		send(w, http.StatusOK, whole)
	})
}

// makePage lets the visitor in, and makes the page.
func (p *pages) makePage(r *http.Request, template string, read reader, work serve.Work) ([]byte, error) {
	visit, leave, err := serve.NewVisit(p.Server, r, serve.ScopeRead, work)
	if err != nil {
		return nil, err
	}
	defer leave()
	made := newPage(p.Server, r, visit)
	values, err := read(made)
	if err != nil {
		return nil, err
	}
	return made.render(template, values)
}

// addForm adds the handler of a form. send returns the path of the page that comes next.
func (p *pages) addForm(path string, send sender) {
	p.mux.HandleFunc("POST "+p.BasePath+path, func(w http.ResponseWriter, r *http.Request) {
		next, err := send(p.Server, r)
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
	whole, err := made.render("wrong.html", wrongPage{made, problem, hintOf(problem)})
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
