package control

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A Retry is the request to run something again.
type Retry struct {
	state.Row
	Of      state.Row
	Changed []string // the keys of the task that were changed after that run began
	Waits   bool     // a retry of it waits already, so nobody need leave this one
}

// Retry returns the request for one more run of the task of a run that is over. The new run starts
// at that time, as the task is then defined, with the params of that run, and these over them.
// Asked are the requests that are about to be left beside it. Leave then leaves the request.
func (a Actor) Retry(ctx context.Context, name string, at time.Time, params map[string]string, reason string, asked []state.Row) (Retry, error) {
	was, err := a.endedRun(ctx, name)
	if err != nil {
		return Retry{}, err
	}
	t, err := view.FindTask(a.Schedule, was.Task)
	if err != nil {
		return Retry{}, view.Fail(view.Conflict, "", "run %s was of %s, which is no longer in the schedule", humanize.ShortRun(was.ID), was.Task)
	}
	if err := Runnable(a.Schedule, t); err != nil {
		return Retry{}, err
	}
	if params, err = valuesOf(t, was, params); err != nil {
		return Retry{}, err
	}
	origin := "retry of " + humanize.ShortRun(was.ID)
	row := request(t, at, params, Because(schedule.WithValues(origin+" by "+a.By, params), reason))
	row.Cause = was.Cause
	all, err := a.Records(ctx)
	if err != nil {
		a.Problem("%v", err)
	}
	defer all.Close()
	same := func(r state.Row) bool { return strings.HasPrefix(r.Origin, origin) }
	return Retry{row, was, changes(was.Snapshot, t), slices.ContainsFunc(append(all.Pending(), asked...), same)}, nil
}

// valuesOf returns the values of a retry: those that somebody sets now, and for the other params
// the values of the run.
func valuesOf(t *schedule.Task, was state.Row, set map[string]string) (map[string]string, error) {
	values := maps.Clone(was.Params)
	if values == nil {
		values = map[string]string{}
	}
	maps.Copy(values, set)
	err := CheckValues(t, values)
	if err != nil && CheckValues(t, set) == nil {
		err = view.Fail(view.Conflict, "`sched trigger "+t.Name+"` runs it without the values of that run", "the values of run %s do not fit any more: %w",
			humanize.ShortRun(was.ID), err)
	}
	return values, err
}

// endedRun returns the row of the run with that id, or an error that says why there is no run to
// retry.
func (a Actor) endedRun(ctx context.Context, name string) (state.Row, error) {
	live, lost, rows, err := a.History(ctx, state.Query{Task: name, Limit: 1})
	if err != nil {
		return state.Row{}, err
	}
	for _, row := range append(live, lost...) {
		if id, err := state.OneRun([]string{row.ID}, name); err != nil || id == "" || row.Pending() {
			continue
		}
		switch short := humanize.ShortRun(row.ID); {
		case row.Deferred():
			return state.Row{}, view.Fail(view.Conflict, "end it first with `sched stop "+short+"`",
				"run %s of %s waits for its attempt %d", short, row.Task, row.Attempt.Number+1)
		case row.Queued():
			return state.Row{}, view.Fail(view.Conflict, "end it first with `sched stop "+short+"`", "run %s of %s waits for its turn", short, row.Task)
		case slices.ContainsFunc(lost, func(l state.Row) bool { return l.ID == row.ID }):
			return state.Row{}, view.Fail(view.Conflict, "retry it then", "run %s of %s has vanished; the next tick will finish it", short, row.Task)
		default:
			return state.Row{}, view.Fail(view.Conflict, "stop it first with `sched stop "+short+"`", "run %s of %s is still running", short, row.Task)
		}
	}
	if len(rows) > 0 {
		return state.Row{}, view.Fail(view.NotFound,
			fmt.Sprintf("its newest run is %s; `sched trigger %s` asks for a new one", humanize.ShortRun(rows[0].ID), name),
			"no run of %s failed: name one of its runs", name)
	}
	row, err := view.FindRun(ctx, a.Source, name)
	if err != nil {
		err = view.ElseThere(ctx, a.Source, "retry", name, err)
	}
	return row, err
}

// changes returns the keys of the task that differ from the snapshot. The snapshot is the task's
// definition when the run began.
func changes(snapshot json.RawMessage, now *schedule.Task) (keys []string) {
	var then schedule.Task // read and written again, so that keys which are new in this sched count for nothing
	if len(snapshot) == 0 || json.Unmarshal(snapshot, &then) != nil {
		return nil
	}
	was, is := fields(then), fields(*now)
	for _, key := range slices.Sorted(maps.Keys(was)) {
		if string(was[key]) != string(is[key]) {
			keys = append(keys, key)
		}
		delete(is, key)
	}
	return slices.Sorted(slices.Values(slices.AppendSeq(keys, maps.Keys(is))))
}

func fields(t schedule.Task) (fields map[string]json.RawMessage) {
	text, err := json.Marshal(t)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return nil
	}
	return fields
}
