package run

import (
	"testing"

	"sched/schedule"
	"sched/schedule/boot"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/run/previous"
)

// A run that a tick found lost had no process that said how it ended: putting its record away does, for the run after it.
func TestTheRunAfterOneThatWasPutAwayKnowsHowThatEnded(t *testing.T) {
	if boot.ID() == "" {
		t.Skip("this system does not tell boots apart")
	}
	dir := t.TempDir()
	task := &schedule.Task{Name: "t", Hooks: schedule.Hooks{OnRecovery: []schedule.Hook{{}}}}
	previous.Keep(dir, task, outcome.Record{Run: "1", Task: "t", Outcome: outcome.Succeeded})
	lost := Ended{Record: outcome.Record{Run: "2", Task: "t", Outcome: outcome.Lost}}
	db, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := (Storage{Dir: dir}).PutAway(db, []Ended{lost}); err != nil {
		t.Fatal(err)
	}
	if last, ok := previous.Outcome(dir, "t", "3"); !ok || last != outcome.Lost {
		t.Errorf("before run 3 there was %q (%t)", last, ok)
	}
}
