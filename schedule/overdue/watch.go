package overdue

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// A Watch is the part of one tick in what is expected. A nil Watch is that of a tick that looks for nothing, and costs nothing.
// Safe for concurrent use.
type Watch struct {
	Dir    string           // the state folder
	Tasks  []*schedule.Task // those of which something is expected
	Server string
	Now    func() time.Time
	// Elsewhere returns when the newest success of a task of one_server since then ended on another server; zero where there is none. Nil
	// on a machine that stands alone.
	Elsewhere func(task *schedule.Task, since time.Time) (time.Time, error)

	mu        sync.Mutex
	succeeded map[string]time.Time // by task, since the last look or Keep
}

// Ended notes that a run has ended. It is to be called before the run is in the history: a tick that is killed in between collects
// the run again, and notes it again.
func (w *Watch) Ended(r outcome.Record) {
	if w == nil || r.Outcome != outcome.Succeeded {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.Tasks {
		if t.Name == r.Task && t.Expect.Every > 0 {
			if w.succeeded == nil {
				w.succeeded = map[string]time.Time{}
			}
			if r.Ended.After(w.succeeded[t.Name]) {
				w.succeeded[t.Name] = r.Ended
			}
		}
	}
}

// Keep writes down which runs have succeeded since the last look.
func (w *Watch) Keep() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	nothing := len(w.succeeded) == 0
	w.mu.Unlock()
	if nothing {
		return nil
	}
	return w.update(func(s *memory, now time.Time) (changed bool) { return w.takeSuccesses(s, now, false) })
}

// update changes the file. It is written if change says so.
func (w *Watch) update(change func(s *memory, now time.Time) (changed bool)) error {
	return statedir.Exclusively(folder(w.Dir), func() error {
		s, err := read(w.Dir)
		if err != nil {
			return err
		}
		if !change(s, w.Now()) {
			return nil
		}
		return s.write(w.Dir)
	})
}

// Look finds what is overdue, given the runs that live. It returns the incidents that began, and those of which on_overdue is still to
// be told: these, and what ticks left that were killed.
func (w *Watch) Look(live []state.Row) (began, untold []Incident, err error) {
	if w == nil {
		return nil, nil, nil
	}
	var unknown error
	err = w.update(func(s *memory, now time.Time) bool {
		changed, set := s.noteClock(now)
		changed = w.forgetOthers(s) || changed
		changed = w.takeSuccesses(s, now, set) || changed
		for _, t := range w.Tasks {
			e := s.Tasks[t.Name]
			if e == nil {
				e = &entry{Since: now.UTC()}
				s.Tasks[t.Name], changed = e, true
			}
			found, over, lerr := w.lookAt(s, t, e, live, now)
			unknown = errors.Join(unknown, lerr)
			began = append(began, found...)
			changed = changed || over || len(found) > 0
		}
		for _, t := range w.Tasks {
			for _, i := range s.Tasks[t.Name].Incidents {
				if !i.Told {
					untold = append(untold, i)
				}
			}
		}
		if changed {
			s.sweep(w.Dir)
		}
		return changed
	})
	return began, untold, errors.Join(err, unknown)
}

// takeSuccesses writes down which tasks have succeeded. When the clock was set since, that was now: what the record says is of the
// old clock.
func (w *Watch) takeSuccesses(s *memory, now time.Time, set bool) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, at := range w.succeeded {
		if set || at.After(now) {
			at = now
		}
		if e := s.Tasks[name]; e == nil {
			s.Tasks[name], changed = &entry{Since: at.UTC(), Succeeded: true}, true
		} else if at.After(e.Since) || !e.Succeeded {
			e.Since, e.Succeeded, changed = at.UTC(), true, true
		}
	}
	w.succeeded = nil
	return changed
}

// forgetOthers forgets tasks of which nothing is expected any more: when it is again, that counts from then on.
func (w *Watch) forgetOthers(s *memory) (changed bool) {
	for name := range s.Tasks {
		if !slices.ContainsFunc(w.Tasks, func(t *schedule.Task) bool { return t.Name == name }) {
			delete(s.Tasks, name)
			changed = true
		}
	}
	return changed
}

// lookAt returns the incidents of a task that begin now, and reports whether one is over. One that is over stays until it was told.
func (w *Watch) lookAt(s *memory, t *schedule.Task, e *entry, live []state.Row, now time.Time) (began []Incident, over bool, err error) {
	ongoing := map[string]bool{} // incidents by their ids
	for _, run := range live {
		started := run.Started
		if run.Task != t.Name || t.Expect.Within == 0 || started.IsZero() || s.elapsed(started, now) <= t.Expect.Within {
			continue
		}
		ongoing[run.ID] = true
		if !e.has(run.ID) {
			began = append(began, Incident{ID: run.ID, Task: t.Name, Kind: Within, Since: started.UTC(), Expected: t.Expect.Within, Slot: run.Slot, Found: now.UTC(), Server: w.Server})
		}
	}
	if t.Expect.Every > 0 {
		found, lerr := w.lookForSuccess(s, t, e, now, ongoing)
		began, err = append(began, found...), lerr
	}
	before := len(e.Incidents)
	e.Incidents = slices.DeleteFunc(e.Incidents, func(i Incident) bool { return i.Told && !ongoing[i.ID] })
	over = len(e.Incidents) < before
	e.Incidents = append(e.Incidents, began...)
	return began, over, err
}

// lookForSuccess returns the incident that begins since there was no success for too long, and adds one that goes on to ongoing: until
// the next success, whatever the clock shows meanwhile.
func (w *Watch) lookForSuccess(s *memory, t *schedule.Task, e *entry, now time.Time, ongoing map[string]bool) (began []Incident, err error) {
	goesOn := func() bool { i := e.open(); return i != nil && i.Expected == t.Expect.Every }
	overdue := func() bool { return goesOn() || s.elapsed(e.Since, now) > t.Expect.Every }
	if overdue() && t.OneServer && w.Elsewhere != nil {
		err = w.askElsewhere(t, e, now)
	}
	switch {
	case goesOn():
		ongoing[e.open().ID] = true
	case overdue() && err == nil: // what is not known begins nothing
		began = append(began, Incident{ID: outcome.NewIDAt(now), Task: t.Name, Kind: Every, Since: e.Since, Never: !e.Succeeded, Expected: t.Expect.Every, Slot: e.Since.Add(t.Expect.Every), Found: now.UTC(), Server: w.Server})
	}
	return began, err
}

// askElsewhere asks the other servers for a success that this one does not know.
func (w *Watch) askElsewhere(t *schedule.Task, e *entry, now time.Time) error {
	at, err := w.Elsewhere(t, e.Since)
	if err != nil || at.IsZero() {
		return err
	}
	if at.After(now) {
		at = now
	}
	if at.After(e.Since) || !e.Succeeded {
		e.Since, e.Succeeded = at.UTC(), true
	}
	return nil
}

// has reports whether the entry has the incident already.
func (e *entry) has(id string) bool {
	return slices.ContainsFunc(e.Incidents, func(i Incident) bool { return i.ID == id })
}

// open returns the incident that counts from the last success; nil where there is none.
func (e *entry) open() *Incident {
	for n := range e.Incidents {
		if i := &e.Incidents[n]; i.Kind == Every && i.Since.Equal(e.Since) {
			return i
		}
	}
	return nil
}

// sweep removes the marks of incidents that were told.
func (s *memory) sweep(dir string) {
	files, _ := os.ReadDir(folder(dir))
	for _, file := range files {
		id, is := strings.CutSuffix(file.Name(), ".lock")
		if is && !s.untold(id) {
			os.Remove(filepath.Join(folder(dir), file.Name()))
		}
	}
}

func (s *memory) untold(id string) bool {
	for _, e := range s.Tasks {
		for _, i := range e.Incidents {
			if i.ID == id {
				return !i.Told
			}
		}
	}
	return false
}

// Untold reports whether on_overdue is still to be told of an incident. It is asked with the marks of the incident locked.
func (w *Watch) Untold(i Incident) bool {
	s, err := read(w.Dir)
	return err == nil && s.untold(i.ID)
}

// Told writes down that on_overdue was told of an incident, and removes its marks.
func (w *Watch) Told(i Incident) error {
	return w.update(func(s *memory, _ time.Time) (changed bool) {
		if e := s.Tasks[i.Task]; e != nil {
			for n := range e.Incidents {
				if e.Incidents[n].ID == i.ID && !e.Incidents[n].Told {
					e.Incidents[n].Told, changed = true, true
				}
			}
		}
		return changed
	})
}

// StillOpen returns those of a task's incidents that are not over: the run lives, or there was no success since.
func StillOpen(all []Incident, live map[string]bool, success time.Time) (open []Incident) {
	for _, i := range all {
		if i.Kind == Within && live[i.ID] || i.Kind == Every && !success.After(i.Since) {
			open = append(open, i)
		}
	}
	return open
}

// Open returns the incidents of a state folder by task, as the last tick found them. It writes nothing.
func Open(dir string) (map[string][]Incident, error) {
	s, err := read(dir)
	if err != nil {
		return nil, err
	}
	open := map[string][]Incident{}
	for name, e := range s.Tasks {
		open[name] = e.Incidents
	}
	return open, nil
}
