package control

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

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

// CheckValues returns an error for values that a run of the task cannot have. A misspelt name comes
// before the value that is missing because of it.
func CheckValues(t *schedule.Task, params map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if near := nearestParam(t, name); t.Param(name) == nil && near != "" {
			return view.Fail(view.Invalid, yamldoc.DidYouMean(near), "%s has no param %s", t.Name, yamldoc.Quote(name))
		}
	}
	if hint, problem := t.CheckValues(params); problem != nil {
		return view.Fail(view.Invalid, hint, "%w", problem)
	}
	return nil
}

// nearestParam returns the name of the param whose name is most like the name, in any case of
// letters; "" if no param has a similar name.
func nearestParam(t *schedule.Task, name string) string {
	byName := map[string]string{} // in lower case, as Nearest compares
	for _, p := range t.Params {
		byName[strings.ToLower(p.Name)] = p.Name
	}
	return byName[humanize.Nearest(name, slices.Sorted(maps.Keys(byName)))]
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

// NotCancelledError is the error for a run that cannot be cancelled, because a tick has begun it
// meanwhile.
func NotCancelledError(r state.Row) error {
	short := humanize.ShortRun(r.ID)
	hint := "`sched stop " + short + "` stops it"
	return view.Fail(view.Conflict, hint, "a tick has begun run %s of %s just now", short, r.Task)
}
