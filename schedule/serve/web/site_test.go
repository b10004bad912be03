package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sched/schedule/serve"
	"sched/testing/controltest"
)

// The first page of several schedules shows those at which the visitor may look, and says what is
// wrong with each. A schedule that cannot be read takes no other one from the page.
func TestTheOverviewOfSeveralSchedules(t *testing.T) {
	const text = "timezone: UTC\ntasks: [{name: one, every: hour, command: x}]\n"
	const given = "sched_0123456789012345678901234567890123456789abc"
	var members []*serve.Server
	var folders []*controltest.Folder
	var token string
	for _, name := range []string{"shop", "mail", "secret"} {
		f := controltest.NewFolder(t, text)
		server, err := serve.New(serve.Config{StateDir: f.State(), Version: "1",
			Now: controltest.Now, Problem: t.Logf, Mount: "/s/" + name, BasePath: "/s/" + name,
			Schedules: serve.Schedules{Load: f.Load, Check: f.Check, View: f.View, Actor: f.Actor, Runs: f.Runs}})
		if err == nil && token == "" {
			token, err = serve.AddToken(f.State(), serve.Token{Name: "ada", Scope: serve.ScopeRead})
		}
		if err != nil {
			t.Fatal(err)
		}
		members, folders = append(members, server), append(folders, f)
	}
	site := serve.NewSite(members, []string{"old.yaml is not served"}, ShowSchedules, New)
	get := func(path, token string) (status int, body string) {
		r := httptest.NewRequest("GET", "http://localhost"+path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	folders[1].Write("schedule.yaml", "tasks: [")
	if status, page := get("/", token); status != http.StatusOK ||
		!strings.Contains(page, `<a href="/s/shop/">shop</a>`) || strings.Contains(page, "mail") ||
		strings.Contains(page, "secret") || !strings.Contains(page, "old.yaml is not served") ||
		!strings.Contains(page, `action="/logout"`) ||
		!strings.Contains(page, `src="/assets/live.js" defer data-base=""`) || !strings.Contains(page, `id="live"`) || !strings.Contains(page, `id="schedules" data-live`) {
		t.Errorf("%d: %s", status, page)
	}
	if status, page := get("/s/shop/tasks", token); status != http.StatusOK ||
		!strings.Contains(page, `<a href="/">All schedules</a>`) ||
		!strings.Contains(page, `href="/s/shop/tasks/one"`) {
		t.Errorf("%d: %s", status, page)
	}
	mail, err := serve.AddToken(folders[1].State(), serve.Token{Name: "bob", Scope: serve.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	if status, page := get("/", mail); status != http.StatusOK ||
		!strings.Contains(page, `<a href="/s/mail/">mail</a>`) || !strings.Contains(page, "the schedule is invalid") {
		t.Errorf("%d: %s", status, page)
	}
	if status, page := get("/assets/style.css", ""); status != http.StatusOK || !strings.Contains(page, "{") {
		t.Errorf("%d: %s", status, page)
	}
	if status, _ := get("/", given); status != http.StatusUnauthorized {
		t.Errorf("a token of none: %d", status)
	}
}
