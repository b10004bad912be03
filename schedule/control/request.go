package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/view"
)

// Trigger returns the request for one more run of a task at a time, with these values of its
// params. Submit then stores the request. The reason may be empty.
func (a Actor) Trigger(task string, at time.Time, params map[string]string, reason string) (state.Row, error) {
	t, err := view.FindTask(a.Schedule, task)
	if err != nil {
		return state.Row{}, err
	}
	if err := cmp.Or(CheckRunnable(a.Schedule, t), CheckValues(t, params)); err != nil {
		return state.Row{}, err
	}
	return newRequest(t, at, params, Because(schedule.WithValues(triggeredBy+a.By, params), reason)), nil
}

// A Retry is the request for one more run of the task of a run that has ended.
type Retry struct {
	state.Row
	Original     state.Row // the run that has ended
	Changed      []string  // the keys of the task that were changed after that run began
	WaitsAlready bool      // a retry of that run waits already, so this request is not needed
}

// A RetryWish says which run somebody wants to run again, and how.
type RetryWish struct {
	Run    string // the id of a run that has ended, or its beginning
	At     time.Time
	Params map[string]string // they replace the params of the run
	Reason string            // may be empty
	Others []state.Row       // the requests that are submitted together with this one
}

// Retry returns the request for one more run of the task of a run that has ended. The new run
// starts as the task is defined then, for the slot of the old run, and with its params unless they
// are replaced. Submit then stores the request.
func (a Actor) Retry(ctx context.Context, wish RetryWish) (Retry, error) {
	was, err := a.endedRun(ctx, wish.Run)
	if err != nil {
		return Retry{}, err
	}
	t, err := view.FindTask(a.Schedule, was.Task)
	if err != nil {
		short := humanize.ShortRun(was.ID)
		return Retry{}, view.Fail(view.Conflict, "",
			"run %s was of %s, which is no longer in the schedule", short, was.Task)
	}
	if err := CheckRunnable(a.Schedule, t); err != nil {
		return Retry{}, err
	}
	params, err := valuesOf(t, was, wish.Params)
	if err != nil {
		return Retry{}, err
	}
	origin := "retry of " + humanize.ShortRun(was.ID)
	row := newRequest(t, wish.At, params, Because(schedule.WithValues(origin+" by "+a.By, params), wish.Reason))
	row.Cause, row.NoChain = was.Cause, was.NoChain
	row.Repeats = humanize.Later(was.CommandSlot(), was.LastSlot)
	records, err := a.Records(ctx)
	if err != nil { // then the records are empty
		a.Problem("%v", err)
	}
	defer records.Close()
	isSame := func(r state.Row) bool { return strings.HasPrefix(r.Origin, origin) }
	return Retry{
		Row:          row,
		Original:     was,
		Changed:      changedKeys(was.Snapshot, t),
		WaitsAlready: slices.ContainsFunc(append(records.Pending(), wish.Others...), isSame),
	}, nil
}

// valuesOf returns the values of a retry: the values that somebody sets now, and for the other
// params the values of the run.
func valuesOf(t *schedule.Task, was state.Row, set map[string]string) (map[string]string, error) {
	values := maps.Clone(was.Params)
	if values == nil {
		values = map[string]string{}
	}
	maps.Copy(values, set)
	err := CheckValues(t, values)
	if err != nil && CheckValues(t, set) == nil {
		hint := "`sched trigger " + t.Name + "` runs it without the values of that run"
		short := humanize.ShortRun(was.ID)
		err = view.Fail(view.Conflict, hint, "the values of run %s do not fit any more: %w", short, err)
	}
	return values, err
}

// endedRun returns the row of the run that name stands for (see state.OneRun). Its error says why
// there is no run to retry: the run has not ended, name is the name of a task, or no run fits.
func (a Actor) endedRun(ctx context.Context, name string) (state.Row, error) {
	live, lost, ofTask, err := a.History(ctx, state.Query{Task: name, Limit: 1})
	if err != nil {
		return state.Row{}, err
	}
	begun := slices.DeleteFunc(slices.Concat(live, lost), state.Row.Pending)
	row, err := view.OneRow(begun, name)
	switch {
	case err != nil:
		return state.Row{}, err
	case row.ID != "":
		return state.Row{}, notEndedError(row, lost)
	case len(ofTask) > 0:
		if _, err := view.FindTask(a.Schedule, name); err != nil {
			hint := "what is remembered of it is in `sched history " + name + "`"
			return state.Row{}, view.Fail(view.NotFound, hint, "%w any more", err.(*view.Error).Err)
		}
		newest := humanize.ShortRun(ofTask[0].ID)
		hint := fmt.Sprintf("its newest run is %s; `sched trigger %s` asks for a new one", newest, name)
		return state.Row{}, view.Fail(view.NotFound, hint, "no run of %s failed: name one of its runs", name)
	}
	row, err = view.FindRecord(ctx, a.Source, name)
	if err != nil {
		err = view.OrNotHere(ctx, a.Source, "retry", name, err)
	}
	return row, err
}

// notEndedError returns the error that says why a run, which may be one of the lost ones, cannot be
// retried yet.
func notEndedError(row state.Row, lost []state.Row) error {
	short := humanize.ShortRun(row.ID)
	isRow := func(other state.Row) bool { return other.ID == row.ID }
	var hint, problem string
	switch {
	case row.Deferred():
		hint = "end it first with `sched stop " + short + "`"
		problem = fmt.Sprintf("waits for its attempt %d", row.Attempt.Number+1)
	case row.Queued():
		hint, problem = "end it first with `sched stop "+short+"`", "waits for its turn"
	case slices.ContainsFunc(lost, isRow):
		hint, problem = "retry it then", "has vanished; the next tick will finish it"
	default:
		hint, problem = "stop it first with `sched stop "+short+"`", "is still running"
	}
	return view.Fail(view.Conflict, hint, "run %s of %s %s", short, row.Task, problem)
}

// changedKeys returns the keys of the task that differ from the snapshot, sorted. The snapshot is
// the definition of the task when the run began.
func changedKeys(snapshot json.RawMessage, now *schedule.Task) (keys []string) {
	// The snapshot is read and written again, so that a key that an older sched did not know is no
	// change.
	var then schedule.Task
	if len(snapshot) == 0 || json.Unmarshal(snapshot, &then) != nil {
		return nil
	}
	was, is := fields(then), fields(*now)
	for key := range was {
		if string(was[key]) != string(is[key]) {
			keys = append(keys, key)
		}
		delete(is, key)
	}
	keys = slices.AppendSeq(keys, maps.Keys(is)) // keys that only the task has now
	slices.Sort(keys)
	return keys
}

// fields returns the JSON of each key of a task.
func fields(t schedule.Task) (values map[string]json.RawMessage) {
	text, err := json.Marshal(t)
	if err != nil || json.Unmarshal(text, &values) != nil {
		return nil
	}
	return values
}

// CheckValues returns an error for values that a run of the task cannot have.
func CheckValues(t *schedule.Task, params map[string]string) error {
	if hint, problem := t.CheckValues(params); problem != nil {
		return view.Fail(view.Invalid, hint, "%w", problem)
	}
	return nil
}

// RequestWaits reports whether a run of the task waits that this actor has asked for without a
// reason and without params, as a hook does.
func (a Actor) RequestWaits(ctx context.Context, task string) (bool, error) {
	records, err := a.Records(ctx)
	if err != nil {
		return false, err
	}
	defer records.Close()
	return slices.ContainsFunc(records.Live, func(r state.Row) bool {
		return r.Task == task && r.Waits() && r.Origin == triggeredBy+a.By
	}), nil
}

// triggeredBy begins the origin of a run that somebody has triggered.
const triggeredBy = "trigger by "

// newRequest returns a run of the task that waits until a time.
func newRequest(t *schedule.Task, at time.Time, params map[string]string, origin string) state.Row {
	return state.Row{
		ID:     outcome.NewIDAt(at),
		Task:   t.Name,
		Mutex:  t.Mutex,
		Slot:   at,
		Origin: origin,
		Params: params,
		Wait:   state.Wait{For: state.ForTime, NotBefore: at},
	}
}

// AtOnce returns the request as one that starts as soon as it is submitted, if this process can
// start runs as ticks do.
func (a Actor) AtOnce(r state.Row) state.Row {
	if a.Environ != nil {
		r.Wait.NotBefore = time.Time{}
	}
	return r
}

// Submit stores requests: all, or after an error none. Runs that start at once (AtOnce) start then.
// TickOf has the ticks that answer the others.
func (a Actor) Submit(requests ...state.Row) error {
	if len(requests) == 0 {
		return nil
	}
	db, err := state.Open(a.Schedule.StateDir, state.Patience)
	if err == nil {
		_, err = db.Runs().Request(context.Background(), requests...)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		var tasks []string
		for _, r := range requests {
			tasks = append(tasks, r.Task)
		}
		hint := "`sched test " + tasks[0] + "` runs it now"
		return view.Fail(view.Conflict, hint, "%s cannot be asked for: %w", strings.Join(tasks, ", "), err)
	}
	startsAtOnce := func(r state.Row) bool { return r.Wait.NotBefore.IsZero() }
	if slices.ContainsFunc(requests, startsAtOnce) { // after an error the next tick starts the run
		_ = run.StartTriggered(a.Schedule.StateDir, a.Schedule.File, a.Environ)
	}
	return nil
}

// TickOf returns the minute of the tick that will answer a request that is submitted now.
func (a Actor) TickOf(r state.Row) time.Time {
	return view.TickAt(humanize.Later(r.Slot, a.Now().Add(1))) // the tick of this minute has been
}

// Cancel takes back a run that waits and has not begun, and records it as skipped for the reason,
// which may be empty. It reports false when the run does not wait any more.
func (a Actor) Cancel(r state.Row, reason string) (done bool, err error) {
	db, err := state.Open(a.Schedule.StateDir, state.Patience)
	if err != nil {
		return false, err
	}
	result := state.Result{Outcome: outcome.Skipped, Reason: Because("cancelled by "+a.By, reason), Ended: a.Now()}
	done, err = db.Runs().Settle(context.Background(), r.ID, result)
	return done, errors.Join(err, db.Close())
}

// NotCancelledError is the error for a run that cannot be cancelled, because a tick has begun it
// meanwhile.
func NotCancelledError(r state.Row) error {
	short := humanize.ShortRun(r.ID)
	hint := "`sched stop " + short + "` stops it"
	return view.Fail(view.Conflict, hint, "a tick has begun run %s of %s just now", short, r.Task)
}
