package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"sched/testing/controltest"
)

// A box is a schedule with a state folder, and a server of it that is called by HTTP.
type box struct {
	*controltest.Folder
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
  - {name: hourly, every: hour, command: "echo secret-free", tags: [x], params: {DAY: {default: today, pattern: "[a-z0-9-]{1,20}|.{600,}"}}, description: "<script>alert(1)</script>", on_failure: [{webhook: "https://hooks.example.com/s3cr3t"}]}
  - {name: a/b, every: day, command: "false"}
  - {name: off, every: day, command: "false", enabled: false}
`

// newBox makes a box with a token for each scope.
func newBox(t testing.TB, text string, change ...func(*Config)) *box {
	t.Helper()
	b := &box{Folder: controltest.NewFolder(t, text), tokens: map[Scope]string{}, called: map[string]bool{}}
	os.Mkdir(b.Path("schedule.d"), 0o700)
	t.Cleanup(func() {
		for os.RemoveAll(b.State()) != nil { // a watcher opens the database for half a minute after the last stream
		}
	})
	c := Config{StateDir: b.State(), Version: "1", Now: controltest.Now, Edit: b.Path("schedule.d"), Approve: true,
		Problem:   t.Logf,
		Schedules: Schedules{Load: b.Load, Check: b.Check, View: b.View, Actor: b.Actor, Runs: b.Runs}}
	for _, change := range change {
		change(&c)
	}
	server, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	b.server = server
	for _, scope := range []Scope{ScopeRead, ScopeOperate, ScopeEdit, ScopeApprove} {
		b.tokens[scope] = b.token(Token{Name: "my-" + string(scope), Scope: scope})
	}
	b.web = httptest.NewServer(server.Handler(nil))
	t.Cleanup(b.web.Close)
	if b.doc, err = openapi3.NewLoader().LoadFromData(server.openapi); err != nil {
		t.Fatal(err)
	}
	return b
}

// write writes a file, which the server sees at once.
func (b *box) write(name, text string) {
	b.Helper()
	b.Write(name, text)
	b.server.current.forget()
}

func (b *box) token(t Token) string {
	b.Helper()
	text, err := AddToken(b.State(), t)
	if err != nil {
		b.Fatal(err)
	}
	return text
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
	endless bool // the body goes on, and nothing comes
}

// An answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) problem(t testing.TB) (p Problem) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return p
}

// call sends a request, and checks that the OpenAPI document allows the answer.
func (b *box) call(c call) answer {
	b.Helper()
	path, params := c.route, map[string]string{}
	for i, name := range (route{path: c.route}).pathParams() {
		params[name] = c.values[i]
		path = strings.Replace(path, "{"+name+"}", url.PathEscape(c.values[i]), 1)
	}
	body := io.Reader(strings.NewReader(c.body))
	if c.endless {
		pipe, end := io.Pipe()
		defer end.Close()
		body = io.MultiReader(body, pipe)
	}
	r, err := http.NewRequest(c.method, b.web.URL+b.server.BasePath+prefix+path+c.query, body)
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
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	b.conforms(c, r, params, response, text)
	return answer{response.StatusCode, response.Header, string(text)}
}

// conforms checks an answer against the document.
func (b *box) conforms(c call, r *http.Request, params map[string]string, response *http.Response, body []byte) {
	b.Helper()
	item := b.doc.Paths.Value(c.route)
	if item == nil || item.GetOperation(c.method) == nil {
		b.Fatalf("the document has no %s %s", c.method, c.route)
	}
	in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params,
		Route: &routers.Route{Spec: b.doc, Path: c.route, PathItem: item, Method: c.method,
			Operation: item.GetOperation(c.method)}}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: response.StatusCode,
		Header: response.Header, Options: &openapi3filter.Options{IncludeResponseStatus: true}}
	out.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		b.Errorf("%s %s: %d is not as documented: %v\n%s", c.method, r.URL, response.StatusCode, err, body)
	}
	b.called[c.method+" "+c.route+" "+http.StatusText(response.StatusCode)] = true
}

func init() {
	for _, kind := range []string{"image/svg+xml", "text/event-stream", "text/calendar", schemaJSON} {
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

func decode[T any](t testing.TB, body string) (value T) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader([]byte(body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return value
}
