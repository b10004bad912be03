package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"sched/schedule"
	"sched/schedule/actions"
	"sched/schedule/controls"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/runfile"
	"sched/schedule/view"
)

// A box is a schedule with a state folder, and a server of it that is called by HTTP.
type box struct {
	*testing.T
	dir    string
	server *Server
	web    *httptest.Server
	doc    *openapi3.T
	tokens map[Scope]string
	called map[string]bool // the routes with the statuses that were answered: "GET /tasks 200"
}

const shop = `
timezone: UTC
env: {PASSWORD: hunter2}
include: [schedule.d/*.yaml]
tasks:
  - {name: hourly, every: hour, command: "echo secret-free", tags: [x], description: "<script>alert(1)</script>", on_failure: [{webhook: "https://hooks.example.com/s3cr3t"}]}
  - {name: a/b, every: day, command: "false"}
  - {name: off, every: day, command: "false", enabled: false}
`

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newBox makes a box with a token for each scope.
func newBox(t *testing.T, text string, change ...func(*Config)) *box {
	t.Helper()
	b := &box{T: t, dir: t.TempDir(), tokens: map[Scope]string{}, called: map[string]bool{}}
	b.write("schedule.yaml", text)
	os.Mkdir(b.path("schedule.d"), 0o700)
	state := b.path(".sched")
	c := Config{StateDir: state, Version: "1", Now: func() time.Time { return noon }, Edit: b.path("schedule.d"), Problem: t.Logf, Schedules: b.schedules()}
	for _, change := range change {
		change(&c)
	}
	server, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	b.server = server
	for _, scope := range []Scope{Read, Operate, Edit} {
		b.tokens[scope] = b.token(Token{Name: "my-" + string(scope), Scope: scope})
	}
	b.web = httptest.NewServer(server.Handler(nil))
	t.Cleanup(b.web.Close)
	if b.doc, err = openapi3.NewLoader().LoadFromData(server.openapi); err != nil {
		t.Fatal(err)
	}
	return b
}

// schedules reads the schedule of the box.
func (b *box) schedules() Schedules {
	check := func(files map[string][]byte) (*schedule.Schedule, error) {
		return schedule.Load(b.path("schedule.yaml"), schedule.LoadOptions{UID: 1, Texts: files})
	}
	look := func(s *schedule.Schedule) view.Source {
		return view.Source{Schedule: s, Controls: controls.Source{Dir: s.StateDir, ReadOnly: true}, Now: func() time.Time { return noon }, Server: "web-1"}
	}
	return Schedules{
		Load:  func() (*schedule.Schedule, error, error) { s, err := check(nil); return s, nil, err },
		Check: check,
		View:  look,
		Actor: func(s *schedule.Schedule, by string) actions.Actor {
			source := look(s)
			source.Controls.ReadOnly = false
			return actions.Actor{Source: source, By: by}
		},
		Runs: func(s *schedule.Schedule) run.Caller { return run.Caller{Storage: run.Storage{Dir: s.StateDir}} },
	}
}

func (b *box) path(name string) string { return filepath.Join(b.dir, name) }

func (b *box) write(name, text string) {
	b.Helper()
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	if b.server != nil {
		b.server.current.forget()
	}
}

func (b *box) token(t Token) string {
	b.Helper()
	text, err := AddToken(b.path(".sched"), t)
	if err != nil {
		b.Fatal(err)
	}
	return text
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

// ended is the record of a run that ended so many minutes before noon, with what it printed.
func (b *box) ended(task string, ago int, as outcome.Outcome, printed string) outcome.Record {
	slot := noon.Add(-time.Duration(ago) * time.Minute)
	r := outcome.Record{Run: outcome.NewIDAt(slot), Task: task, Mutex: task, Slot: slot, Started: slot.Add(time.Second), Ended: slot.Add(3 * time.Second),
		Outcome: as, Server: "web-1", Attempts: 1}
	if printed != "" {
		r.Output = runfile.OutputPath(b.path(".sched"), r)
		os.MkdirAll(filepath.Dir(r.Output), 0o700)
		os.WriteFile(r.Output, []byte(printed), 0o600)
	}
	return r
}

// A call is a request. Scope chooses the token; "" sends none.
type call struct {
	scope   Scope
	method  string
	route   string   // a path of the table
	values  []string // of its wildcards, in their order
	query   string
	body    string
	headers map[string]string
}

// An answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) problem(t *testing.T) (p Problem) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return p
}

// call sends a request, and checks that the answer is one that the OpenAPI document allows.
func (b *box) call(c call) answer {
	b.Helper()
	path, params := c.route, map[string]string{}
	for i, name := range (route{path: c.route}).pathParams() {
		params[name] = c.values[i]
		path = strings.Replace(path, "{"+name+"}", url.PathEscape(c.values[i]), 1)
	}
	r, err := http.NewRequest(c.method, b.web.URL+b.server.BasePath+prefix+path+c.query, strings.NewReader(c.body))
	if err != nil {
		b.Fatal(err)
	}
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.scope != "" {
		r.Header.Set("Authorization", "Bearer "+b.tokens[c.scope])
	}
	for name, value := range c.headers {
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	b.conforms(c, r, params, response, body)
	return answer{response.StatusCode, response.Header, string(body)}
}

// conforms checks an answer against the document.
func (b *box) conforms(c call, r *http.Request, params map[string]string, response *http.Response, body []byte) {
	b.Helper()
	item := b.doc.Paths.Value(c.route)
	if item == nil || item.GetOperation(c.method) == nil {
		b.Fatalf("the document has no %s %s", c.method, c.route)
	}
	in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params,
		Route: &routers.Route{Spec: b.doc, Path: c.route, PathItem: item, Method: c.method, Operation: item.GetOperation(c.method)}}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: response.StatusCode, Header: response.Header, Options: &openapi3filter.Options{IncludeResponseStatus: true}}
	out.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		b.Errorf("%s %s: %d is not as documented: %v\n%s", c.method, r.URL, response.StatusCode, err, body)
	}
	b.called[c.method+" "+c.route+" "+http.StatusText(response.StatusCode)] = true
}

func init() {
	for _, kind := range []string{"image/svg+xml", "text/event-stream"} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.FileBodyDecoder)
	}
}

// wants checks the status of an answer, and that its text has all of some parts.
func (b *box) wants(what string, got answer, status int, parts ...string) {
	b.Helper()
	if got.status != status {
		b.Errorf("%s: %d, want %d: %s", what, got.status, status, got.body)
	}
	for _, part := range parts {
		if !strings.Contains(got.body, part) {
			b.Errorf("%s: %q is not in %s", what, part, got.body)
		}
	}
}

func decode[T any](t *testing.T, body string) (value T) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader([]byte(body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return value
}
