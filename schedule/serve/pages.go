package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/forecast"
	"sched/schedule/view"
)

// This file is for pages for people (package web). It gives them the state to show, and a way to
// call the routes with the rights of the visitor.

// A Visit is one request for a page, with the schedule as it is now.
type Visit struct {
	Who      Who
	Operates bool // the visitor may also trigger, retry, stop, pause and resume
	Schedule *schedule.Schedule
	Invalid  error // what is wrong with the file: the schedule is what runs in its place
	View     view.Source

	request *request
}

// Visit prepares the answer to a request that came through Handler. Call leave when the page is
// made: the number of pages is bounded, for forecasts apart. The error is for ProblemOf.
func (s *Server) Visit(hr *http.Request, foresees bool) (v *Visit, leave func(), err error) {
	plain := hr.Clone(hr.Context())
	plain.URL.RawQuery = "" // routes do not know the parameters of pages
	r := &request{Request: plain, server: s, who: whoIs(hr.Context())}
	if leave, err = s.prepare(route{foresees: foresees}, r); err != nil {
		return nil, nil, err
	}
	return &Visit{
		Who: r.who, Operates: !s.ReadOnly && r.who.Scope.Allows(ScopeOperate), Schedule: r.schedule, Invalid: r.invalid, View: r.view, request: r,
	}, leave, nil
}

// Problems says what the answers of the View lack so far.
func (v *Visit) Problems() (all []string) {
	v.request.mu.Lock()
	defer v.request.mu.Unlock()
	for _, p := range v.request.problems {
		all = append(all, p.String())
	}
	return all
}

// Told reports whether Problems has the reason of a trouble.
func (v *Visit) Told(t view.Trouble) bool {
	v.request.mu.Lock()
	defer v.request.mu.Unlock()
	return slices.ContainsFunc(v.request.problems, func(p lack) bool {
		return p.store && t.Trouble == "store" || p.why != "" && strings.HasSuffix(t.Text, p.why)
	})
}

// Pauses returns the pauses in effect.
func (v *Visit) Pauses() []Pausing { return v.request.pausings() }

// Forecast returns a forecast of a span (empty: a week) from a time (zero: this hour) on.
func (v *Visit) Forecast(from time.Time, length string) (forecast.Report, error) {
	return v.request.forecast(from, length)
}

// Call calls a route of the API for the sender of a page's form: with their rights, and their name
// in the audit log. Path is escaped and begins behind /api/v1. The answer is decoded into a value
// that may be nil. A body is sent as JSON, and one of the type YAML as it is. The error is a
// *Problem.
func (s *Server) Call(from *http.Request, method, path string, body, answer any) error {
	kind := "application/json"
	text, err := json.Marshal(body)
	if yaml, ok := body.(YAML); ok {
		kind, text = "application/yaml", []byte(yaml)
	}
	if err != nil { // a form with the number NaN
		return NewProblem(http.StatusBadRequest, "", "the form cannot be read: %s", plainJSON(err))
	}
	r := from.Clone(from.Context())
	if r.URL, err = url.Parse(s.BasePath + prefix + path); err != nil {
		return ProblemOf(err)
	}
	r.Method, r.RequestURI = method, ""
	r.Body, r.ContentLength = http.NoBody, 0
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Del("Accept-Encoding") // of the browser, for the page
	r.Header.Del("If-None-Match")
	given := &kept{header: http.Header{}, status: http.StatusOK}
	s.mux.ServeHTTP(given, r)
	if given.status >= http.StatusBadRequest {
		p := NewProblem(given.status, "", "%s", http.StatusText(given.status))
		json.Unmarshal(given.body.Bytes(), p)
		return p
	}
	if answer != nil {
		return json.Unmarshal(given.body.Bytes(), answer)
	}
	return nil
}

// YAML is the body of a Call.
type YAML string

type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header            { return k.header }
func (k *kept) WriteHeader(status int)         { k.status = status }
func (k *kept) Write(text []byte) (int, error) { return k.body.Write(text) }
