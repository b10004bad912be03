package cluster

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule/history"
	"sched/schedule/outcome"
)

const (
	// maxRuns is how many ended runs are kept, of all servers together.
	maxRuns = 10_000

	// lastFor is how long the last run of a task is kept.
	lastFor = 400 * 24 * time.Hour

	// pageSize is how many runs are read with one call.
	pageSize = 500

	// mostLatest is how many runs Latest and List look at.
	mostLatest = 2 * pageSize
)

// Publish publishes ended runs of one server; doing so again is harmless. Last has the last run of
// each task of these runs. Snapshots, which may hold secrets, and outputs stay on the server.
func Publish(ctx context.Context, store mutex.Store, records []outcome.Record, last map[string]outcome.Record) error {
	if len(records) == 0 {
		return nil
	}
	var values [][]byte
	lasts := map[string][]byte{}
	for _, record := range records {
		value := publishedValue(record)
		values = append(values, value)
		if last[record.Task].Run == record.Run {
			lasts[record.Task+"@"+record.Server] = value
		}
	}
	if err := store.Append(ctx, logRuns, maxRuns, values...); err != nil {
		return err
	}
	return putAll(ctx, store, tableLast, lasts, lastFor)
}

// publishedValue is what the others read of a run. Notes that are too long for it are left out.
func publishedValue(r outcome.Record) []byte {
	r.Snapshot, r.Output, r.Locks, r.Seat, r.Wait = nil, "", "", outcome.Seat{}, outcome.Wait{}
	value := encode(published{r, time.Now().UTC()})
	if len(value) > mutex.LongestValue {
		r.Notes, r.Triggered = nil, nil
		value = encode(published{r, time.Now().UTC()})
	}
	return value
}

// putAll puts values into a table, some at the same time: each takes a round trip.
func putAll(ctx context.Context, store mutex.Board, table string, values map[string][]byte, keep time.Duration) error {
	keys := slices.Collect(maps.Keys(values))
	errs := make([]error, len(keys))
	mutex.Each(len(keys), func(i int) { errs[i] = store.Put(ctx, table, keys[i], values[keys[i]], keep) })
	return cmp.Or(errs...)
}

// Recent returns the ended runs of other servers than self that match q, in the order of
// history.DB.Find. Skipped and missed slots are in the histories of their servers alone.
func Recent(ctx context.Context, store mutex.Store, self string, q history.Query) ([]outcome.Record, error) {
	return find(ctx, store, self, q, math.MaxInt)
}

// Latest is Recent for callers that must not wait: it looks at the last thousand published runs.
func Latest(ctx context.Context, store mutex.Store, self string, q history.Query) ([]outcome.Record, error) {
	return find(ctx, store, self, q, mostLatest)
}

// find reads the log from its end, until nothing more that q says can come, or so many runs were read.
func find(ctx context.Context, store mutex.Store, self string, q history.Query, most int) ([]outcome.Record, error) {
	runs := map[string]outcome.Record{}
	for read := 0; read < min(most, maxRuns); read += pageSize {
		values, err := store.Tail(ctx, logRuns, read, pageSize)
		if err != nil {
			return nil, err
		}
		var newest time.Time // the runs below this page were published before it
		for _, value := range values {
			p, ok := foreign(value, self)
			if ok && p.Published.After(newest) {
				newest = p.Published
			}
			if ok && q.Matches(p.Record) {
				runs[p.Run] = p.Record
			}
		}
		if len(values) < pageSize || !newest.IsZero() && enough(q, runs, newest) {
			break
		}
	}
	return Newest(runs, q.Limit), nil
}

// enough reports whether all runs published before that time are too old for q. No run is published
// before its slot; clocks differ by less than an hour.
func enough(q history.Query, runs map[string]outcome.Record, before time.Time) bool {
	before = before.Add(time.Hour)
	newer := 0
	for _, record := range runs {
		if record.Slot.After(before) {
			newer++
		}
	}
	return q.Limit > 0 && newer >= q.Limit || before.Before(q.Since)
}

// Newest returns at most limit of the runs, 0 for all, in the order of history.DB.Find.
func Newest(runs map[string]outcome.Record, limit int) []outcome.Record {
	all := slices.SortedFunc(maps.Values(runs), outcome.NewestFirst)
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return all
}

// endedLately returns the ids of runs that ended on any server.
func endedLately(ctx context.Context, store mutex.Store) (map[string]bool, error) {
	ended := map[string]bool{}
	values, err := store.Tail(ctx, logRuns, 0, mostLatest)
	for _, value := range values {
		if p, ok := foreign(value, ""); ok {
			ended[p.Run] = true
		}
	}
	return ended, err
}

// Last returns the ended run that began last on another server than self, by task, if any.
func Last(ctx context.Context, store mutex.Store, self string, tasks []string) (map[string]outcome.Record, error) {
	last, wanted := map[string]outcome.Record{}, map[string]bool{}
	for _, task := range tasks {
		wanted[task] = true
	}
	if len(wanted) == 0 {
		return last, nil
	}
	values, err := store.All(ctx, tableLast)
	byTask := map[string][][]byte{}
	for key, value := range values {
		if task, server, _ := strings.Cut(key, "@"); wanted[task] && server != self {
			byTask[task] = append(byTask[task], value)
		}
	}
	for task, values := range byTask {
		// Each begins with the id of its run, and ids sort by the time at which the runs began.
		slices.SortFunc(values, func(a, b []byte) int { return bytes.Compare(b, a) })
		for _, value := range values {
			if p, ok := foreign(value, self); ok && p.Task == task {
				last[task] = p.Record
				break
			}
		}
	}
	return last, err
}
