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
	kind         string // the content type of the answer; "" for JSON
	alsoKind     string // a second content type of the answer; "" for none
	status       int
	alsoStatus   int   // a second status of the answer; 0 for none
	value        any   // a value of the type of the answer
	errors       []int // statuses of problems, besides everyError
	work         Work
	handle       func(*Visit) (any, error)

	needsNoSchedule bool
	outsideToo      bool // it is served without the prefix of the API, too
}

const (
	eventStreamType = "text/event-stream"
	plainText       = "text/plain; charset=utf-8"
	schemaJSON      = "application/schema+json"
	yamlText        = "application/yaml"
)

// cached reports whether the answers have an ETag.
func (rt route) cached() bool { return rt.method == http.MethodGet && rt.kind != eventStreamType }

func (rt route) takesBody() bool { return rt.body != nil || rt.method == http.MethodPut }

func (rt route) pathParams() (names []string) {
	for part := range strings.SplitSeq(rt.path, "/") {
		if strings.HasPrefix(part, "{") {
			names = append(names, strings.Trim(part, "{}"))
		}
	}
	return names
}
