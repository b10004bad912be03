package serve

import (
	"net/http"
	"strings"
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
	handle       func(*Visit) (any, error)
}

const (
	eventStream = "text/event-stream"
	plainText   = "text/plain; charset=utf-8"
	schemaJSON  = "application/schema+json"
	yamlText    = "application/yaml"
)

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
