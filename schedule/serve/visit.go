package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/forecast"
	"sched/schedule/humanize"
	"sched/schedule/pause"
	"sched/schedule/state"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
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
	what  []string
	why   string // the reason, if it is an error; else empty
	store bool   // the reason is the store
}

func (p missingPart) String() string {
	what := strings.Join(p.what, "; ")
	if what == "" || p.why == "" {
		return what + p.why
	}
	return what + ": " + p.why
}

// noteMissing notes what the answer lacks. If the last argument is an error, it is the reason, and
// the format ends with it: all that the answer lacks for that reason, or because of the store, is
// one problem.
func (r *Visit) noteMissing(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var part missingPart
	if n := len(args); n > 0 {
		if err, ok := args[n-1].(error); ok {
			_, part.store = errors.AsType[*mutex.StoreError](err)
			part.why = humanize.Line(err.Error())
			format, args = strings.TrimSuffix(strings.TrimSuffix(format, "%v"), ": "), args[:n-1]
		}
	}
	if what := humanize.Line(fmt.Sprintf(format, args...)); what != "" {
		part.what = []string{what}
	}
	isSame := func(p missingPart) bool {
		return p.store && part.store || p.why == part.why && (p.why != "" || slices.Equal(p.what, part.what))
	}
	if i := slices.IndexFunc(r.problems, isSame); i < 0 {
		r.problems = append(r.problems, part)
	} else if known := &r.problems[i]; len(part.what) > 0 && !slices.Contains(known.what, part.what[0]) {
		known.what = append(known.what, part.what[0])
	}
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
		return p.store && t.Kind == "store" || t.Err != nil && p.why == humanize.Line(t.Err.Error())
	})
}

// setSchedule has the rest of the visit answer about a schedule.
func (r *Visit) setSchedule(s *schedule.Schedule) {
	r.Schedule = s
	r.View = r.server.Schedules.View(s)
	r.View.Problem = r.noteMissing
}

// Operates reports whether the visitor may also trigger, retry, stop, pause and resume.
func (r *Visit) Operates() bool {
	return r.server.offers(ScopeOperate) && r.Who.Scope.Allows(ScopeOperate)
}

// Edits reports whether the visitor may write tasks here.
func (r *Visit) Edits() bool { return r.server.offers(ScopeEdit) && r.Who.Scope.Allows(ScopeEdit) }

// Approves reports whether the visitor may approve proposals here.
func (r *Visit) Approves() bool {
	return r.server.offers(ScopeApprove) && r.Who.Scope.Allows(ScopeApprove)
}

// maxAnswerTime bounds the time in which an answer is made.
const maxAnswerTime = 20 * time.Second

// readQuery reads the parameters of a request whose schedule is known.
func (r *Visit) readQuery(params []param) error {
	r.query = query{r.URL.Query(), map[string]int64{}, map[string]time.Time{}, cursor{}}
	for _, p := range params {
		given, err := r.query.Get(p.name), error(nil)
		switch p.kind {
		case kindCursor:
			r.query.cursor, err = readCursor(given)
		case kindInteger, kindBytes:
			r.query.numbers[p.name], err = p.readNumber(given)
		case kindTime:
			r.query.times[p.name], err = r.readTime(p.name, given, view.ReadTime)
		case kindPast:
			if ago, derr := yamldoc.ParseDuration(given); derr == nil && ago > 0 {
				r.query.times[p.name] = r.server.Now().Add(-ago).UTC()
			} else {
				r.query.times[p.name], err = r.readTime(p.name, given, view.ReadPast)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readTime reads a time as the flags of commands do; "" is the zero time.
func (r *Visit) readTime(name, given string, read readsTime) (time.Time, error) {
	if given == "" {
		return time.Time{}, nil
	}
	at, _, ok := read(given, r.server.Now(), r.Schedule.Location, view.Zones(r.Schedule, time.Local)...)
	if !ok || at.Year() < 1 || at.Year() > 9998 {
		return time.Time{}, badRequest("write it as 2006-01-02T15:04:05Z or 2h ago, and + in a URL as %2B",
			"%s %q is not a time", name, Shortened(given))
	}
	return at.UTC(), nil
}

// readFuture returns the time that somebody names, as a number of seconds from now or as a time; ok
// is false if they name no time.
func (r *Visit) readFuture(in *float64, inName, at, atName string) (t time.Time, ok bool, err error) {
	now := r.server.Now()
	switch {
	case in != nil && at != "":
		return now, false, badRequest("", "%s and %s exclude each other", inName, atName)
	case in != nil:
		d, err := readDuration(inName, *in)
		return now.Add(d), true, err
	case at != "":
		t, err = r.readTime(atName, at, view.ReadTime)
		if err == nil && (!t.After(now) || t.Sub(now) > maxWait) {
			err = badRequest("write a time that is yet to come, or leave it out",
				"%s %s is in the past, or more than ten years ahead", atName, Shortened(at))
		}
		return t, true, err
	}
	return now, false, nil
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

// runToChange returns a run that a command (retry, stop) is to change. A run of another server is
// refused; servers tell each other only of runs that have begun.
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

// defaultForecastSpan is how long a forecast is by default, as for `sched forecast`.
const defaultForecastSpan = 7 * 24 * time.Hour

// Forecast returns a forecast to a time, or of a length as people write it; defaultForecastSpan if
// both are empty. If from is zero, the forecast begins with this hour, so all requests of one hour
// get the same forecast.
func (r *Visit) Forecast(from, until time.Time, length string) (made forecast.Report, err error) {
	if from.IsZero() {
		from = r.server.Now().Truncate(time.Hour)
	}
	span := defaultForecastSpan
	switch {
	case !until.IsZero() && (length != "" || !until.After(from)):
		return made, badRequest("", "until is not after since, or there is for, too")
	case !until.IsZero():
		span = until.Sub(from)
	case length != "":
		if span, err = yamldoc.ParseDuration(length); err != nil {
			return made, badRequest("write it as 12h or 7d", "for %q is not a duration", Shortened(length))
		}
	}
	select {
	case cache := <-r.server.forecasts:
		made, err = cache.Report(r.Context(), r.View, from.UTC(), span)
		r.server.forecasts <- cache
	case <-r.Context().Done():
		err = r.Context().Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return made, unavailable("ask for a shorter time, or `sched forecast`", "it took longer than %s", maxAnswerTime)
	}
	return made, err
}

// change does something for a reason that somebody typed, and writes it into the audit log.
func (r *Visit) change(action, target, reason string, do func() error) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	return r.audit(action, target, reason, do)
}

// audit does something and writes it into the audit log. The line comes first: even if this process
// is killed in between, nothing is changed that is not in the log. If do fails, the error is added
// to the line.
func (r *Visit) audit(action, target, reason string, do func() error) error {
	line := state.Change{At: r.server.Now(), Who: r.Who.Name, From: r.Who.From,
		Action: action, Target: target, Reason: control.Reason(reason)}
	err := r.server.writeAudit(func(log state.Audit) (err error) {
		line.ID, err = log.Add(context.Background(), line)
		return err
	})
	if err != nil {
		return fmt.Errorf("nothing was done, because the audit log cannot be written: %w", err)
	}
	failure := do()
	if failure == nil {
		return nil
	}
	err = r.server.writeAudit(func(log state.Audit) error {
		return log.Failed(context.Background(), line.ID, humanize.Line(failure.Error()))
	})
	if err != nil {
		r.server.Problem("the audit log cannot be written: %v", err)
	}
	return failure
}

func (r *Visit) actor() control.Actor {
	actor := r.server.Schedules.Actor(r.Schedule, r.Who.Name)
	actor.Problem = r.noteMissing
	return actor
}

// Trigger asks for a run of a task.
func (r *Visit) Trigger(task string, a Asking) (request view.Request, err error) {
	at, err := r.startOf(a)
	if err != nil {
		return request, err
	}
	actor := r.actor()
	row, err := actor.Trigger(task, at, a.Params, a.Reason)
	if err != nil {
		return request, err
	}
	return r.submit(actor, row, a, "trigger", task)
}

// checkHook refuses a call of a hook whose last request waits still, or that was called often.
func (r *Visit) checkHook() error {
	tooMany := func(after int, format string, args ...any) *Problem {
		p := NewProblem(http.StatusTooManyRequests, "call it less often", format, args...)
		p.RetryAfter = after
		return p
	}
	waits, err := r.actor().RequestWaits(r.Context(), r.Who.Task)
	if err != nil {
		return err
	}
	if waits {
		return tooMany(60, "a run of %s that was asked for by this hook waits already", r.Who.Task)
	}
	if wait := r.server.hooks.take(r.Who.Name, r.server.Now()); wait > 0 {
		return tooMany(int(wait/time.Second)+1, "this hook was called %d times in a minute", maxHookCalls)
	}
	return nil
}

// Retry asks for a run again.
func (r *Visit) Retry(id string, a Asking) (request view.Request, err error) {
	at, err := r.startOf(a)
	if err != nil {
		return request, err
	}
	run, err := r.runToChange(id, "retry")
	if err != nil {
		return request, err
	}
	whole := run.Record.Run
	actor := r.actor()
	retry, err := actor.Retry(r.Context(), control.RetryWish{Run: whole, At: at, Params: a.Params, Reason: a.Reason})
	if err != nil {
		return request, err
	}
	if retry.WaitsAlready {
		return request, view.Fail(view.Conflict, "", "a retry of run %s of %s waits already",
			humanize.ShortRun(whole), retry.Task)
	}
	return r.submit(actor, retry.Row, a, "retry", whole)
}

// startOf returns the time at which a run is to start, with the precision of the history.
func (r *Visit) startOf(a Asking) (time.Time, error) {
	at, _, err := r.readFuture(a.In, "in", a.At, "at")
	return at.UTC().Round(0).Truncate(time.Microsecond), err
}

// submit stores a request for a run, which the next tick starts, and writes it into the audit log.
func (r *Visit) submit(
	actor control.Actor, row state.Row, a Asking, action, target string,
) (request view.Request, err error) {
	if err := checkReason(a.Reason); err != nil {
		return request, err
	}
	for name, value := range row.Params {
		if err := refuseToken(value, "value of "+name); err != nil {
			return request, err
		}
	}
	row.NoChain = row.NoChain || a.NoChain
	if a.In == nil && a.At == "" {
		row = actor.AtOnce(row)
	}
	reason := control.Because(schedule.WithValues("", row.Params), a.Reason)
	err = r.audit(action, target, reason, func() error {
		err := actor.Submit(row)
		request = view.RequestOf(row, actor.TickOf(row), r.View.Server)
		return err
	})
	return request, err
}

// Stop stops a run that lives, and returns its whole id. It waits for stopPatience for the end.
func (r *Visit) Stop(id, reason string) (whole string, err error) {
	run, err := r.runToChange(id, "stop")
	if err != nil {
		return "", err
	}
	whole = run.Record.Run
	actor := r.actor()
	switch run.State {
	case view.RunEnded:
		return whole, actor.NotRunningError(r.Context(), whole)
	case view.RunWaiting:
		waits, _ := view.OneWaiting(actor.Source, whole)
		return whole, cmp.Or(view.RefuseWaiting(actor.Source, waits), control.NotCancelledError(waits))
	}
	return whole, r.stop(actor, run, reason)
}

// Cancel ends a run that waits, and returns its whole id: a run that has not begun is skipped, and
// a run that waits for its turn or for its next attempt is stopped.
func (r *Visit) Cancel(id, reason string) (whole string, err error) {
	run, err := r.runToChange(id, "stop")
	if err != nil {
		return "", err
	}
	whole = run.Record.Run
	actor := r.actor()
	switch run.State {
	case view.RunWaiting:
		return whole, r.skip(actor, whole, reason)
	case view.RunQueued, view.RunDeferred:
		return whole, r.stop(actor, run, reason)
	case view.RunEnded:
		return whole, actor.NotRunningError(r.Context(), whole)
	}
	short := humanize.ShortRun(whole)
	return whole, view.Fail(view.Conflict, "POST "+prefix+"/runs/"+short+"/stop stops it",
		"run %s of %s does not wait: it is %s", short, run.Task, run.State)
}

// skip ends a run that has not begun.
func (r *Visit) skip(actor control.Actor, whole, reason string) error {
	waits, err := view.OneWaiting(actor.Source, whole)
	if err != nil {
		return err
	}
	return r.change("cancel", whole, reason, func() error {
		cancelled, err := actor.Cancel(waits, reason)
		if err == nil && !cancelled {
			err = control.NotCancelledError(waits)
		}
		return err
	})
}

// stopPatience is how long the answer to a stop waits for the run to end.
const stopPatience = 5 * time.Second

// stop stops a run that has begun.
func (r *Visit) stop(actor control.Actor, run view.Run, reason string) error {
	done, err := r.beginStop(actor, run, reason)
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stopPatience):
	case <-r.Context().Done():
	}
	return nil
}

// beginStop begins to stop a run. The stop goes on after the answer, and even if nobody waits for
// the answer. done yields why the run was not stopped, or nil.
func (r *Visit) beginStop(actor control.Actor, run view.Run, reason string) (done <-chan error, err error) {
	select {
	case r.server.stopping <- struct{}{}:
	default:
		return nil, unavailable("try again", "%d runs are being stopped already", maxStopping)
	}
	giveBack := func() { <-r.server.stopping }
	end := make(chan error, 1)
	err = r.change("stop", run.Record.Run, reason, func() error {
		go func() {
			defer giveBack()
			caller := r.server.Schedules.Runs(r.Schedule)
			stopping, err := caller.Stop(run.Record.Run, control.Because(actor.By, reason))
			end <- control.NotStoppedError(run.Row, stopping, err)
		}()
		return nil
	})
	if err != nil {
		giveBack()
	}
	return end, err
}

// Pauses returns the pauses in effect, and then those that are planned.
func (r *Visit) Pauses() (all []Pausing) {
	paused, planned := view.PausesNow(r.Schedule, r.View.Pauses(), view.InSchedule(r.Schedule), r.server.Now())
	for _, p := range append(paused, planned...) {
		id := PauseID(cmp.Or(p.Task, pause.Everything))
		switch {
		case p.Raw.InFile:
			id = ""
		case p.Raw.Planned:
			id = plannedID(id, p.Raw)
		}
		all = append(all, Pausing{id, p})
	}
	return all
}

// Pause pauses tasks, and returns their pauses.
func (r *Visit) Pause(body PauseRequest) (paused []Pausing, err error) {
	actor := r.actor()
	p, err := r.pausing(actor, body)
	if err != nil {
		return nil, err
	}
	if (body.Tasks != nil || body.Tags != nil) && len(body.Tasks)+len(body.Tags) == 0 {
		return nil, badRequest("leave out tasks and tags to pause everything", "the list of what to pause is empty")
	}
	names, err := actor.ChooseTasks(nil, body.Tasks, body.Tags)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	var targets []string
	for _, name := range names {
		targets = append(targets, PauseID(name))
	}
	if err := checkReason(body.Reason); err != nil {
		return nil, err
	}
	err = r.audit("pause", strings.Join(targets, ", "), p.LogReason(r.Schedule.Location), func() error {
		made, _, err := actor.Pause(names, p)
		for _, id := range targets {
			if made.Planned {
				id = plannedID(id, made)
			}
			ids[id] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(r.Pauses(), func(p Pausing) bool { return !ids[p.ID] }), nil
}

// pausing returns the pause that the request asks for.
func (r *Visit) pausing(actor control.Actor, body PauseRequest) (asked control.PauseWish, err error) {
	asked = control.PauseWish{Stop: body.Stop, Reason: body.Reason}
	from, planned, err := r.readFuture(nil, "from", body.From, "from")
	if err != nil {
		return asked, err
	}
	until, bounded, err := r.readFuture(body.For, "for", body.Until, "until")
	if err != nil {
		return asked, err
	}
	if planned {
		asked.From = from.UTC().Truncate(time.Second)
		if body.For != nil {
			d, _ := readDuration("for", *body.For) // readFuture has seen it
			until = asked.From.Add(d)
		}
	}
	if bounded {
		asked.Until = until.UTC().Truncate(time.Second)
	}
	if planned {
		err = actor.CheckPlanned(asked.From, asked.Until, "")
	}
	return asked, err
}

// Resume ends a pause, or takes back a planned one.
func (r *Visit) Resume(id, reason string) error {
	short, begins, planned := strings.Cut(id, "@")
	name := pausedBy(short)
	actor := r.actor()
	read, err := actor.Controls.Read()
	if err != nil {
		return err
	}
	isMeant := actor.InEffect
	if planned {
		isMeant = func(p pause.Pause) bool {
			return (actor.InEffect(p) || actor.ToCome(p)) && p.Planned && plannedID("", p) == "@"+begins
		}
	}
	i := slices.IndexFunc(read.Pauses[name], isMeant)
	if i < 0 {
		return view.Fail(view.NotFound, "GET "+prefix+"/pauses lists what is paused", "%s is not paused", id)
	}
	if err := checkReason(reason); err != nil {
		return err
	}
	if actor.ToCome(read.Pauses[name][i]) {
		reason = control.Because(control.PlannedEnded, reason)
	}
	return r.audit("resume", id, reason, func() error {
		_, err := actor.Resume([]string{name}, isMeant)
		return err
	})
}
