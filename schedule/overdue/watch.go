// Package overdue finds tasks that are overdue: a run that takes longer than `expect: {within: …}`,
// or no success for longer than `expect: {every: …}`. Ticks look for them, because there is no
// daemon. Ticks keep what they need in one value of the database (Watch).
//
// Only elapsed time counts, not the time that the clock shows: a clock that was set makes nothing
// overdue. On a system that does not say how long ago it booted, such as macOS, a clock that is set
// forward does make tasks overdue.
package overdue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// A Watch looks, in one tick, for what is overdue. Safe for concurrent use.
type Watch struct {
	DB     *state.DB
	Tasks  []*schedule.Task // the tasks with `expect`
	Server string
	Now    func() time.Time
	// Elsewhere returns when the newest success, after since, of a one_server task ended on another
	// server; zero if there is no such success. Nil on a machine that stands alone.
	Elsewhere func(task *schedule.Task, since time.Time) (time.Time, error)
}

// Look finds what is overdue, given the runs that live. It returns the incidents that began, and
// the incidents whose on_overdue hooks have not fired yet: the new incidents, and the incidents
// that killed ticks left.
func (w *Watch) Look(live []state.Row) (began, unreported []Incident, err error) {
	totals, err := past.Of(w.DB).Totals(context.Background())
	if err != nil {
		return nil, nil, err
	}
	elsewhere, unknown := w.askElsewhere()
	s := sight{tasks: w.Tasks, server: w.Server, live: live, totals: totals, elsewhere: elsewhere, unknown: unknown}
	err = w.change(func(m *memory) {
		s.now = w.readClock()
		began, unreported = m.look(s)
	})
	return began, unreported, errors.Join(err, errors.Join(slices.Collect(maps.Values(unknown))...))
}

// readClock reads the clocks of this machine.
func (w *Watch) readClock() reading {
	now := reading{time: w.Now(), boot: clock.BootID()}
	var ok bool
	if now.sinceBoot, ok = clock.SinceBoot(); !ok {
		now.boot = ""
	}
	return now
}

// askElsewhere asks the other servers for successes that this one does not know, for the tasks that
// are overdue without a success. If the answer is unknown, no incident of the task begins.
func (w *Watch) askElsewhere() (newest map[string]time.Time, unknown map[string]error) {
	newest, unknown = map[string]time.Time{}, map[string]error{}
	if w.Elsewhere == nil {
		return newest, unknown
	}
	m, now := &memory{}, w.Now()
	if _, err := w.DB.Values().Get(context.Background(), keyExpect, m); err != nil {
		return newest, unknown
	}
	for _, t := range w.Tasks {
		e := m.Tasks[t.Name]
		if e == nil || !t.OneServer || t.Expect.Every == 0 || !m.isOverdue(t, e, now) {
			continue
		}
		at, err := w.Elsewhere(t, e.Since)
		if err != nil {
			unknown[t.Name] = err
		} else if !at.IsZero() {
			newest[t.Name] = at
		}
	}
	return newest, unknown
}

// Report fires the on_overdue hooks of an incident, and returns notes about hooks that failed. Each
// hook is started once, whatever is killed; notifications are put into the outbox once. If a
// one_server task had no success, one server reports that. If it is not known for now which server,
// a later tick asks again.
func (w *Watch) Report(c run.Caller, t *schedule.Task, i Incident) (notes []string, err error) {
	if t.OneServer && i.Kind == Every && c.Store != nil {
		err := claimInStore(c.Storage, i)
		if errors.As(err, new(*mutex.HeldError)) {
			return nil, w.NoteReported(i)
		}
		if err != nil {
			return nil, err
		}
	}
	ours, err := w.claimReport(c, i)
	if err != nil || !ours {
		return nil, err
	}
	notes = c.Overdue(i.Record(), t)
	if err = w.NoteReported(i); err == nil {
		err = c.DB.ForgetHooks(context.Background(), i.ID)
	}
	return notes, err
}

// claimReport makes this process the one that reports an incident. It returns false when another
// process reports it, or has reported it.
func (w *Watch) claimReport(c run.Caller, i Incident) (ours bool, err error) {
	own, err := c.Self.Owned(context.Background())
	if err != nil {
		return false, err
	}
	err = w.change(func(m *memory) {
		known := m.incident(i.Task, i.ID)
		ours = known != nil && !known.Reported &&
			(known.Reporter == 0 || known.Reporter == own.ID || !w.DB.Owners().Alive(known.Reporter))
		if ours {
			known.Reporter = own.ID
		}
	})
	return ours && err == nil, err
}

// NoteReported writes down that the on_overdue hooks of an incident have fired.
func (w *Watch) NoteReported(i Incident) error {
	return w.change(func(m *memory) {
		if known := m.incident(i.Task, i.ID); known != nil {
			known.Reported = true
		}
	})
}

// change changes the memory, and writes it if it differs from what it was. It may call change
// twice, each time with the memory as the database has it.
func (w *Watch) change(change func(m *memory)) error {
	return w.DB.Values().Change(context.Background(), keyExpect, func(before []byte) (any, error) {
		m := &memory{}
		if json.Unmarshal(before, m) != nil || m.Tasks == nil {
			m = &memory{Tasks: map[string]*entry{}}
		}
		change(m)
		after, err := json.Marshal(m)
		if err != nil || bytes.Equal(before, after) {
			return nil, err
		}
		return json.RawMessage(after), nil
	})
}

// claimInStore claims an incident, for all servers. Its key is made of the last success, because
// every server knows the same last success.
func claimInStore(storage holding.Storage, i Incident) error {
	key := i.Task + "@overdue-" + i.Since.UTC().Format("20060102T150405Z")
	until := i.Since.Add(i.Expected + schedule.LookBack)
	if i.Never {
		key, until = i.Task+"@overdue-never", i.Found.Add(schedule.LookBack)
	}
	holder := mutex.Holder{Run: i.ID, PID: os.Getpid(), Host: i.Server, Since: i.Found}
	return storage.Mutexes().Claim(context.Background(), key, until, holder)
}

// Elsewhere returns a function for Watch.Elsewhere that asks the store.
func Elsewhere(store mutex.Store, self string) func(*schedule.Task, time.Time) (time.Time, error) {
	return func(t *schedule.Task, since time.Time) (newest time.Time, err error) {
		ctx := context.Background()
		succeeded := past.Query{
			Task:     t.Name,
			Outcomes: []outcome.Outcome{outcome.Succeeded},
			Since:    since.Add(-schedule.LookBack),
			Limit:    10,
		}
		runs, err := cluster.Recent(ctx, store, self, succeeded, cluster.MaxRuns)
		for _, r := range runs {
			if r.Ended.After(since) && r.Ended.After(newest) {
				newest = r.Ended
			}
		}
		return newest, err
	}
}

// StillOpen returns the incidents of a task that are not over: the run lives, or no run has
// succeeded after the incident began.
func StillOpen(all []Incident, live map[string]bool, success time.Time) (open []Incident) {
	for _, i := range all {
		if i.Kind == Within && live[i.ID] || i.Kind == Every && !success.After(i.Since) {
			open = append(open, i)
		}
	}
	return open
}

// From returns from when on a task is overdue for Every, if no run of it succeeds until then. The
// success is when its newest success on this machine ended. It returns the zero time if the task
// expects nothing of that kind, and before the first tick that expects it.
func From(ctx context.Context, db *state.DB, t *schedule.Task, success time.Time) (time.Time, error) {
	m := &memory{}
	_, err := db.Values().Get(ctx, keyExpect, m)
	e := m.Tasks[t.Name]
	if err != nil || e == nil || t.Expect.Every == 0 {
		return time.Time{}, err
	}
	return m.over(humanize.Later(e.Since, success), t.Expect.Every), nil
}

// Open returns the incidents by task, as the last tick found them.
func Open(ctx context.Context, db *state.DB) (map[string][]Incident, error) {
	m, open := &memory{}, map[string][]Incident{}
	_, err := db.Values().Get(ctx, keyExpect, m)
	for name, e := range m.Tasks {
		open[name] = e.Incidents
	}
	return open, err
}
