package overdue

import (
	"encoding/json"
	"slices"
	"time"

	"sched/schedule/clock"
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

// decode returns the memory in a text; an empty memory if the text has no memory.
func decode(text []byte) *memory {
	s := &memory{}
	if json.Unmarshal(text, s) != nil || s.Tasks == nil {
		return &memory{Tasks: map[string]*entry{}}
	}
	return s
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
