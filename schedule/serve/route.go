package serve

import (
	"net/http"
	"slices"
	"strings"

	"sched/schedule/view"
)

// A route is one thing that can be asked for. The mux and the OpenAPI document are made of the same
// rows.
type route struct {
	method, path string
	scope        Scope
	about        string
	params       []param
	body         any    // a value of the type of the JSON body; nil for none
	kind         string // of the answer; "" for JSON
	also         string // another kind that the answer may have, an object, too; "" for none
	status       int
	value        any   // a value of the type of the answer
	errors       []int // statuses of problems, besides everyError
	bare         bool  // it needs no schedule
	waits        bool  // it waits for seconds, and takes no place of Server.work
	foresees     bool  // it takes seconds of CPU; one such request of a caller at a time
	handle       func(*request) (any, error)
}

type param struct {
	name, kind, about string // kind: string, integer, time, boolean
	many              bool   // it may be there several times
}

const (
	eventStream = "text/event-stream"
	plainText   = "text/plain; charset=utf-8"
	schemaJSON  = "application/schema+json"
	yamlText    = "application/yaml"
)

var (
	cursorParam = param{name: "cursor", kind: "string", about: "where to go on: `next` of the page before"}
	limitParam  = param{name: "limit", kind: "integer", about: "at most so many items"}
)

// checkQuery refuses parameters that the route does not know: a misspelt filter would select
// everything.
func (of route) checkQuery(r *http.Request) error {
	query := r.URL.Query()
	for name, values := range query {
		i := slices.IndexFunc(of.params, func(p param) bool { return p.name == name })
		if i < 0 {
			var names []string
			for _, p := range of.params {
				names = append(names, p.name)
			}
			hint := "it takes none"
			if len(names) > 0 {
				hint = view.DidYouMean(name, names)
			}
			if hint == "see `sched list`" {
				hint = "the parameters are in openapi.json"
			}
			return NewProblem(http.StatusBadRequest, hint, "there is no parameter %q", Shortened(name))
		}
		if len(values) > 1 && !of.params[i].many {
			return NewProblem(http.StatusBadRequest, "", "the parameter %s is there %d times", name, len(values))
		}
		if values[0] == "" && of.params[i].kind != "boolean" {
			return NewProblem(http.StatusBadRequest, "leave it out, or give it a value", "the parameter %s is empty", name)
		}
		if of.params[i].kind == "boolean" && values[0] != "" && values[0] != "true" && values[0] != "false" {
			return NewProblem(http.StatusBadRequest, "true or false", "%s %q is neither true nor false", name, Shortened(values[0]))
		}
	}
	return nil
}

// cached reports whether the answers have an ETag.
func (of route) cached() bool { return of.method == http.MethodGet && of.kind != eventStream }

func (of route) takesBody() bool { return of.body != nil || of.method == http.MethodPut }

func (of route) pathParams() (names []string) {
	for part := range strings.SplitSeq(of.path, "/") {
		if strings.HasPrefix(part, "{") {
			names = append(names, strings.Trim(part, "{}"))
		}
	}
	return names
}
