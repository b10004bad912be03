package serve

import (
	"net/http"
	"slices"
	"strings"

	"sched/schedule/view"
)

// This file is for pages for people (package web): each is a Visit, whose exported methods do what
// the routes do.

// A Work is how busy the answer to a page keeps the server.
type Work int

const (
	Quick    Work = iota
	Foresees      // it takes seconds of CPU
	Waits         // it waits for seconds
)

// Visit prepares the answer to a request that came through Handler, by somebody who needs a scope.
// Call leave when the page is made: the number of pages is bounded, for forecasts apart. The error
// is for ProblemOf.
func (s *Server) Visit(hr *http.Request, needs Scope, work Work) (v *Visit, leave func(), err error) {
	v = &Visit{Request: hr, server: s, Who: whoIs(hr.Context())}
	if err := v.Who.needs(needs); err != nil {
		return nil, nil, err
	}
	leave, err = v.prepare(route{foresees: work == Foresees, waits: work == Waits})
	return v, leave, err
}

// Operates reports whether the visitor may also trigger, retry, stop, pause and resume.
func (r *Visit) Operates() bool { return !r.server.ReadOnly && r.Who.Scope.Allows(ScopeOperate) }

// Problems says what the answers of the View lack so far.
func (r *Visit) Problems() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.problems {
		all = append(all, p.String())
	}
	return all
}

// Told reports whether Problems has the reason of a trouble.
func (r *Visit) Told(t view.Trouble) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.problems, func(p lack) bool {
		return p.store && t.Trouble == "store" || p.why != "" && strings.HasSuffix(t.Text, p.why)
	})
}
