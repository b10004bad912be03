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
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
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
		changed, set := s.noteClock(now)
		before := len(s.Tasks)
		// The time of a task counts anew if something is expected of the task again.
		maps.DeleteFunc(s.Tasks, func(name string, _ *entry) bool { return !w.expects(name) })
		changed = changed || len(s.Tasks) < before
		for _, t := range w.Tasks {
			n, ended := successes(totals[t.Name])
			e := s.Tasks[t.Name]
			if e == nil {
				e = &entry{Since: now.UTC(), Successes: n}
				s.Tasks[t.Name], changed = e, true
			}
			changed = e.countSuccesses(n, ended, now, set) || changed
			if at := elsewhere[t.Name]; !at.IsZero() {
				changed = e.succeededAt(at, now) || changed
			}
			found, over := w.lookAt(s, t, e, live, now, unknown[t.Name] != nil)
			began = append(began, found...)
			changed = changed || over || len(found) > 0
			for _, i := range e.Incidents {
				if !i.Reported {
					unreported = append(unreported, i)
				}
			}
		}
		return changed
	})
	return began, unreported, errors.Join(err, errors.Join(slices.Collect(maps.Values(unknown))...))
}

// successes returns how many runs of a task have succeeded, and when the newest of them ended.
func successes(totals []state.Total) (n int64, ended time.Time) {
	for _, total := range totals {
		if total.Outcome == outcome.Succeeded {
			return total.Slots, total.Ended
		}
	}
	return 0, time.Time{}
}

// countSuccesses notes that a run has succeeded after the last look. When the clock was set after
// the last look, the success counts as of now, because its row has the time of the old clock.
func (e *entry) countSuccesses(n int64, ended, now time.Time, set bool) (changed bool) {
	before := e.Successes
	if e.Successes = n; n <= before {
		return n != before
	}
	if set {
		ended = now
	}
	e.succeededAt(ended, now)
	return true
}

// succeededAt notes a success. If the clock was set back later, the time of the success may lie
// ahead; then it counts as of now.
func (e *entry) succeededAt(at, now time.Time) (changed bool) {
	if at.After(now) {
		at = now
	}
	if !at.After(e.Since) && e.Succeeded {
		return false
	}
	e.Since, e.Succeeded = humanize.Later(e.Since, at).UTC(), true
	return true
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
	s *memory, t *schedule.Task, e *entry, live []state.Row, now time.Time, isUnknown bool,
) (began []Incident, over bool) {
	ongoing := map[string]bool{} // incidents by their ids
	for _, run := range live {
		if run.Task != t.Name || t.Expect.Within == 0 || run.Started.IsZero() {
			continue
		}
		if s.elapsed(run.Started, now) <= t.Expect.Within {
			continue
		}
		ongoing[run.ID] = true
		if !slices.ContainsFunc(e.Incidents, func(i Incident) bool { return i.ID == run.ID }) {
			began = append(began, Incident{
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
	}
	switch goesOn := e.goesOn(t); {
	case t.Expect.Every == 0:
	case goesOn != nil:
		ongoing[goesOn.ID] = true
	case s.overdue(t, e, now) && !isUnknown:
		began = append(began, Incident{
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
	before := len(e.Incidents)
	e.Incidents = slices.DeleteFunc(e.Incidents, func(i Incident) bool { return i.Reported && !ongoing[i.ID] })
	over = len(e.Incidents) < before
	e.Incidents = append(e.Incidents, began...)
	return began, over
}

// goesOn returns the open incident of a task without a success; nil if there is no such incident.
// It goes on until the next success, whatever the clock shows meanwhile.
func (e *entry) goesOn(t *schedule.Task) *Incident {
	if i := e.open(); i != nil && i.Expected == t.Expect.Every {
		return i
	}
	return nil
}

// overdue reports whether there was no success of a task for too long.
func (s *memory) overdue(t *schedule.Task, e *entry, now time.Time) bool {
	return e.goesOn(t) != nil || s.elapsed(e.Since, now) > t.Expect.Every
}

// open returns the incident that counts from the last success; nil if there is no such incident.
func (e *entry) open() *Incident {
	for n := range e.Incidents {
		if i := &e.Incidents[n]; i.Kind == Every && i.Since.Equal(e.Since) {
			return i
		}
	}
	return nil
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

// Open returns the incidents by task, as the last tick found them.
func Open(ctx context.Context, db *state.DB) (map[string][]Incident, error) {
	s, open := &memory{}, map[string][]Incident{}
	_, err := db.Values().Get(ctx, keyExpect, s)
	for name, e := range s.Tasks {
		open[name] = e.Incidents
	}
	return open, err
}

// A Kind says which part of `expect` was not met.
type Kind string

const (
	Within Kind = "within" // a run takes too long
	Every  Kind = "every"  // there was no success for too long
)

// An Incident is a period in which a task was overdue. It ends with the end of the run, or with the
// next success.
type Incident struct {
	ID       string        `json:"id"` // for Within, the id of the run
	Task     string        `json:"task"`
	Kind     Kind          `json:"kind"`
	Since    time.Time     `json:"since"`           // the start of the run, the last success, or the first look
	Never    bool          `json:"never,omitempty"` // there was no success before
	Expected time.Duration `json:"expected"`
	Slot     time.Time     `json:"slot"` // the slot of the run; for Every, when the time was over
	Found    time.Time     `json:"found"`
	Server   string        `json:"server"`
	Teller   int64         `json:"teller,omitempty"` // the owner that fires on_overdue; 0 for nobody yet
	Reported bool          `json:"told,omitempty"`   // on_overdue has fired
}

// Text says what is wrong, as it is at the time now.
func (i Incident) Text(now time.Time) string {
	took, expected := humanize.Duration(max(0, now.Sub(i.Since))), humanize.Duration(i.Expected)
	switch {
	case i.Kind == Within:
		return "running for " + took + ", expected within " + expected
	case i.Never:
		return "no success yet, expected every " + expected
	}
	return "no success for " + took + ", expected every " + expected
}

// Record is what hooks are told of the incident.
func (i Incident) Record() state.Row {
	r := state.Row{
		ID:     i.ID,
		Task:   i.Task,
		Slot:   i.Slot.UTC(),
		Server: i.Server,
		Result: state.Result{Reason: i.Text(i.Found)},
	}
	if i.Kind == Within {
		r.Started = i.Since
	}
	return r
}
