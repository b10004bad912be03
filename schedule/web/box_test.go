package web

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/actions"
	"sched/schedule/api"
	"sched/schedule/controls"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/runfile"
	"sched/schedule/view"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A box is a schedule with a state folder, and its pages as a browser without scripts sees them.
type box struct {
	*testing.T
	dir   string
	web   *httptest.Server
	token string
}

// newBox makes a box for somebody whose token has that scope.
func newBox(t *testing.T, text string, scope api.Scope, change ...func(*api.Config)) *box {
	t.Helper()
	b := &box{T: t, dir: t.TempDir()}
	if err := os.WriteFile(b.path("schedule.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := api.Config{StateDir: b.path(".sched"), Version: "1", Now: func() time.Time { return noon }, Problem: t.Logf, Schedules: b.schedules()}
	for _, change := range change {
		change(&c)
	}
	server, err := api.New(c)
	if err == nil {
		b.token, err = api.AddToken(b.path(".sched"), api.Token{Name: "ada", Scope: scope})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.web = httptest.NewServer(server.Handler(New(server)))
	t.Cleanup(b.web.Close)
	return b
}

func (b *box) path(name string) string { return filepath.Join(b.dir, name) }

func (b *box) schedules() api.Schedules {
	look := func(s *schedule.Schedule) view.Source {
		return view.Source{Schedule: s, Controls: controls.Source{Dir: s.StateDir, ReadOnly: true}, Now: func() time.Time { return noon }, Server: "web-1"}
	}
	return api.Schedules{
		Load: func() (*schedule.Schedule, error, error) {
			s, err := schedule.Load(b.path("schedule.yaml"), schedule.LoadOptions{UID: 1})
			return s, nil, err
		},
		View: look,
		Actor: func(s *schedule.Schedule, by string) actions.Actor {
			source := look(s)
			source.Controls.ReadOnly = false
			return actions.Actor{Source: source, By: by}
		},
		Runs: func(s *schedule.Schedule) run.Caller { return run.Caller{Storage: run.Storage{Dir: s.StateDir}} },
	}
}

// ended is the record of a run that ended so many minutes before noon, with what it printed.
func (b *box) ended(task string, ago int, as outcome.Outcome, printed string) outcome.Record {
	slot := noon.Add(-time.Duration(ago) * time.Minute)
	r := outcome.Record{Run: outcome.NewIDAt(slot), Task: task, Mutex: task, Slot: slot, Ended: slot, Outcome: as, Server: "web-1", Attempts: 1}
	if r.Ran() {
		r.Started, r.Ended = slot.Add(time.Second), slot.Add(3*time.Second)
	}
	if printed != "" {
		r.Output = runfile.OutputPath(b.path(".sched"), r)
		os.MkdirAll(filepath.Dir(r.Output), 0o700)
		os.WriteFile(r.Output, []byte(printed), 0o600)
	}
	return r
}

// remember puts records into the history.
func (b *box) remember(records ...outcome.Record) {
	b.Helper()
	db, err := history.Open(b.path(".sched"))
	if err == nil {
		err = db.Add(context.Background(), records)
		db.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
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
