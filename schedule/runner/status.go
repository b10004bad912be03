package runner

import (
	"context"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/history"

	"sched/schedule/outcome"

	"sched/schedule/controls"
	"sched/schedule/ledger"
	"sched/schedule/runfile"

	"sched/schedule/outbox"
)

// A Status is how a schedule is doing at one moment.
type Status struct {
	Schedule *schedule.Schedule
	At       time.Time
	Invalid  bool         // an edit broke the file, and Schedule is the last valid one
	LastTick time.Time    // the last minute that a tick covered; zero when none did
	Running  int          // runs that live, also those of tasks that are gone
	Tasks    []TaskStatus // the active ones, in file order
	Troubles []Trouble    // in the order of their tasks
	Pauses   controls.Pauses
	Untold   outbox.Undelivered // the notifications that wait
	Unread   error              // why the history, or the file of a run, cannot be read
}

// A TaskStatus is what is known of an active task.
type TaskStatus struct {
	*schedule.Task
	Totals   []history.Total // what the history counts
	Last     outcome.Record  // its newest run that has ended, in short; without a Run there is none
	Success  time.Time       // when its newest success ended; zero when there is none
	Usual    history.Usual   // of a task that is running for a while; zero when its history tells nothing
	Running  []runfile.State
	Vanished []runfile.State // runs that nobody watches, and that no tick has finished yet
}

// StatusOf looks at the schedule and at what its state folder tells. It writes nothing, and keeps neither
// a tick nor a run from anything. Its cost depends on the tasks and on the runs that live, not on the
// length of the history.
func StatusOf(s *schedule.Schedule, invalid bool, now time.Time) *Status {
	status := &Status{Schedule: s, Invalid: invalid, At: now}
	index := map[string]*TaskStatus{}
	status.Tasks = make([]TaskStatus, 0, len(s.Tasks))
	for _, t := range s.Tasks {
		if s.Active(t) {
			status.Tasks = append(status.Tasks, TaskStatus{Task: t})
			index[t.Name] = &status.Tasks[len(status.Tasks)-1]
		}
	}
	var ended []outcome.Record
	for _, place := range (State{Dir: s.StateDir}).folders() {
		if tick := ledger.LastTick(place.Dir); tick.After(status.LastTick) {
			status.LastTick = tick
		}
		ended = append(ended, status.lookAtRuns(place.Dir, index)...)
		status.Untold.Add(outbox.In(place.Dir))
	}
	of := ""
	if len(s.Store.Servers) > 0 {
		of = s.Name
	}
	orders, err := controls.ReadFile(s.StateDir, of, now) // of a store this machine's copy: nobody waits for it here
	if err != nil {
		status.Unread = err
	}
	status.Pauses = orders.Pauses
	status.lookAtHistory(index) // after the runs: what ended meanwhile is in it
	for _, r := range ended {
		if t := index[r.Task]; t != nil {
			t.ended(r)
		}
	}
	for i := range status.Tasks {
		status.Troubles = append(status.Troubles, status.Tasks[i].troubles(now)...)
	}
	return status
}

// lookAtRuns gives each task its runs that live or vanished, and returns those that have ended and wait
// to be put into the history.
func (s *Status) lookAtRuns(state string, index map[string]*TaskStatus) (ended []outcome.Record) {
	live, lost, ended, err := survey(state)
	if err != nil {
		s.Unread = err
	}
	live = slices.DeleteFunc(live, runfile.State.Deferred) // for their next attempt: nothing of them runs
	s.Running += len(live)
	for _, log := range live {
		if t := index[log.Begin.Task]; t != nil {
			t.Running = append(t.Running, log)
		}
	}
	for _, log := range lost {
		if t := index[log.Begin.Task]; t != nil {
			t.Vanished = append(t.Vanished, log)
		}
	}
	return ended
}

// lookAtHistory opens the history once, for all tasks.
func (s *Status) lookAtHistory(index map[string]*TaskStatus) {
	db, err := history.OpenRead(s.Schedule.StateDir)
	if err != nil {
		s.Unread = err
		return
	}
	defer db.Close()
	totals, err := db.Totals(context.Background())
	if err != nil {
		s.Unread = err
		return
	}
	var slow []string
	for name, t := range index {
		t.Totals = totals[name]
		if t.longest(s.At) > slowLeast {
			slow = append(slow, name)
		}
		if last := history.LastRan(t.Totals); last != nil {
			t.Last = outcome.Record{Run: last.Run, Task: name, Slot: last.Slot, Started: last.Started,
				Ended: last.Ended, Outcome: last.Outcome, ExitCode: last.ExitCode}
		}
		for _, total := range t.Totals {
			if total.Outcome == outcome.Succeeded {
				t.Success = total.Ended
			}
		}
	}
	if len(slow) == 0 {
		return
	}
	usual, err := db.Usual(context.Background(), slow)
	if err != nil {
		s.Unread = err
	}
	for name, u := range usual {
		index[name].Usual = u
	}
}

// ended takes a record that is not in the history yet.
func (t *TaskStatus) ended(r outcome.Record) {
	if r.Run > t.Last.Run {
		t.Last = r
	}
	if r.Outcome == outcome.Succeeded && r.Ended.After(t.Success) {
		t.Success = r.Ended
	}
}
