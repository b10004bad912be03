package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"sched/schedule/serve"
	"sched/testing/controltest"
)

// A box is a schedule with a state folder, and its pages as a browser without scripts sees them.
type box struct {
	*controltest.Folder
	server *serve.Server
	web    *httptest.Server
	token  string
}

// newBox makes a box for somebody whose token has that scope.
func newBox(t *testing.T, text string, scope serve.Scope, change ...func(*serve.Config)) *box {
	t.Helper()
	b := &box{Folder: controltest.NewFolder(t, text)}
	c := serve.Config{StateDir: b.State(), Version: "1", Now: controltest.Now, Problem: t.Logf,
		Schedules: serve.Schedules{Load: b.Load, Check: b.Check, View: b.View, Actor: b.Actor, Runs: b.Runs}}
	for _, change := range change {
		change(&c)
	}
	server, err := serve.New(c)
	if err == nil {
		b.token, err = serve.AddToken(b.State(), serve.Token{Name: "ada", Scope: scope})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.server = server
	b.web = httptest.NewServer(server.Handler(New(server)))
	t.Cleanup(b.web.Close)
	return b
}

// get returns the text of a page.
func (b *box) get(path string, status int) string {
	b.Helper()
	return b.send("GET", path, nil, status)
}

// send sends a form, and follows no redirect: its answer is then the Location.
func (b *box) send(method, path string, form url.Values, status int, headers ...string) string {
	b.Helper()
	r, err := http.NewRequest(method, b.web.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	if answer.StatusCode != status {
		b.Fatalf("%s %s: %d, want %d\n%s", method, path, answer.StatusCode, status, body)
	}
	if to := answer.Header.Get("Location"); to != "" {
		return to
	}
	return string(body)
}

// has checks that a page has some texts, and none of others, which begin with "not ".
func (b *box) has(path, page string, texts ...string) {
	b.Helper()
	for _, text := range texts {
		unwanted, not := strings.CutPrefix(text, "not ")
		if strings.Contains(page, unwanted) == not {
			b.Errorf("%s: want %q in\n%s", path, text, page)
		}
	}
}
