package serve

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/load"
	"sched/schedule/view"
)

// This file is for pages for people (package web): each is a Visit, whose exported methods do what
// the routes do.

// A Work is how busy an answer keeps the server.
type Work int

const (
	Quick    Work = iota
	Foresees      // it takes seconds of CPU; one such request of a caller at a time
	Waits         // it waits for seconds, and takes no place of Server.work
)

// Visit prepares the answer to a request that came through Handler, by somebody who needs a scope.
// Call leave when the page is made: the number of pages is bounded, for forecasts apart. The error
// is for ProblemOf.
func (s *Server) Visit(hr *http.Request, needs Scope, work Work) (v *Visit, leave func(), err error) {
	v = &Visit{Request: hr, server: s, Who: whoIs(hr.Context())}
	if err := v.Who.needs(needs); err != nil {
		return nil, nil, err
	}
	leave, err = v.prepare(route{work: work})
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

// This file is for the page that edits a task. It writes nothing: saving is the route PUT.

// A Draft is a task of the folder of --edit as somebody wants it to be.
type Draft struct {
	Name, Keys string             // Keys is YAML, as PUT takes it
	Old        string             // the keys that are written now; "" for a new task
	Tag        string             // the ETag of Old; "" for a new task
	Task       *schedule.Task     // as it would be; nil with problems
	Problems   []schedule.Problem // lines and columns of problems in the task count in Keys
}

// Edits reports whether the visitor may write tasks here.
func (r *Visit) Edits() bool {
	return r.server.offers(route{scope: ScopeEdit}) && r.Who.Scope.Allows(ScopeEdit)
}

// Written returns a task as it is written in the folder of --edit. The error says why it cannot be
// edited.
func (r Folder) Written(name string) (Draft, error) {
	t, err := view.FindTask(r.Schedule, name)
	if err != nil {
		return Draft{}, err
	}
	path := r.server.taskFile(name)
	if fileOf(r.Schedule, t) != path {
		return Draft{}, view.Fail(view.Conflict, "edit it there", "%s is defined at %s", name, view.Place(t))
	}
	text, err := readOwn(r.Schedule, name, path)
	keys, _ := keysIn(text, name)
	return Draft{Name: name, Keys: string(keys), Old: string(keys), Tag: tagOf(text)}, err
}

// Draft says what would become of a task with these keys: it checks what PUT checks. Tag is the
// ETag of what the visitor has seen; "" for a new task.
func (r Folder) Draft(name, keys, tag string) (Draft, error) {
	d := Draft{Name: name, Keys: keys, Tag: tag}
	if err := checkName(name); err != nil {
		return d, err
	}
	text, err := r.editable(name, tag)
	if err != nil {
		return d, err
	}
	old, _ := keysIn(text, name)
	d.Old = string(old)
	path := r.server.taskFile(name)
	after, err := r.server.Schedules.Check(map[string][]byte{path: taskText(name, []byte(keys))})
	if err == nil {
		if err = mayWrite(after, name, path); err == nil {
			d.Task, err = view.FindTask(after, name)
		}
		return d, err
	}
	var invalid *load.InvalidError
	if !errors.As(err, &invalid) {
		return d, err
	}
	for _, one := range invalid.Problems {
		if fileOf(r.Schedule, &schedule.Task{Place: one.Place}) == path {
			one.Place.File = ""
			one.Place.Line, one.Place.Column = max(1, one.Place.Line-headLines), max(1, one.Place.Column-len(indent))
		}
		d.Problems = append(d.Problems, one)
	}
	return d, nil
}

func checkName(name string) error {
	if !mayName().MatchString(name) {
		return NewProblem(http.StatusUnprocessableEntity, "letters, digits and . _ : / -, at most 128, a letter or digit first", "%q cannot be a name", Shortened(name))
	}
	return nil
}
