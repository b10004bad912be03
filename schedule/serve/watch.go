package serve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/pause"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A watcher looks at the state folder once a second, as long as somebody listens, and tells all
// listeners what has changed: runs, ticks, pauses, requests, and the schedule itself. It looks once
// for all of them. Ticks report to nobody, so they need not know of servers.
type watcher struct {
	// Schedule returns the schedule. If an edit broke it, it returns the last valid one, and in
	// invalid what is wrong now.
	Schedule func() (valid *schedule.Schedule, invalid, err error)

	mu        sync.Mutex
	listeners map[*watchListener]bool
	idStart   string // begins the ids; an id of another server, or from before the watcher stopped, begins otherwise
	number    int    // of the newest event
	recent    []watchEvent
	running   bool
}

// A watchEvent is something that has changed.
type watchEvent struct {
	ID    string
	Name  string // run, tick, pauses, waiting or schedule
	Value any
}

const (
	watchEvery      = time.Second
	maxRecentEvents = 1000             // events are kept for listeners that come back
	maxLookTime     = 20 * time.Second // bounds a look into the history
)

// RunChange is the value of an event of a run: it was begun, has changed, or has ended.
type RunChange struct {
	Run     string        `json:"run"`
	Task    string        `json:"task"`
	State   view.RunState `json:"state"`
	Attempt int           `json:"attempt"`
	Outcome string        `json:"outcome"` // of a run that has ended
}

// TickChange is the value of an event of a tick.
type TickChange struct {
	Minute string `json:"minute"`
}

// Changed is the value of the other events.
type Changed struct {
	Changed bool `json:"changed"`
}

// A watchListener is told what changes. It belongs to one goroutine.
type watchListener struct {
	w       *watcher
	wake    chan<- struct{} // gets a value when there is something new; it has room for one
	idStart string
	number  int
}

// Listen returns a listener, and begins to watch if nobody watches yet. The listener goes on behind
// the event with the id last. If that event is not known, known is false, and the listener begins
// with the next change. Several listeners may share wake, which has room for one value. The caller
// must call Leave.
func (w *watcher) Listen(last string, wake chan<- struct{}) (l *watchListener, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.running {
		w.running, w.recent, w.number = true, nil, 0
		w.idStart, w.listeners = strconv.FormatInt(time.Now().UnixNano(), 36), map[*watchListener]bool{}
		go w.watch()
	}
	l = &watchListener{w, wake, w.idStart, w.number}
	w.listeners[l] = true
	start, text, _ := strings.Cut(last, "-")
	seen, err := strconv.Atoi(text)
	if err != nil || start != w.idStart || seen < w.number-len(w.recent) || seen > w.number {
		return l, false
	}
	l.number = seen
	return l, true
}

// Leave ends the listening.
func (l *watchListener) Leave() {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	delete(l.w.listeners, l)
}

// ID is the id of the event that the listener heard last.
func (l *watchListener) ID() string { return eventID(l.idStart, l.number) }

func eventID(idStart string, number int) string { return idStart + "-" + strconv.Itoa(number) }

// Next returns the events since the last call; false if some of the events are forgotten.
func (l *watchListener) Next() (all []watchEvent, ok bool) {
	w := l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.idStart != w.idStart || l.number < w.number-len(w.recent) {
		return nil, false
	}
	all = w.recent[len(w.recent)-(w.number-l.number):]
	l.number = w.number
	return all, true
}

// publish adds an event, and wakes all listeners.
func (w *watcher) publish(name string, value any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number++
	w.recent = append(w.recent, watchEvent{eventID(w.idStart, w.number), name, value})
	if surplus := len(w.recent) - maxRecentEvents; surplus > 0 {
		w.recent = slices.Clone(w.recent[surplus:]) // listeners read the old array
	}
	for l := range w.listeners {
		select {
		case l.wake <- struct{}{}:
		default: // it is awake
		}
	}
}

// watch looks until nobody has listened for a while, so that a browser that connects again finds
// what it has missed.
func (w *watcher) watch() {
	const patientLooks = 30
	var before *sight // nil until the first look
	for unheard := 0; unheard < patientLooks; {
		if s, invalid, err := w.Schedule(); err == nil {
			now := sightOf(s, invalid, before)
			if before != nil {
				w.publishChanges(*before, now)
			}
			before = &now
		}
		time.Sleep(watchEvery)
		w.mu.Lock()
		unheard++
		if len(w.listeners) > 0 {
			unheard = 0
		}
		if unheard == patientLooks {
			w.running = false
		}
		w.mu.Unlock()
	}
}

// A sight is the state of the schedule at a look.
type sight struct {
	schedule string
	tick     time.Time
	pauses   string
	waiting  string
	live     map[string]RunChange // by run
	ended    []RunChange          // runs and slots that ended, were skipped or were missed since the last look
	planned  []string             // runs that had not begun
	mark     int64                // see past.Past.Added
}

// sightOf returns the state now. A part that cannot be read stays as it was before.
func sightOf(s *schedule.Schedule, invalid error, before *sight) (now sight) {
	if before != nil {
		now = *before
	}
	now.schedule = s.Digest + fmt.Sprint(invalid)
	if tick, err := view.LastTick(s.StateDir); err == nil {
		now.tick = tick
	}
	if here, err := pause.ReadHere(s); err == nil {
		now.pauses = fmt.Sprint(here.Pauses)
	}
	now.readRuns(s.StateDir)
	return now
}

// readRuns reads the runs that live and that have ended since the last look.
func (s *sight) readRuns(dir string) {
	s.ended = nil
	ctx, cancel := context.WithTimeout(context.Background(), maxLookTime)
	defer cancel()
	all, err := view.OpenRecords(ctx, dir)
	if err != nil {
		return
	}
	defer all.Close()
	added, mark, err := all.Added(ctx, s.mark, maxRecentEvents)
	if err != nil {
		return
	}
	planned, err := all.Owners().Planned(ctx)
	if err != nil {
		return
	}
	lived := slices.AppendSeq(slices.Clip(s.planned), maps.Keys(s.live)) // or were about to begin
	s.live, s.planned, s.waiting, s.mark = map[string]RunChange{}, planned, "", mark
	for _, row := range all.Live {
		if row.Pending() {
			s.waiting += fmt.Sprintln(row.ID, row.Wait)
			continue
		}
		s.live[row.ID] = changeOfRow(row, view.RunRunning)
	}
	for _, row := range all.Lost {
		s.live[row.ID] = changeOfRow(row, view.RunVanished)
	}
	for _, id := range lived {
		if _, goesOn := s.live[id]; goesOn || slices.Contains(planned, id) {
			continue
		}
		row, err := all.Row(ctx, id)
		switch {
		case err == nil && row.Phase == state.Ended:
			s.ended = append(s.ended, changeOfRecord(row))
		case err == nil: // it has begun meanwhile
			s.planned = append(s.planned, id)
		}
	}
	for _, row := range added {
		isKnown := func(change RunChange) bool { return change.Run == row.ID }
		if _, goesOn := s.live[row.ID]; !goesOn && !slices.ContainsFunc(s.ended, isKnown) {
			s.ended = append(s.ended, changeOfRecord(row))
		}
	}
}

// publishChanges publishes how the state differs from what it was before.
func (w *watcher) publishChanges(before, now sight) {
	if now.schedule != before.schedule {
		w.publish("schedule", Changed{true})
	}
	if !now.tick.Equal(before.tick) {
		w.publish("tick", TickChange{now.tick.UTC().Format(time.RFC3339)})
	}
	if now.pauses != before.pauses {
		w.publish("pauses", Changed{true})
	}
	if now.waiting != before.waiting {
		w.publish("waiting", Changed{true})
	}
	for id, change := range now.live {
		if before.live[id] != change {
			w.publish("run", change)
		}
	}
	for _, change := range now.ended {
		w.publish("run", change)
	}
}

func changeOfRow(row state.Row, as view.RunState) RunChange {
	change := RunChange{Run: row.ID, Task: row.Task, State: as, Attempt: max(1, row.Attempt.Number)}
	switch {
	case row.Queued():
		change.State = view.RunQueued
	case row.Deferred():
		change.State, change.Attempt = view.RunDeferred, row.Attempt.Number+1
	case as == view.RunRunning && !row.Attempted():
		change.State = view.RunStarting
	}
	return change
}

func changeOfRecord(r state.Row) RunChange {
	return RunChange{Run: r.ID, Task: r.Task, State: view.RunEnded, Attempt: r.Attempt.Number,
		Outcome: string(r.Outcome)}
}
