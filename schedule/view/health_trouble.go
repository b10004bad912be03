package view

import (
	"context"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/overdue"
	"sched/schedule/state"
)

// A TroubleKind is what may be wrong with a task.
type TroubleKind string

const (
	LastFailed TroubleKind = "failed"   // its last run failed
	HasMissed  TroubleKind = "missed"   // slots after its last run, which no tick covered
	RunsLong   TroubleKind = "slow"     // much longer than usual
	IsOverdue  TroubleKind = "overdue"  // a run takes longer than expected, or there was no success for longer
	RunLost    TroubleKind = "vanished" // a run without a process, which no tick has finished
)

// A TaskTrouble is one thing that is wrong with one task.
type TaskTrouble struct {
	Kind TroubleKind
	Task string
	Run  state.Row // failed, missed: the last run; slow, vanished: the run itself, as it began

	For   time.Duration // slow: how long the run has taken so far
	Usual time.Duration // slow: how long a run usually takes
	Slots int64         // missed: how many; 0 until Explain
	First time.Time     // missed: the first slot, and the last
	Final time.Time

	Overdue overdue.Incident // of IsOverdue
}

// A run is slow when it has taken more than slowFactor times as long as usual, and at least
// slowLeast more. A run of 10 s instead of 2 is no trouble. The usual time is known after slowKnown
// successes.
const (
	slowFactor = 3
	slowLeast  = time.Minute
	slowKnown  = 3
)

func slow(running time.Duration, usual state.Usual) bool {
	return usual.Runs >= slowKnown && running > slowFactor*usual.Duration && running >= usual.Duration+slowLeast
}

// runningFor returns how long the present attempt of a run has taken so far; 0 while it starts.
func runningFor(row state.Row, now time.Time) time.Duration {
	if !row.Begun() {
		return 0
	}
	return now.Sub(row.Attempt.At)
}

func (t *TaskHealth) longest(now time.Time) (longest time.Duration) {
	for _, row := range t.Running {
		longest = max(longest, runningFor(row, now))
	}
	return longest
}

func (t *TaskHealth) troubles(now time.Time) (all []TaskTrouble) {
	if t.Last.Outcome.Failure() {
		all = append(all, TaskTrouble{Kind: LastFailed, Task: t.Name, Run: t.Last})
	}
	for _, total := range t.Totals {
		if total.Outcome == outcome.Missed && total.Slot.After(t.Last.Slot) {
			all = append(all, TaskTrouble{Kind: HasMissed, Task: t.Name, Run: t.Last, First: total.Slot, Final: total.Slot})
		}
	}
	for _, row := range t.Running {
		if running := runningFor(row, now); slow(running, t.Usual) {
			all = append(all, TaskTrouble{Kind: RunsLong, Task: t.Name, Run: state.Row{ID: row.ID, Task: row.Task, Slot: row.Slot, Started: row.Started}, For: running, Usual: t.Usual.Duration})
		}
	}
	for _, i := range t.Overdue {
		one := TaskTrouble{Kind: IsOverdue, Task: t.Name, Overdue: i}
		if i.Kind == overdue.Within {
			one.Run.ID = i.ID
		}
		all = append(all, one)
	}
	for _, row := range t.Lost {
		all = append(all, TaskTrouble{Kind: RunLost, Task: t.Name, Run: state.Row{ID: row.ID, Task: row.Task, Slot: row.Slot, Started: row.Started}})
	}
	return all
}

// Explain fills in what HealthOf leaves out of the troubles, with a query for each: why runs
// failed, and how many slots were missed.
func (s *Health) Explain() error {
	if len(s.Troubles) == 0 {
		return nil
	}
	db, err := state.OpenRead(s.Schedule.StateDir, state.Patience)
	if err != nil {
		return err
	}
	defer db.Close()
	var failed []string
	for _, t := range s.Troubles {
		if t.Kind == LastFailed {
			failed = append(failed, t.Task)
		}
	}
	last, err := db.Runs().Last(context.Background(), failed)
	if err != nil {
		return err
	}
	for i := range s.Troubles {
		t := &s.Troubles[i]
		switch r := last[t.Task]; {
		case t.Kind == LastFailed && r.ID == t.Run.ID:
			t.Run = r
		case t.Kind == HasMissed:
			if err := t.countMissed(db); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *TaskTrouble) countMissed(db *state.DB) error {
	rows, err := db.Runs().Find(context.Background(), state.Query{
		Task: t.Task, Outcomes: []outcome.Outcome{outcome.Missed}, Since: t.Run.Slot.Add(time.Microsecond)})
	t.add(rows)
	return err
}

// add adds records of missed slots, given newest first.
func (t *TaskTrouble) add(rows []state.Row) {
	for _, r := range rows {
		t.Slots += int64(max(r.Slots, 1))
		t.First, t.Final = r.Slot, humanize.Later(t.Final, humanize.Later(r.Slot, r.LastSlot))
	}
}
