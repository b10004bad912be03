package overdue

import (
	"context"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// keyExpect names the value of the database that holds the memory.
const keyExpect = "expect"

// A memory is what one tick leaves to the next. If it is missing, a new one begins, and all
// expected times count from then on.
type memory struct {
	Boot  string            `json:"boot,omitempty"`
	Ahead time.Duration     `json:"ahead,omitempty"` // what the clock showed, minus the time from the boot to then
	Set   []setForward      `json:"set,omitempty"`   // oldest first
	Tasks map[string]*entry `json:"tasks"`
}

// A setForward says that the clock was set forward. At is when a tick noticed, by the new clock.
type setForward struct {
	At time.Time     `json:"at"`
	By time.Duration `json:"by"`
}

// An entry is what is known of one task.
type entry struct {
	Since     time.Time  `json:"since"` // the last success, or when a tick first expected something of the task
	Succeeded bool       `json:"succeeded,omitempty"`
	Successes int64      `json:"successes,omitempty"` // how many the database counted at the last look
	Incidents []Incident `json:"incidents,omitempty"`
}

// incident returns the incident with that id; nil if there is no such incident.
func (s *memory) incident(task, id string) *Incident {
	e := s.Tasks[task]
	if e == nil {
		return nil
	}
	i := slices.IndexFunc(e.Incidents, func(i Incident) bool { return i.ID == id })
	if i < 0 {
		return nil
	}
	return &e.Incidents[i]
}

// Differences below leastSet are drift: the clock was not set. Only the last mostSets sets are
// remembered.
const (
	leastSet  = 20 * time.Second
	mostSets  = 32
	longUntil = 400 * 24 * time.Hour
)

// noteClock compares the clock with the time since the boot, as the tick before did. If the clock
// was set, it remembers that. It reports whether the memory changed, and whether the clock was set.
func (s *memory) noteClock(now time.Time) (changed, set bool) {
	elapsed, ok := clock.SinceBoot()
	if id := clock.BootID(); ok && id != "" {
		ahead := time.Duration(now.UnixNano()) - elapsed
		by := ahead - s.Ahead
		switch {
		case s.Boot != id:
			s.Boot, s.Ahead, changed = id, ahead, true
		case by.Abs() >= leastSet:
			s.Ahead, changed, set = ahead, true, true
			s.noteSet(now, by)
		}
	}
	keep := slices.DeleteFunc(s.Set, func(one setForward) bool { return now.Sub(one.At).Abs() > longUntil })
	s.Set = keep[max(0, len(keep)-mostSets):]
	for _, e := range s.Tasks {
		if e.Since.After(now) { // from a clock that was set back later
			if i := e.open(); i != nil {
				i.Since = now.UTC()
			}
			e.Since, changed = now.UTC(), true
		}
	}
	return changed, set
}

// noteSet remembers that the clock was set. If the clock was set back, that undoes earlier sets
// forward.
func (s *memory) noteSet(now time.Time, by time.Duration) {
	if by > 0 {
		s.Set = append(s.Set, setForward{now.UTC(), by})
		return
	}
	for by < 0 && len(s.Set) > 0 {
		last := &s.Set[len(s.Set)-1]
		if last.By+by > 0 {
			last.By += by
			return
		}
		by += last.By
		s.Set = s.Set[:len(s.Set)-1]
	}
}

// elapsed returns how much time passed since a time that the clock showed. If the clock was set,
// the result may be less than the time that passed, but never more.
func (s *memory) elapsed(since, now time.Time) time.Duration {
	d := now.Sub(since)
	for _, set := range s.Set {
		if set.At.After(since) {
			d -= set.By
		}
	}
	return d
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
	took, expected := humanize.Age(i.Since, now), humanize.Duration(i.Expected)
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

// noteSuccesses notes the successes of a task: how many runs of this machine succeeded, with the
// end of the newest one, and when the newest success on another server ended, if that is later
// than what is known. If the clock was set after the last look, a new success counts as of now,
// because its row has the time of the old clock.
func (s *memory) noteSuccesses(
	task string, own state.Total, elsewhere, now time.Time, clockWasSet bool,
) (changed bool) {
	e := s.Tasks[task]
	if e == nil {
		e = &entry{Since: now.UTC(), Successes: own.Slots}
		s.Tasks[task], changed = e, true
	}
	before := e.Successes
	e.Successes = own.Slots
	if own.Slots > before {
		ended := own.Ended
		if clockWasSet {
			ended = now
		}
		e.succeededAt(ended, now)
	}
	if !elsewhere.IsZero() {
		changed = e.succeededAt(elsewhere, now) || changed
	}
	return changed || own.Slots != before
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

// successOf returns the total of the runs that have succeeded.
func successOf(totals []state.Total) state.Total {
	i := slices.IndexFunc(totals, func(total state.Total) bool { return total.Outcome == outcome.Succeeded })
	if i < 0 {
		return state.Total{}
	}
	return totals[i]
}
