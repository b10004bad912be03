// Package overdue finds tasks that are overdue: a run that takes longer than `expect: {within: …}`,
// or no success for longer than `expect: {every: …}`. Ticks look for them, because there is no
// daemon. Ticks keep what they need in one value of the database (Watch).
//
// Only elapsed time counts, not the time that the clock shows: a clock that was set makes nothing
// overdue. On a system that does not say how long ago it booted, such as macOS, a clock that is set
// forward does make tasks overdue.
package overdue

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
)

// A Watch looks, in one tick, for what is overdue. A nil Watch belongs to a tick that looks for
// nothing, and costs nothing. Safe for concurrent use.
type Watch struct {
	DB     *state.DB
	Tasks  []*schedule.Task // the tasks of which something is expected
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
	if w == nil {
		return nil, nil, nil
	}
	totals, err := w.DB.Past().Totals(context.Background())
	if err != nil {
		return nil, nil, err
	}
	elsewhere, unknown := w.askElsewhere()
	err = w.change(func(s *memory, now time.Time) bool {
		began, unreported = nil, nil
		changed, clockWasSet := s.noteClock(now)
		before := len(s.Tasks)
		// The time of a task counts anew if something is expected of the task again.
		maps.DeleteFunc(s.Tasks, func(name string, _ *entry) bool { return !w.expects(name) })
		changed = changed || len(s.Tasks) < before
		for _, t := range w.Tasks {
			success := successOf(totals[t.Name])
			changed = s.noteSuccesses(t.Name, success, elsewhere[t.Name], now, clockWasSet) || changed
			beganNow, over := w.lookAt(s, t, live, now, unknown[t.Name] != nil)
			began = append(began, beganNow...)
			changed = changed || over || len(beganNow) > 0
			for _, i := range s.Tasks[t.Name].Incidents {
				if !i.Reported {
					unreported = append(unreported, i)
				}
			}
		}
		return changed
	})
	return began, unreported, errors.Join(err, errors.Join(slices.Collect(maps.Values(unknown))...))
}

// askElsewhere asks the other servers for successes that this one does not know, for the tasks that
// are overdue without a success. If the answer is unknown, no incident of the task begins.
func (w *Watch) askElsewhere() (newest map[string]time.Time, unknown map[string]error) {
	newest, unknown = map[string]time.Time{}, map[string]error{}
	if w.Elsewhere == nil {
		return newest, unknown
	}
	s, now := &memory{}, w.Now()
	if _, err := w.DB.Values().Get(context.Background(), keyExpect, s); err != nil {
		return newest, unknown
	}
	for _, t := range w.Tasks {
		e := s.Tasks[t.Name]
		if e == nil || !t.OneServer || t.Expect.Every == 0 || !s.overdue(t, e, now) {
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

// expects reports whether something is expected of the task.
func (w *Watch) expects(task string) bool {
	return slices.ContainsFunc(w.Tasks, func(t *schedule.Task) bool { return t.Name == task })
}

// lookAt returns the incidents of a task that begin now, and reports whether an incident is over.
// An incident that is over stays until it was reported. isUnknown says that nobody knows whether
// the task has succeeded on another server.
func (w *Watch) lookAt(
	s *memory, t *schedule.Task, live []state.Row, now time.Time, isUnknown bool,
) (began []Incident, over bool) {
	e := s.Tasks[t.Name]
	current := w.tooLong(s, t, live, now)
	if i := e.goesOn(t); i != nil {
		current = append(current, *i)
	} else if t.Expect.Every > 0 && s.overdue(t, e, now) && !isUnknown {
		current = append(current, Incident{
			ID:       outcome.NewIDAt(now),
			Task:     t.Name,
			Kind:     Every,
			Since:    e.Since,
			Never:    !e.Succeeded,
			Expected: t.Expect.Every,
			Slot:     e.Since.Add(t.Expect.Every),
			Found:    now.UTC(),
			Server:   w.Server,
		})
	}
	began = slices.DeleteFunc(slices.Clone(current), func(i Incident) bool { return contains(e.Incidents, i.ID) })
	before := len(e.Incidents)
	e.Incidents = slices.DeleteFunc(e.Incidents, func(i Incident) bool {
		return i.Reported && !contains(current, i.ID)
	})
	over = len(e.Incidents) < before
	e.Incidents = append(e.Incidents, began...)
	return began, over
}

// contains reports whether the incident with that id is among the incidents.
func contains(incidents []Incident, id string) bool {
	return slices.ContainsFunc(incidents, func(i Incident) bool { return i.ID == id })
}

// tooLong returns an incident for each live run of a task that takes too long.
func (w *Watch) tooLong(s *memory, t *schedule.Task, live []state.Row, now time.Time) (incidents []Incident) {
	for _, run := range live {
		isWatched := run.Task == t.Name && t.Expect.Within > 0 && !run.Started.IsZero()
		if !isWatched || s.elapsed(run.Started, now) <= t.Expect.Within {
			continue
		}
		incidents = append(incidents, Incident{
			ID:       run.ID,
			Task:     t.Name,
			Kind:     Within,
			Since:    run.Started.UTC(),
			Expected: t.Expect.Within,
			Slot:     run.Slot,
			Found:    now.UTC(),
			Server:   w.Server,
		})
	}
	return incidents
}

// Tell fires the on_overdue hooks of an incident, and returns notes about hooks that failed. Each
// hook is started once, whatever is killed; notifications are put into the outbox once. If a
// one_server task had no success, one server reports that. If it is not known for now which server,
// a later tick asks again.
func (w *Watch) Tell(c run.Caller, t *schedule.Task, i Incident) (notes []string, err error) {
	if t.OneServer && i.Kind == Every && c.Store != nil {
		err := claim(c.Storage, i)
		if errors.As(err, new(*mutex.HeldError)) {
			return nil, w.NoteReported(i)
		}
		if err != nil {
			return nil, err
		}
	}
	ours, err := w.takeOn(c, i)
	if err != nil || !ours {
		return nil, err
	}
	notes = c.Overdue(i.Record(), t)
	if err = w.NoteReported(i); err == nil {
		err = c.DB.ForgetHooks(context.Background(), i.ID)
	}
	return notes, err
}

// takeOn makes this process the one that reports an incident. It returns false when another process
// reports it, or has reported it.
func (w *Watch) takeOn(c run.Caller, i Incident) (ours bool, err error) {
	own, err := c.Self.Owned(context.Background())
	if err != nil {
		return false, err
	}
	err = w.change(func(s *memory, _ time.Time) (changed bool) {
		known := s.incident(i.Task, i.ID)
		if known == nil || known.Reported {
			ours = false
			return false
		}
		ours = known.Teller == 0 || known.Teller == own.ID || !w.DB.Owners().Alive(known.Teller)
		if ours {
			known.Teller = own.ID
		}
		return ours
	})
	return ours && err == nil, err
}

// NoteReported writes down that the on_overdue hooks of an incident have fired.
func (w *Watch) NoteReported(i Incident) error {
	return w.change(func(s *memory, _ time.Time) (changed bool) {
		known := s.incident(i.Task, i.ID)
		if known == nil || known.Reported {
			return false
		}
		known.Reported = true
		return true
	})
}

// change changes the memory. It is written if the function returns true.
func (w *Watch) change(change func(s *memory, now time.Time) (changed bool)) error {
	return w.DB.Values().Change(context.Background(), keyExpect, func(text []byte) (any, error) {
		s := &memory{}
		if json.Unmarshal(text, s) != nil || s.Tasks == nil {
			s = &memory{Tasks: map[string]*entry{}}
		}
		if !change(s, w.Now()) {
			return nil, nil
		}
		return s, nil
	})
}

// claim claims an incident, for all servers. Its key is made of the last success, because every
// server knows the same last success.
func claim(storage run.Storage, i Incident) error {
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
		succeeded := state.Query{
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
