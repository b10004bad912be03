package overdue

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
)

// Tell fires the on_overdue hooks of an incident, and returns notes about hooks that failed. Each
// hook is started once, whatever is killed; notifications are put into the outbox once. If a
// one_server task had no success, one server reports that. If it is not known for now which server,
// a later tick asks again.
func (w *Watch) Tell(c run.Caller, t *schedule.Task, i Incident) (notes []string, err error) {
	if t.OneServer && i.Kind == Every && c.Store != nil {
		err := claim(c.Storage, i)
		var held *mutex.HeldError
		if errors.As(err, &held) {
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
		found, err := cluster.Recent(ctx, store, self, succeeded, cluster.MaxRuns)
		for _, r := range found {
			if r.Ended.After(since) && r.Ended.After(newest) {
				newest = r.Ended
			}
		}
		return newest, err
	}
}

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
