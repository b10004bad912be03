package runner

import (
	"context"
	"time"

	"sched/schedule/history"

	"sched/schedule/outcome"

	"sched/schedule/runfile"
)

// A Kind is what may be wrong with a task.
type Kind string

const (
	LastFailed Kind = "failed"   // its last run was no success
	HasMissed  Kind = "missed"   // slots since its last run, that no tick covered
	RunsLong   Kind = "slow"     // much longer than usual
	Vanished   Kind = "vanished" // a run that nobody watches, and that no tick has finished
)

// A Trouble is one thing that is wrong with one task.
type Trouble struct {
	Kind Kind
	Task string
	Run  outcome.Record // failed, missed: the last one; slow, vanished: the beginning of the one that is

	For   time.Duration // slow: how long it has been running
	Usual time.Duration // slow: how long it usually does
	Slots int64         // missed: how many; 0 until Explain
	First time.Time     // missed: the first of them, and the last
	Final time.Time
}

// A run is slow when it has taken more than three times as long as usual, and at least a minute more:
// a task of 2 s that takes 10 is nobody's worry. What is usual takes three successes to know.
const (
	slowFactor = 3
	slowLeast  = time.Minute
	slowKnown  = 3
)

func slow(running time.Duration, usual history.Usual) bool {
	return usual.Runs >= slowKnown && running > slowFactor*usual.Duration && running >= usual.Duration+slowLeast
}

// runningFor is for how long the present attempt of a run has been running.
func runningFor(log runfile.State, now time.Time) time.Duration {
	if log.Attempt == nil {
		return 0 // it is starting
	}
	return now.Sub(log.Attempt.At)
}

// longest is for how long the task has been running.
func (t *TaskStatus) longest(now time.Time) (longest time.Duration) {
	for _, log := range t.Running {
		longest = max(longest, runningFor(log, now))
	}
	return longest
}

// troubles are what is wrong with the task.
func (t *TaskStatus) troubles(now time.Time) (all []Trouble) {
	if t.Last.Outcome.Failure() {
		all = append(all, Trouble{Kind: LastFailed, Task: t.Name, Run: t.Last})
	}
	for _, total := range t.Totals {
		if total.Outcome == outcome.Missed && total.Slot.After(t.Last.Slot) {
			all = append(all, Trouble{Kind: HasMissed, Task: t.Name, Run: t.Last, First: total.Slot, Final: total.Slot})
		}
	}
	for _, log := range t.Running {
		if running := runningFor(log, now); slow(running, t.Usual) {
			all = append(all, Trouble{Kind: RunsLong, Task: t.Name, Run: log.Begin, For: running, Usual: t.Usual.Duration})
		}
	}
	for _, log := range t.Vanished {
		all = append(all, Trouble{Kind: Vanished, Task: t.Name, Run: log.Begin})
	}
	return all
}

// Explain looks up what the troubles are about, which takes a question for each: why runs failed, and how many
// slots were missed.
func (s *Status) Explain() error {
	if len(s.Troubles) == 0 {
		return nil
	}
	db, err := history.OpenRead(s.Schedule.StateDir)
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
	last, err := db.Last(context.Background(), failed)
	if err != nil {
		return err
	}
	for i := range s.Troubles {
		t := &s.Troubles[i]
		switch r := last[t.Task]; {
		case t.Kind == LastFailed && r.Run == t.Run.Run:
			t.Run = r
		case t.Kind == HasMissed:
			if err := t.count(db); err != nil {
				return err
			}
		}
	}
	return nil
}

// count counts the slots that were missed since the last run.
func (t *Trouble) count(db *history.DB) error {
	records, err := db.Find(context.Background(), history.Query{
		Task: t.Task, Outcomes: []outcome.Outcome{outcome.Missed}, Since: t.Run.Slot.Add(time.Microsecond)})
	for _, r := range records {
		t.Slots += int64(max(r.Slots, 1))
		t.First = r.Slot // they come newest first
		if last := r.Until; last.After(t.Final) {
			t.Final = last
		}
	}
	return err
}
