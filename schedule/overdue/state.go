package overdue

import (
	"encoding/json"
	"slices"
	"time"

	"sched/schedule/clock"
)

// keyExpect is the value of the database that has the memory.
const keyExpect = "expect"

// A memory is what ticks tell each other. One that is missing begins anew: what is expected counts
// from then on.
type memory struct {
	Boot  string            `json:"boot,omitempty"`
	Ahead time.Duration     `json:"ahead,omitempty"` // what the clock showed, less how long ago the machine booted
	Set   []setForward      `json:"set,omitempty"`   // oldest first
	Tasks map[string]*entry `json:"tasks"`
}

// A setForward says that the clock was set forward: a tick saw so at that time of the new clock.
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

// decode returns the memory of a text; an empty one where there is none.
func decode(text []byte) *memory {
	s := &memory{}
	if json.Unmarshal(text, s) != nil || s.Tasks == nil {
		return &memory{Tasks: map[string]*entry{}}
	}
	return s
}

// incident returns the incident with that id; nil where there is none.
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

// Two clocks that drift apart by less than this were not set. Of sets the last few are remembered.
const (
	leastSet  = 20 * time.Second
	mostSets  = 32
	longUntil = 400 * 24 * time.Hour
)

// noteClock compares the clock with the time since the boot, as the tick before did, and remembers
// that it was set. It reports whether that changed something, and whether the clock was set.
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
		if e.Since.After(now) { // of a clock that was set back since
			if i := e.open(); i != nil {
				i.Since = now.UTC()
			}
			e.Since, changed = now.UTC(), true
		}
	}
	return changed, set
}

// noteSet remembers that the clock was set. Where it was set back that takes back what it was set
// forward before.
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

// elapsed returns how much time passed since a time that the clock showed. Where the clock was set
// that may be less than what passed, and is not more.
func (s *memory) elapsed(since, now time.Time) time.Duration {
	d := now.Sub(since)
	for _, set := range s.Set {
		if set.At.After(since) {
			d -= set.By
		}
	}
	return d
}
