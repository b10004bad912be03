package view

import (
	"cmp"
	"context"
	"time"

	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/overdue"
	"sched/schedule/pause"
	"sched/schedule/state"
)

// A Health is how a schedule is doing at one moment. Source.Status judges it, and Metrics writes it
// for Prometheus.
type Health struct {
	Schedule    *schedule.Schedule
	At          time.Time
	Invalid     bool          // the file is invalid, and Schedule is what runs in its place
	LastTick    time.Time     // the last minute that a tick covered; zero when no tick has covered one
	Running     int           // runs that live, even if their task is gone
	Tasks       []TaskHealth  // the active tasks, in file order
	Troubles    []TaskTrouble // in the order of their tasks
	Pauses      pause.Pauses
	Undelivered state.Undelivered // the notifications that wait
	Outage      *cluster.Outage   // of the store, as the last tick found it; nil without an outage
	Findings    []cluster.Finding // what the last tick found wrong with the servers of the store
	Err         error             // why the database could not be read
}

// A TaskHealth is how an active task is doing.
type TaskHealth struct {
	*schedule.Task
	Totals  []state.Total // the slots in the history, by outcome
	Last    state.Row     // its newest ended run, in short; if no run has ended, Run is empty
	Success time.Time     // when its newest success ended; zero when it never succeeded
	Usual   state.Usual   // read only while the task runs longer than slowLeast; zero with too little history
	Running []state.Row
	Lost    []state.Row        // runs without a process, which no tick has finished yet
	Overdue []overdue.Incident // that were open at the last tick and still are
}

// HealthOf returns how the schedule is doing at the time now, from its state folder. It writes
// nothing, and holds no lock that a tick or a run would wait for. Its cost depends on the tasks and
// on the runs that live, not on the length of the history.
func HealthOf(s *schedule.Schedule, invalid bool, now time.Time) *Health {
	health := &Health{Schedule: s, Invalid: invalid, At: now, LastTick: LastTick(s.StateDir)}
	index := map[string]*TaskHealth{}
	health.Tasks = make([]TaskHealth, 0, len(s.Tasks))
	for _, t := range s.Tasks {
		if s.Active(t) {
			health.Tasks = append(health.Tasks, TaskHealth{Task: t})
			index[t.Name] = &health.Tasks[len(health.Tasks)-1]
		}
	}
	db, err := state.OpenRead(s.StateDir, state.Patience)
	var live, lost []state.Row
	if err == nil {
		defer db.Close()
		live, lost, err = db.Going(context.Background())
	}
	health.Err = err
	alive := map[string]bool{}
	for _, row := range live {
		alive[row.ID] = true
		if row.Waits() { // nothing of it runs
			continue
		}
		health.Running++
		if t := index[row.Task]; t != nil {
			t.Running = append(t.Running, row)
		}
	}
	for _, row := range lost {
		if t := index[row.Task]; t != nil {
			t.Lost = append(t.Lost, row)
		}
	}
	if len(s.Store.Servers) > 0 {
		notes := cluster.NotesIn(s.StateDir)
		health.Outage, health.Findings = notes.Outage, notes.Findings
	}
	read, err := pause.ReadHere(s) // a status never waits for a store
	if err != nil {
		health.Err = err
	}
	health.Pauses = read.Pauses
	if err == nil && db != nil {
		health.addOverdue(db, index)
		health.addHistory(db, index)
	}
	for i := range health.Tasks {
		t := &health.Tasks[i]
		t.Overdue = overdue.StillOpen(t.Overdue, alive, t.Success) // that are still open
		health.Troubles = append(health.Troubles, t.troubles(now)...)
	}
	return health
}

func (s *Health) addOverdue(db *state.DB, index map[string]*TaskHealth) {
	if len(s.Schedule.Expecting()) == 0 {
		return
	}
	open, err := overdue.Open(context.Background(), db)
	s.Err = cmp.Or(s.Err, err)
	for name, incidents := range open {
		if t := index[name]; t != nil && t.Expect != (schedule.Expect{}) {
			t.Overdue = incidents
		}
	}
}

// addHistory adds to each task its totals, last run and last success from the history.
func (s *Health) addHistory(db *state.DB, index map[string]*TaskHealth) {
	totals, err := db.Past().Totals(context.Background())
	if err == nil {
		s.Undelivered, err = db.Messages().Undelivered(context.Background())
	}
	if err != nil {
		s.Err = cmp.Or(s.Err, err)
		return
	}
	find := func(q state.Query) ([]state.Row, error) { return db.Runs().Find(context.Background(), q) }
	var slow []string
	for name, t := range index {
		t.Totals = totals[name]
		if t.longest(s.At) > slowLeast {
			slow = append(slow, name)
		}
		if last := state.LastRan(t.Totals); last != nil {
			t.Last = NewestBefore(state.Row{ID: last.Run, Task: name, Slot: last.Slot, Started: last.Started,
				Result: state.Result{Ended: last.Ended, Outcome: last.Outcome, ExitCode: last.ExitCode}}, s.At, find)
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
	usual, err := db.Past().Usual(context.Background(), slow)
	if err != nil {
		s.Err = cmp.Or(s.Err, err)
	}
	for name, u := range usual {
		index[name].Usual = u
	}
}

// stale is how old the last tick may be: if it is older, at least two ticks did not come.
const stale = 3 * time.Minute

// LastTick returns the last minute that a tick covered with the state folder. It is zero when no
// tick ever covered one, or when the database cannot be read.
func LastTick(dir string) time.Time {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return time.Time{}
	}
	defer db.Close()
	last, _ := db.Values().Covered(context.Background())
	return last
}

// TicksMissing says that the last tick is too old, or ahead of a clock that was set back; else "".
func TicksMissing(last, now time.Time) string {
	switch age := now.Sub(last); {
	case last.IsZero():
		return "no tick ever came"
	case age > stale:
		return "no tick came for " + humanize.Duration(age)
	case age < -stale:
		return "the last tick is " + humanize.Duration(-age) + " ahead of the clock, which was set back"
	}
	return ""
}
