package cluster

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

const (
	MaxRuns  = 10_000 // ended runs that are kept, of all servers together
	PageSize = 1000   // runs that are read with one call; List reads no more

	lastFor = 400 * 24 * time.Hour // the last run of a task is kept
)

// Publish publishes ended runs of one server. Publishing them again is harmless. Last has the last
// run of each task in records. Snapshots, which may hold secrets, and outputs stay on the server.
func Publish(ctx context.Context, store mutex.Store, records []state.Row, last map[string]state.Row) error {
	if len(records) == 0 {
		return nil
	}
	var values, lasts [][]byte
	var keys []string // of lasts
	for _, r := range records {
		shared := shareable(r)
		value := encode(shared)
		if len(value) > mutex.LongestValue {
			shared.Notes, shared.Triggered = nil, nil
			value = encode(shared)
		}
		values = append(values, value)
		if last[r.Task].ID == r.ID {
			keys, lasts = append(keys, r.Task+"@"+r.Server), append(lasts, value)
		}
	}
	if err := store.Append(ctx, logRuns, MaxRuns, values...); err != nil {
		return err
	}
	errs := make([]error, len(keys))
	mutex.Each(len(keys), func(i int) { errs[i] = store.Put(ctx, tableLast, keys[i], lasts[i], lastFor) })
	return cmp.Or(errs...)
}

// shareable returns the part of a run that servers share: no snapshots, locks or paths, which could
// do harm on another server.
func shareable(r state.Row) state.Row {
	isNone := func(t outcome.Triggered) bool { return !outcome.IsID(t.Run) }
	shared := state.Row{
		ID: r.ID, Task: r.Task, Mutex: r.Mutex, Slot: r.Slot, Origin: r.Origin, Background: r.Background,
		Server: r.Server, Started: r.Started, Result: state.Result{Ended: r.Ended, Outcome: r.Outcome, Reason: r.Reason, ExitCode: r.ExitCode, UserCPU: max(0, r.UserCPU), SystemCPU: max(0, r.SystemCPU), PeakMemory: max(0, r.PeakMemory)},
		Notes: r.Notes, Triggered: slices.DeleteFunc(slices.Clone(r.Triggered), isNone), Attempt: state.Attempt{Number: max(0, r.Attempt.Number)}, Wait: state.Wait{Waited: max(0, r.Wait.Waited)},
	}
	if r.Cause != nil && outcome.IsID(r.Cause.Run) {
		shared.Cause = r.Cause
	}
	return shared
}

// foreign reads a record of a server other than self.
func foreign(value []byte, self string) (r state.Row, ok bool) {
	r, ok = mutex.Decode[state.Row](value)
	ok = ok && outcome.IsID(r.ID) && r.Task != "" && !r.Slot.IsZero() && slices.Contains(outcome.Ran, r.Outcome) &&
		r.Server != "" && r.Server != self
	return shareable(r), ok
}

// Recent returns the ended runs of servers other than self that match q, in the order of
// state.DB.Find. It searches the runs that were published last: MaxRuns, or PageSize for callers
// that must not wait. Skipped and missed slots are only in the histories of their servers.
//
// It cannot stop sooner, because the log is not in the order of slots: a server publishes late what
// it could not publish in an outage.
func Recent(ctx context.Context, store mutex.Store, self string, q state.Query, most int) ([]state.Row, error) {
	runs := map[string]state.Row{}
	for read := 0; read < most; read += PageSize {
		values, err := store.Tail(ctx, logRuns, read, PageSize)
		if err != nil {
			return nil, err
		}
		for _, value := range values {
			if r, ok := foreign(value, self); ok && q.Matches(r) {
				runs[r.ID] = r
			}
		}
		if len(values) < PageSize {
			break
		}
	}
	return Newest(runs, q.Limit), nil
}

// Newest returns at most limit of the runs (0: all), in the order of state.DB.Find.
func Newest(runs map[string]state.Row, limit int) []state.Row {
	all := slices.SortedFunc(maps.Values(runs), state.NewestFirst)
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return all
}

// Last returns, by task, the ended run that began last on a server other than self.
func Last(ctx context.Context, store mutex.Store, self string, tasks []string) (map[string]state.Row, error) {
	values, err := store.All(ctx, tableLast)
	last, newest := map[string]state.Row{}, map[string][]byte{}
	for key, value := range values {
		task, server, _ := strings.Cut(key, "@")
		if !slices.Contains(tasks, task) || server == self || bytes.Compare(value, newest[task]) <= 0 {
			continue // each begins with the id of its run, and ids sort by the time at which the runs began
		}
		if r, ok := foreign(value, self); ok && r.Task == task {
			last[task], newest[task] = r, value
		}
	}
	return last, err
}
