package overdue

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sched/schedule/boot"
	"sched/schedule/statedir"
)

// The file expect/state.json of a state folder. One that is missing or torn begins anew: what is expected counts from then on.
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
	Incidents []Incident `json:"incidents,omitempty"`
}

func folder(dir string) string { return filepath.Join(dir, "expect") }

func statePath(dir string) string { return filepath.Join(folder(dir), "state.json") }

func read(dir string) (*memory, error) {
	s := &memory{Tasks: map[string]*entry{}}
	text, err := statedir.ReadFile(statePath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(text, s) != nil || s.Tasks == nil {
		return &memory{Tasks: map[string]*entry{}}, nil
	}
	for name, e := range s.Tasks {
		if e == nil {
			delete(s.Tasks, name)
		}
	}
	return s, nil
}

// write replaces the file.
func (s *memory) write(dir string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return statedir.Replace(statePath(dir), text)
}

// Two clocks that drift apart by less than this were not set. Of sets the last few are remembered.
const (
	leastSet  = 20 * time.Second
	mostSets  = 32
	longUntil = 400 * 24 * time.Hour
)

// noteClock compares the clock with the time since the boot, as the tick before did, and remembers that it was set. It reports
// whether the file changed, and whether the clock was set.
func (s *memory) noteClock(now time.Time) (changed, set bool) {
	elapsed, ok := boot.Elapsed()
	if id := boot.ID(); ok && id != "" {
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

// noteSet remembers that the clock was set. Where it was set back that takes back what it was set forward before.
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

// elapsed returns how much time passed since a time that the clock showed. Where the clock was set that may be less than what passed,
// and is not more.
func (s *memory) elapsed(since, now time.Time) time.Duration {
	d := now.Sub(since)
	for _, set := range s.Set {
		if set.At.After(since) {
			d -= set.By
		}
	}
	return d
}
