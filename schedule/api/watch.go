package api

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/runfile"
	"sched/schedule/status"
	"sched/schedule/view"
)

// A watcher looks at the state folder once a second, as long as somebody listens, and tells all listeners what has changed: once for all
// of them. Ticks tell nobody, so that they need not know of servers.
type watcher struct {
	server *Server

	mu        sync.Mutex
	cond      chan struct{} // closed when there is something new
	listeners int
	began     string // begins the ids: those of another server, or from before a pause in listening, are strange
	number    int    // of the newest event
	recent    []event
	running   bool
}

type event struct {
	number int
	name   string
	value  any
}

const (
	watchEvery = time.Second
	mostRecent = 1000 // events are kept for those who come back
)

// RunChange is an event of a run: it was begun, has changed, or has ended.
type RunChange struct {
	Run     string        `json:"run"`
	Task    string        `json:"task"`
	State   view.RunState `json:"state"`
	Attempt int           `json:"attempt"`
	Outcome string        `json:"outcome"` // of one that has ended
}

type tickChange struct {
	Minute string `json:"minute"`
}

type somethingChange struct {
	Changed bool `json:"changed"`
}

func getEvents(r *request) (any, error) {
	last := r.Header.Get("Last-Event-ID")
	if len(last) > 100 {
		return nil, problem(http.StatusBadRequest, "", "Last-Event-ID is too long")
	}
	return content{stream: func(e *events) { r.server.watcher.follow(e, last) }}, nil
}

// follow sends events until the reader has gone away: those after the id that it has seen last, where they are still known.
func (w *watcher) follow(e *events, last string) {
	began, number, known := w.join(last)
	defer w.leave()
	greeting := "ready" // with an id, so that nothing is missed by a reader who is cut off before the first change
	if last != "" && !known {
		greeting = "reset"
	}
	if e.send(eventID(began, number), greeting, somethingChange{greeting == "reset"}) != nil {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		all, wake, ok := w.after(began, number)
		if !ok {
			return // what it has not seen yet is forgotten: it is to come back
		}
		for _, one := range all {
			if e.send(eventID(began, one.number), one.name, one.value) != nil {
				return
			}
			number = one.number
		}
		select {
		case <-wake:
		case <-beat.C:
			if e.beat() != nil {
				return
			}
		case <-e.ctx.Done():
			return
		}
	}
}

func eventID(began string, number int) string { return began + "-" + strconv.Itoa(number) }

// join begins to watch where nobody has, and returns where a listener goes on.
func (w *watcher) join(last string) (began string, number int, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listeners++; !w.running {
		w.running, w.recent, w.number = true, nil, 0
		w.began, w.cond = strconv.FormatInt(time.Now().UnixNano(), 36), make(chan struct{})
		go w.watch()
	}
	start, text, _ := strings.Cut(last, "-")
	seen, err := strconv.Atoi(text)
	if err != nil || start != w.began || seen < w.number-len(w.recent) || seen > w.number {
		return w.began, w.number, false
	}
	return w.began, seen, true
}

func (w *watcher) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listeners--
}

// after returns the events after that one, and what is closed when there are more; false when some of them are forgotten.
func (w *watcher) after(began string, number int) (all []event, wake <-chan struct{}, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if began != w.began || number < w.number-len(w.recent) {
		return nil, nil, false
	}
	return w.recent[len(w.recent)-(w.number-number):], w.cond, true
}

// tell tells all listeners.
func (w *watcher) tell(name string, value any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number++
	if w.recent = append(w.recent, event{w.number, name, value}); len(w.recent) > mostRecent {
		w.recent = append([]event(nil), w.recent[len(w.recent)-mostRecent:]...)
	}
	close(w.cond)
	w.cond = make(chan struct{})
}

// watch looks until nobody has listened for a while, so that a browser that connects again finds what it has missed.
func (w *watcher) watch() {
	const patience = 30
	var seen sight
	for unheard := 0; unheard < patience; {
		w.look(&seen)
		time.Sleep(watchEvery)
		w.mu.Lock()
		if unheard++; w.listeners > 0 {
			unheard = 0
		}
		if unheard == patience {
			w.running = false
		}
		w.mu.Unlock()
	}
}

// A sight is what was seen at the last look.
type sight struct {
	looked   bool
	schedule string
	tick     time.Time
	pauses   string
	waiting  string
	live     map[string]RunChange
	mark     int64
}

// look compares what there is with what was seen, and tells what has changed. What cannot be read is looked at again the next time.
func (w *watcher) look(seen *sight) {
	s, invalid, err := w.server.current.get()
	if err != nil {
		return
	}
	first := !seen.looked
	seen.looked = true
	changed := func(was *string, is, name string) {
		if *was != is && !first {
			w.tell(name, somethingChange{true})
		}
		*was = is
	}
	changed(&seen.schedule, s.Digest+fmt.Sprint(invalid), "schedule")
	if tick := status.LastTick(s.StateDir); !tick.Equal(seen.tick) {
		if seen.tick = tick; !first {
			w.tell("tick", tickChange{tick.UTC().Format(time.RFC3339)})
		}
	}
	changed(&seen.pauses, changeOf(s.StateDir+"/orders.json"), "pauses")
	changed(&seen.waiting, changeOf(s.StateDir+"/waiting"), "waiting")
	w.lookAtRuns(s, seen, first)
}

// changeOf tells a file or folder that has changed from one that has not.
func changeOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// lookAtRuns tells of runs: of those that live from their files, of those that have ended, and of slots that were skipped or missed,
// from the history.
func (w *watcher) lookAtRuns(s *schedule.Schedule, seen *sight, first bool) {
	live := map[string]RunChange{}
	for _, storage := range (run.Storage{Dir: s.StateDir}).Folders() {
		states, lost, ended, err := run.Survey(storage.Dir)
		if err != nil {
			return
		}
		for _, state := range states {
			live[state.Begin.Run] = changeOfState(state, view.RunRunning)
		}
		for _, state := range lost {
			live[state.Begin.Run] = changeOfState(state, view.RunVanished)
		}
		for _, record := range ended {
			live[record.Run] = changeOfRecord(record)
		}
	}
	for id, change := range live {
		if seen.live[id] != change && !first {
			w.tell("run", change)
		}
	}
	db, err := history.OpenRead(s.StateDir)
	if err != nil {
		return
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), longestAnswer)
	defer cancel()
	added, mark, err := db.Added(ctx, seen.mark, mostRecent)
	if err != nil {
		return
	}
	for _, record := range added {
		if change := changeOfRecord(record); seen.live[record.Run] != change && live[record.Run] != change {
			w.tell("run", change)
		}
	}
	seen.live, seen.mark = live, mark
}

func changeOfState(state runfile.State, as view.RunState) RunChange {
	change := RunChange{Run: state.Begin.Run, Task: state.Begin.Task, State: as, Attempt: 1}
	switch {
	case state.Deferred():
		change.State, change.Attempt = view.RunDeferred, state.Deferral.Attempt
	case state.Attempt != nil:
		change.Attempt = state.Attempt.Number
	case as == view.RunRunning:
		change.State = view.RunStarting
	}
	return change
}

func changeOfRecord(r outcome.Record) RunChange {
	return RunChange{Run: r.Run, Task: r.Task, State: view.RunEnded, Attempt: r.Attempts, Outcome: string(r.Outcome)}
}
