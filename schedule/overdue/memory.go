package overdue

import (
	"maps"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

// keyExpect names the value of the database that holds the memory.
const keyExpect = "expect"

// A memory is what one tick leaves to the next. If it is missing, a new one begins, and all
// expected times count from then on. Its methods read no clock and no file.
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

// A reading is what the clocks of the machine showed at one moment.
type reading struct {
	time      time.Time     // of the clock that people set
	boot      string        // clock.BootID; "" if it is not known, or sinceBoot is not
	sinceBoot time.Duration // of the clock that nobody sets
}

// A sight is what one look goes by, besides the memory. The keys of its maps are names of tasks.
type sight struct {
	now       reading
	tasks     []*schedule.Task // the tasks with `expect`
	server    string
	live      []state.Row
	totals    map[string][]past.Total
	elsewhere map[string]time.Time // the newest success on another server
	unknown   map[string]error     // why nobody knows whether another server had a success
}

// look brings the memory up to date. It returns the incidents that begin, and all incidents that
// nobody has reported yet.
func (m *memory) look(s sight) (began, unreported []Incident) {
	clockWasSet := m.noteClock(s.now)
	maps.DeleteFunc(m.Tasks, func(name string, _ *entry) bool {
		isExpected := slices.ContainsFunc(s.tasks, func(t *schedule.Task) bool { return t.Name == name })
		return !isExpected // its time counts anew if something is expected of the task again
	})
	for _, t := range s.tasks {
		m.noteSuccesses(t.Name, successOf(s.totals[t.Name]), s.elsewhere[t.Name], s.now.time, clockWasSet)
		e := m.Tasks[t.Name]
		began = append(began, e.setIncidents(m.incidentsOf(t, s))...)
		for _, i := range e.Incidents {
			if !i.Reported {
				unreported = append(unreported, i)
			}
		}
	}
	return began, unreported
}

// incidentsOf returns the incidents of a task that begin or go on: each live run that takes too
// long, and that there was no success for too long. As long as nobody knows whether another server
// had a success, no incident of the second kind begins.
func (m *memory) incidentsOf(t *schedule.Task, s sight) (current []Incident) {
	now, e := s.now.time, m.Tasks[t.Name]
	for _, run := range s.live {
		isWatched := run.Task == t.Name && t.Expect.Within > 0 && !run.Started.IsZero()
		if !isWatched || m.elapsed(run.Started, now) <= t.Expect.Within {
			continue
		}
		current = append(current, Incident{
			ID:       run.ID,
			Task:     t.Name,
			Kind:     Within,
			Since:    run.Started.UTC(),
			Expected: t.Expect.Within,
			Slot:     run.Slot,
			Found:    now.UTC(),
			Server:   s.server,
		})
	}
	if i := e.openFor(t); i != nil {
		return append(current, *i)
	}
	if t.Expect.Every == 0 || !m.isOverdue(t, e, now) || s.unknown[t.Name] != nil {
		return current
	}
	return append(current, Incident{
		ID:       outcome.NewIDAt(now),
		Task:     t.Name,
		Kind:     Every,
		Since:    e.Since,
		Never:    !e.Succeeded,
		Expected: t.Expect.Every,
		Slot:     e.Since.Add(t.Expect.Every),
		Found:    now.UTC(),
		Server:   s.server,
	})
}

// setIncidents sets the incidents of a task that begin or go on, and returns those that begin. An
// incident that is over stays until it was reported.
func (e *entry) setIncidents(current []Incident) (began []Incident) {
	began = slices.DeleteFunc(slices.Clone(current), func(i Incident) bool { return contains(e.Incidents, i.ID) })
	e.Incidents = slices.DeleteFunc(e.Incidents, func(i Incident) bool {
		return i.Reported && !contains(current, i.ID)
	})
	e.Incidents = append(e.Incidents, began...)
	return began
}

// contains reports whether the incident with that id is among the incidents.
func contains(incidents []Incident, id string) bool {
	return slices.ContainsFunc(incidents, func(i Incident) bool { return i.ID == id })
}

const (
	minSet   = 20 * time.Second     // smaller differences are drift: the clock was not set
	maxSets  = 32                   // only the newest are remembered
	setsKept = 400 * 24 * time.Hour // older sets are forgotten
)

// noteClock compares the clock with the time since the boot, as the tick before did. It reports
// whether the clock was set since then, and remembers that. A system without a known boot never
// reports it.
func (m *memory) noteClock(now reading) (wasSet bool) {
	if now.boot != "" {
		ahead := time.Duration(now.time.UnixNano()) - now.sinceBoot
		by := ahead - m.Ahead
		switch {
		case m.Boot != now.boot:
			m.Boot, m.Ahead = now.boot, ahead
		case by.Abs() >= minSet:
			m.Ahead, wasSet = ahead, true
			m.noteSet(now.time, by)
		}
	}
	m.Set = slices.DeleteFunc(m.Set, func(s setForward) bool { return now.time.Sub(s.At).Abs() > setsKept })
	m.Set = m.Set[max(0, len(m.Set)-maxSets):]
	for _, e := range m.Tasks {
		if e.Since.After(now.time) { // from a clock that was set back later
			if i := e.open(); i != nil {
				i.Since = now.time.UTC()
			}
			e.Since = now.time.UTC()
		}
	}
	return wasSet
}

// noteSet remembers that the clock was set. If the clock was set back, that undoes earlier sets
// forward.
func (m *memory) noteSet(now time.Time, by time.Duration) {
	if by > 0 {
		m.Set = append(m.Set, setForward{now.UTC(), by})
		return
	}
	for by < 0 && len(m.Set) > 0 {
		last := &m.Set[len(m.Set)-1]
		if last.By+by > 0 {
			last.By += by
			return
		}
		by += last.By
		m.Set = m.Set[:len(m.Set)-1]
	}
}

// elapsed returns how much time passed since a time that the clock showed. If the clock was set,
// the result may be less than the time that passed, but never more.
func (m *memory) elapsed(since, now time.Time) time.Duration {
	d := now.Sub(since)
	for _, set := range m.Set {
		if set.At.After(since) {
			d -= set.By
		}
	}
	return d
}

// over returns when the clock shows that the time d has passed since a time, if nobody sets it
// again.
func (m *memory) over(since time.Time, d time.Duration) time.Time {
	at := since.Add(d)
	for _, set := range m.Set {
		if set.At.After(since) {
			at = at.Add(set.By)
		}
	}
	return at
}

// noteSuccesses notes the successes of a task: how many runs of this machine succeeded, with the
// end of the newest one, and when the newest success on another server ended, if that is later
// than what is known. If the clock was set after the last look, a new success counts as of now,
// because its row has the time of the old clock.
func (m *memory) noteSuccesses(task string, own past.Total, elsewhere, now time.Time, clockWasSet bool) {
	e := m.Tasks[task]
	if e == nil {
		e = &entry{Since: now.UTC(), Successes: own.Slots}
		m.Tasks[task] = e
	}
	hasNew := own.Slots > e.Successes
	e.Successes = own.Slots
	switch {
	case hasNew && clockWasSet:
		e.succeededAt(now, now)
	case hasNew:
		e.succeededAt(own.Ended, now)
	}
	if !elsewhere.IsZero() {
		e.succeededAt(elsewhere, now)
	}
}

// succeededAt notes a success. If the clock was set back later, the time of the success may lie
// ahead; then it counts as of now.
func (e *entry) succeededAt(at, now time.Time) {
	if at.After(now) {
		at = now
	}
	if at.After(e.Since) {
		e.Since = at.UTC()
	}
	e.Succeeded = true
}

// openFor returns the open incident if it is about the time that the task expects now; else nil.
// The incident goes on until the next success, whatever the clock shows meanwhile.
func (e *entry) openFor(t *schedule.Task) *Incident {
	if i := e.open(); i != nil && i.Expected == t.Expect.Every {
		return i
	}
	return nil
}

// isOverdue reports whether there was no success of a task for too long.
func (m *memory) isOverdue(t *schedule.Task, e *entry, now time.Time) bool {
	return e.openFor(t) != nil || m.elapsed(e.Since, now) > t.Expect.Every
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

// incident returns the incident with that id; nil if there is no such incident.
func (m *memory) incident(task, id string) *Incident {
	e := m.Tasks[task]
	if e == nil {
		return nil
	}
	i := slices.IndexFunc(e.Incidents, func(i Incident) bool { return i.ID == id })
	if i < 0 {
		return nil
	}
	return &e.Incidents[i]
}

// successOf returns the total of the runs that have succeeded.
func successOf(totals []past.Total) past.Total {
	i := slices.IndexFunc(totals, func(total past.Total) bool { return total.Outcome == outcome.Succeeded })
	if i < 0 {
		return past.Total{}
	}
	return totals[i]
}
