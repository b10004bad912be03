package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/view"
)

// A Visit is one request that was let in, for a route or for a page of package web, with the
// schedule as it is now. Its exported methods do what the routes do.
type Visit struct {
	*http.Request
	Who      Who
	Schedule *schedule.Schedule // nil for a route that needs none
	Invalid  error              // what is wrong with the file: the schedule is what runs in its place
	View     view.Source

	server *Server
	query  query
	body   []byte // of a route that takes one

	mu       sync.Mutex
	problems []missingPart
}

// A missingPart is what an answer lacks for one reason.
type missingPart struct {
	what  string // may be empty
	why   string // may be empty
	store bool   // the reason is the store
}

func (p missingPart) String() string {
	if p.what == "" || p.why == "" {
		return p.what + p.why
	}
	return p.what + ": " + p.why
}

// hasReasonOf reports whether both parts are missing for the same reason.
func (p missingPart) hasReasonOf(other missingPart) bool {
	isSameText := p.why == other.why && (p.why != "" || p.what == other.what)
	return isSameText || p.store && other.store
}

// noteMissing notes what the answer lacks. If the last argument is an error, it is the reason: all
// that the answer lacks for that reason, or because of the store, is one problem.
func (r *Visit) noteMissing(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	part := missingPart{what: humanize.Line(fmt.Sprintf(format, args...))}
	if n := len(args); n > 0 {
		if err, ok := args[n-1].(error); ok {
			_, part.store = errors.AsType[*mutex.StoreError](err)
			part.why = humanize.Line(err.Error())
			part.what = strings.TrimSuffix(strings.TrimSuffix(part.what, part.why), ": ")
		}
	}
	for i, known := range r.problems {
		if part.hasReasonOf(known) {
			if !strings.Contains(known.what, part.what) {
				r.problems[i].what = strings.TrimPrefix(known.what+"; "+part.what, "; ")
			}
			return
		}
	}
	r.problems = append(r.problems, part)
}

// handlerOf returns the handler of a route of a server.
func handlerOf(s *Server, rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := &Visit{Request: hr, server: s}
		value, err := makeAnswer(w, r, rt)
		if err != nil {
			writeProblem(w, ProblemOf(err))
			return
		}
		writeAnswer(w, r, rt, value)
	})
}

// makeAnswer makes the answer. While it is sent, another one may be made.
func makeAnswer(w http.ResponseWriter, r *Visit, rt route) (value any, err error) {
	if r.Who, err = r.server.access.Admit(r.Request, rt.scope); err != nil {
		return nil, err
	}
	if err := receive(w, r, rt); err != nil {
		return nil, err
	}
	if rt.scope != ScopeHook { // others call hooks: what they send is not read
		if err := checkQuery(rt.params, r.URL.Query()); err != nil {
			return nil, err
		}
	}
	leave, err := prepare(r, rt)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := r.readQuery(rt.params); err != nil {
		return nil, err
	}
	return rt.handle(r)
}

// maxBodyTime bounds the time in which a body comes.
const maxBodyTime = 10 * time.Second

// receive reads the body, before the request gets its place: a client that sends slowly keeps no
// other request from a place. A body that the route does not take is thrown away.
func receive(w http.ResponseWriter, r *Visit, rt route) (err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	conn := http.NewResponseController(w)
	conn.SetReadDeadline(time.Now().Add(r.server.bodyTimeout))
	r.body, err = io.ReadAll(r.Body)
	if !rt.takesBody() {
		r.body = nil
	}
	if err == nil {
		conn.SetReadDeadline(time.Time{}) // net/http takes a deadline that is over for the end of the client
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = NewProblem(http.StatusRequestTimeout, "", "the body did not come within %s",
			humanize.Duration(r.server.bodyTimeout))
	}
	return err
}

// maxAnswerTime bounds the time in which an answer is made.
const maxAnswerTime = 20 * time.Second

// prepare waits for a place among the requests that are answered, and loads the schedule. A stream
// gives its place back before it begins.
func prepare(r *Visit, rt route) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(r.Context(), maxAnswerTime)
	giveBack, err := r.server.takePlace(ctx, rt.work, r.Who.Name)
	if err != nil {
		cancel()
		return nil, err
	}
	leave = func() { giveBack(); cancel() }
	if rt.kind != eventStreamType {
		r.Request = r.Request.WithContext(ctx)
	}
	if rt.needsNoSchedule {
		return leave, nil
	}
	now, invalid, err := r.server.current.get()
	if err != nil {
		leave()
		return nil, err
	}
	r.Invalid = invalid
	r.setSchedule(now)
	return leave, nil
}

// setSchedule has the rest of the visit answer about a schedule.
func (r *Visit) setSchedule(s *schedule.Schedule) {
	r.Schedule = s
	r.View = r.server.Schedules.View(s)
	r.View.Problem = r.noteMissing
}

// takePlace waits for a place among the requests that do such work. If it returns no error, the
// caller must call giveBack.
func (s *Server) takePlace(ctx context.Context, work Work, caller string) (giveBack func(), err error) {
	switch work {
	case Waiting:
		return func() {}, nil
	case Quick:
		return take(ctx, s.places)
	}
	endTurn, err := s.forecastTurns.take(ctx, caller)
	if err != nil {
		return nil, err
	}
	giveBackPlace, err := take(ctx, s.forecastPlaces)
	if err != nil {
		endTurn()
		return nil, err
	}
	return func() { giveBackPlace(); endTurn() }, nil
}

// take waits for one of the places, which are as many as the channel has room for.
func take(ctx context.Context, places chan struct{}) (giveBack func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, tooMuch()
	}
}

func tooMuch() error { return tryAgain(1, "try again", "too much is asked at the same time") }

// A Work is how busy an answer keeps the server.
type Work int

const (
	Quick       Work = iota
	Forecasting      // it takes seconds of CPU; one such request of a caller at a time
	Waiting          // it waits for seconds, and takes no place of Server.places
)

// NewVisit prepares the answer to a request that came through Handler, by somebody who needs a
// scope. Call leave when the page is made: the number of pages is bounded, for forecasts apart. The
// error is for ProblemOf.
func NewVisit(s *Server, hr *http.Request, needs Scope, work Work) (v *Visit, leave func(), err error) {
	v = &Visit{Request: hr, server: s, Who: whoIs(hr.Context())}
	if err := v.Who.needs(needs); err != nil {
		return nil, nil, err
	}
	leave, err = prepare(v, route{work: work})
	return v, leave, err
}

// Operates reports whether the visitor may also trigger, retry, stop, pause and resume.
func (r *Visit) Operates() bool {
	return r.server.offers(ScopeOperate) && r.Who.Scope.Allows(ScopeOperate)
}

// Problems says what the answers of the View lack so far.
func (r *Visit) Problems() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.problems {
		all = append(all, p.String())
	}
	return all
}

// Reported reports whether Problems has the reason of a trouble.
func (r *Visit) Reported(t view.Trouble) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.problems, func(p missingPart) bool {
		return p.store && t.Kind == "store" || p.why != "" && strings.HasSuffix(t.Text, p.why)
	})
}

// turns lets each caller have one forecast made at a time. It has a channel with room for one, by
// the name of the caller: callers are few, and are not forgotten.
type turns struct{ all sync.Map }

// take waits until the caller has no other forecast made. The caller of take must call giveBack.
func (t *turns) take(ctx context.Context, caller string) (giveBack func(), err error) {
	turn, _ := t.all.LoadOrStore(caller, make(chan struct{}, 1))
	return take(ctx, turn.(chan struct{}))
}

// minID is the length of the shortest part of an id with which a run may be shown.
const minID = 4

// runOf returns the run that id stands for: the whole id, a beginning or an end.
func (r *Visit) runOf(id string) (view.Run, error) {
	if len(id) < minID {
		return view.Run{}, notFound("write at least four characters of its id", "there is no run %q", id)
	}
	return view.FindRun(r.Context(), r.View, id)
}

// minIDToChange is the length of the shortest part of an id with which a run may be changed: the
// first 48 bits of an id are the time, so a shorter part soon stands for another run, too.
const minIDToChange = 12

// runToChange returns a run of this server that a command (retry, stop) is to change.
func (r *Visit) runToChange(id, command string) (view.Run, error) {
	if len(id) < minIDToChange {
		return view.Run{}, badRequest("write the whole id, as the list of runs has it",
			"%q is too short for the id of a run to change", id)
	}
	found, err := r.runOf(id)
	if err == nil {
		err = found.Elsewhere(command)
	}
	return found, err
}
