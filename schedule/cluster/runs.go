package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/judge"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

const (
	MaxRuns  = 10_000 // how many ended runs of all servers together are kept
	PageSize = 1000   // how many runs are read with one call

	lastFor = 400 * 24 * time.Hour // how long the last run of a task is kept
)

const (
	publishBatch  = 500             // how many runs are published at a time
	maxPublishing = 2 * time.Second // runs that are left then are for the next tick
)

// PublishAll copies runs until none is left, the store fails, or maxPublishing has passed. A run
// is copied twice if a kill comes before the copy is noted; the other servers show it once. The
// lock of the state folder dir keeps other processes from doing it meanwhile: otherwise the last
// run of a task could be replaced by the one before. If another has it, the next tick copies them.
func PublishAll(ctx context.Context, dir string, db *state.DB, store mutex.Store) error {
	if folder, err := os.Open(dir); err == nil {
		defer folder.Close()
		if errors.Is(statedir.LockWithin(folder, maxPublishing), statedir.ErrLocked) {
			return nil
		}
	}
	for begun := time.Now(); time.Since(begun) < maxPublishing; {
		rows, err := db.Runs().Unpublished(ctx, publishBatch)
		if err != nil {
			return err
		}
		var tasks, ids []string
		for _, row := range rows {
			tasks, ids = append(tasks, row.Task), append(ids, row.ID)
		}
		last, err := db.Runs().Last(ctx, tasks)
		if err != nil {
			return err
		}
		if err := db.Runs().AddValues(ctx, rows); err != nil {
			return err
		}
		if err := Publish(ctx, store, rows, last); err != nil {
			return err
		}
		if err := db.Runs().Published(ctx, ids); err != nil || len(rows) < publishBatch {
			return err
		}
	}
	return nil
}

// Publish publishes ended runs of one server. Publishing them again is harmless. In last is the
// last run of each task in records. Snapshots, which may hold secrets, and outputs stay on the
// server.
func Publish(ctx context.Context, store mutex.Store, records []state.Row, last map[string]state.Row) error {
	if len(records) == 0 {
		return nil
	}
	var values, lastValues [][]byte
	var keys []string // of lastValues
	for _, r := range records {
		value := encode(shared(r))
		if len(value) > mutex.MaxValueSize {
			r.Notes, r.Triggered, r.Params, r.Values = nil, nil, nil, nil
			value = encode(shared(r))
		}
		values = append(values, value)
		if last[r.Task].ID == r.ID {
			keys, lastValues = append(keys, r.Task+"@"+r.Server), append(lastValues, value)
		}
	}
	if err := store.Append(ctx, logRuns, MaxRuns, values...); err != nil {
		return err
	}
	errs := make([]error, len(keys))
	mutex.Concurrently(len(keys), func(i int) {
		errs[i] = store.Put(ctx, tableLast, keys[i], lastValues[i], lastFor)
	})
	return cmp.Or(errs...)
}

// PublishSkip publishes a slot that this server has claimed and skipped: the other servers leave
// the slot to it, and show what became of it.
func PublishSkip(ctx context.Context, store mutex.Store, skipped state.Row) error {
	return store.Append(ctx, logSkips, PageSize, encode(shared(skipped)))
}

// Skips returns the slots that servers other than thisServer claimed and skipped and that match q,
// among the last thousand of all servers.
func Skips(ctx context.Context, store mutex.Store, thisServer string, q past.Query) (skipped []state.Row, err error) {
	values, err := store.Tail(ctx, logSkips, 0, PageSize)
	for _, value := range values {
		r, ok := foreign(value, thisServer, []outcome.Outcome{outcome.Skipped})
		if ok && q.Matches(r) {
			skipped = append(skipped, r)
		}
	}
	return skipped, err
}

// A sharedRun is the part of a run that servers share: no snapshot, no lock and no path, which
// could do harm on another server. Run comes first: see Last.
type sharedRun struct {
	Run        string              `json:"run"`
	Task       string              `json:"task"`
	Mutex      string              `json:"mutex"`
	Slot       time.Time           `json:"slot"`
	Origin     string              `json:"origin,omitempty"`
	Params     map[string]string   `json:"params,omitempty"`
	Cause      *outcome.Cause      `json:"cause,omitempty"`
	Background bool                `json:"background,omitempty"`
	Server     string              `json:"server"`
	Started    time.Time           `json:"started,omitzero"`
	Ended      time.Time           `json:"ended,omitzero"`
	Outcome    outcome.Outcome     `json:"outcome"`
	Kind       outcome.Kind        `json:"kind,omitempty"`
	Warning    bool                `json:"warning,omitempty"`
	Reason     string              `json:"reason,omitempty"`
	ExitCode   *int                `json:"exit_code,omitempty"`
	Attempts   int                 `json:"attempts,omitempty"`
	Waited     time.Duration       `json:"waited,omitempty"`
	UserCPU    time.Duration       `json:"user_cpu,omitempty"`
	SystemCPU  time.Duration       `json:"system_cpu,omitempty"`
	PeakMemory int64               `json:"peak_memory,omitempty"`
	Notes      []string            `json:"notes,omitempty"`
	Triggered  []outcome.Triggered `json:"triggered,omitempty"`
	Values     []sharedValue       `json:"values,omitempty"`
}

// A sharedValue is a number that a run reported.
type sharedValue struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// shared returns the part of a row that servers share.
func shared(r state.Row) sharedRun {
	var values []sharedValue
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		values = append(values, sharedValue{name, r.Values[name]})
	}
	return sharedRun{
		Run:        r.ID,
		Task:       r.Task,
		Mutex:      r.Mutex,
		Slot:       r.Slot,
		Origin:     r.Origin,
		Params:     r.Params,
		Cause:      r.Cause,
		Background: r.Background,
		Server:     r.Server,
		Started:    r.Started,
		Ended:      r.Ended,
		Outcome:    r.Outcome,
		Kind:       r.Kind,
		Warning:    r.Warned(),
		Reason:     r.Reason,
		ExitCode:   r.ExitCode,
		Attempts:   r.Attempt.Number,
		Waited:     r.Wait.Waited,
		UserCPU:    r.UserCPU,
		SystemCPU:  r.SystemCPU,
		PeakMemory: r.PeakMemory,
		Notes:      r.Notes,
		Triggered:  r.Triggered,
		Values:     values,
	}
}

// row returns the row of the run, without values that cannot be right.
func (s sharedRun) row() state.Row {
	if s.Cause != nil && !outcome.IsID(s.Cause.Run) {
		s.Cause = nil
	}
	if s.Warning && s.Outcome == outcome.Succeeded { // an older sched sends no kind
		s.Kind = outcome.Warning
	} else if s.Kind == outcome.Warning {
		s.Kind = ""
	}
	values := map[string]float64{}
	for _, v := range s.Values[:min(len(s.Values), judge.MaxValues+1)] { // and judge.Duration
		if judge.IsName(v.Name) {
			values[v.Name] = v.Value
		}
	}
	isBroken := func(t outcome.Triggered) bool { return !outcome.IsID(t.Run) }
	return state.Row{
		ID:         s.Run,
		Task:       s.Task,
		Mutex:      s.Mutex,
		Slot:       s.Slot,
		Scheduled:  s.Origin == "",
		Origin:     s.Origin,
		Params:     s.Params,
		Cause:      s.Cause,
		Background: s.Background,
		Server:     s.Server,
		Phase:      state.Ended,
		Started:    s.Started,
		Notes:      s.Notes,
		Triggered:  slices.DeleteFunc(s.Triggered, isBroken),
		Attempt:    state.Attempt{Number: max(0, s.Attempts)},
		Wait:       state.Wait{Waited: max(0, s.Waited)},
		Result: state.Result{
			Outcome:    s.Outcome,
			Kind:       s.Kind,
			Reason:     s.Reason,
			Ended:      s.Ended,
			ExitCode:   s.ExitCode,
			UserCPU:    max(0, s.UserCPU),
			SystemCPU:  max(0, s.SystemCPU),
			PeakMemory: max(0, s.PeakMemory),
			Values:     values,
		},
	}
}

// foreign reads a run of a server other than thisServer, with one of the outcomes.
func foreign(value []byte, thisServer string, outcomes []outcome.Outcome) (state.Row, bool) {
	s, ok := mutex.Decode[sharedRun](value)
	isRun := outcome.IsID(s.Run) && s.Task != "" && !s.Slot.IsZero() && slices.Contains(outcomes, s.Outcome)
	isForeign := s.Server != "" && s.Server != thisServer
	return s.row(), ok && isRun && isForeign
}

// Recent returns the ended runs of servers other than thisServer that match q, in the order of
// past.Past.Find. It searches the runs that were published last, at most limit: MaxRuns, or
// PageSize for callers that must not wait. Skipped and missed slots are only in the histories of
// their servers.
//
// It cannot stop sooner, because the log is not in the order of slots: a server publishes late what
// it could not publish in an outage.
func Recent(ctx context.Context, store mutex.Store, thisServer string, q past.Query, limit int) ([]state.Row, error) {
	runs := map[string]state.Row{}
	for read := 0; read < limit; read += PageSize {
		values, err := store.Tail(ctx, logRuns, read, PageSize)
		if err != nil {
			return nil, err
		}
		for _, value := range values {
			if r, ok := foreign(value, thisServer, outcome.Ran); ok && q.Matches(r) {
				runs[r.ID] = r
			}
		}
		if len(values) < PageSize {
			break
		}
	}
	return Newest(runs, q.Limit), nil
}

// Newest returns at most limit of the runs (0: all), in the order of past.Past.Find.
func Newest(runs map[string]state.Row, limit int) []state.Row {
	sorted := slices.SortedFunc(maps.Values(runs), past.NewestFirst)
	if limit > 0 {
		sorted = sorted[:min(limit, len(sorted))]
	}
	return sorted
}

// Last returns, by task, the ended run that began last on a server other than thisServer.
func Last(ctx context.Context, store mutex.Store, thisServer string, tasks []string) (map[string]state.Row, error) {
	values, err := store.All(ctx, tableLast)
	last, newest := map[string]state.Row{}, map[string][]byte{}
	for key, value := range values {
		task, server, _ := strings.Cut(key, "@")
		if !slices.Contains(tasks, task) || server == thisServer || bytes.Compare(value, newest[task]) <= 0 {
			continue // each begins with the id of its run, and ids sort by the time at which the runs began
		}
		if r, ok := foreign(value, thisServer, outcome.Ran); ok && r.Task == task {
			last[task], newest[task] = r, value
		}
	}
	return last, err
}

// Taken returns which runs of servers other than thisServer have slots: the slots that are asked
// for, by their claims, and others of their tasks since the first of them, as far as the runs for
// them have ended (see Recent). The times of the slots are in UTC. With an error it returns what it
// knows.
func Taken(
	ctx context.Context, store mutex.Store, thisServer string, asked []schedule.Slot,
) (map[schedule.Slot]mutex.Holder, error) {
	var keys []string
	var first time.Time
	tasks := map[string]*schedule.Task{}
	for _, slot := range asked {
		keys = append(keys, slot.ClaimKey())
		tasks[slot.Task.Name] = slot.Task
		if first.IsZero() || slot.At.Before(first) {
			first = slot.At
		}
	}
	claims, err := store.Claims(ctx, keys...)
	taken := map[schedule.Slot]mutex.Holder{}
	for _, slot := range asked {
		if holder := claims[slot.ClaimKey()]; holder.Host != "" && holder.Host != thisServer {
			taken[slot] = holder
		}
	}
	if err != nil {
		return taken, err
	}
	ended, err := Recent(ctx, store, thisServer, past.Query{Since: first}, MaxRuns)
	for _, r := range ended {
		slot := schedule.Slot{Task: tasks[r.Task], At: r.Slot.UTC()}
		if _, isClaimed := taken[slot]; !isClaimed && slot.Task != nil && r.Origin == "" {
			taken[slot] = mutex.Holder{Run: r.ID, Host: r.Server, Task: r.Task, Since: r.Started}
		}
	}
	return taken, err
}
