package run

import (
	"context"
	"os"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/pause"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// A finish that is killed after it has paused the task leaves the run to another one. That one says
// the same, and makes no second pause, also when minutes have passed.
func TestAFinishThatWasKilledHasPausedItsTaskOnce(t *testing.T) {
	now := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	defer func(before func() time.Time) { clock.Now = before }(clock.Now)
	clock.Now = func() time.Time { return now }
	caller := NewCaller(holding.StorageAt(t.TempDir(), nil), state.Tick, nil)
	defer caller.DB.Close()
	row := state.Row{ID: outcome.NewID(), Task: "t", Mutex: "t", Slot: now, Server: "here"}
	r, err := caller.Begin(row, &schedule.Task{Name: "t", Mutex: "t", PauseAfter: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	row.Outcome, row.Reason, row.Started, row.Ended = outcome.Failed, "exit code 7", now, now
	source := pause.Source{Dir: r.Dir, DB: r.DB}
	var made pause.Pause
	for n := range 2 {
		f := &finisher{run: r, result: row}
		f.pauseAfter()
		if f.result.Reason != "exit code 7; 1 in a row, so t is paused" {
			t.Errorf("finish %d says %q, %q", n+1, f.result.Reason, f.result.Notes)
		}
		controls, err := source.Read()
		if err != nil {
			t.Fatal(err)
		}
		if last := controls.Pauses.Last("t"); n == 0 {
			made = last
		} else if !last.InEffect(now) || !last.Since.Equal(made.Since) || last.By != pause.BySched {
			t.Errorf("first %+v, then %+v", made, last)
		}
		now = now.Add(3 * time.Minute)
	}
}

// A run whose attempts and end could not be written down had printed nothing, so its output was
// removed, and with it the count of its attempts: the next tick started them again.
func TestTheOutputOfARunWithoutARecordStays(t *testing.T) {
	storage := holding.StorageAt(t.TempDir(), nil)
	tick := NewCaller(storage, state.Tick, os.Environ())
	task := &schedule.Task{Name: "report", Mutex: "report", Command: schedule.Command{List: []string{"true"}}}
	r, err := tick.Begin(state.Row{ID: outcome.NewID(), Task: "report", Mutex: "report", Slot: time.Now()}, task, nil)
	if err != nil {
		t.Fatal(err)
	}
	output.MarkUnwritten(r.Output, 2)
	if err := storage.DB.Close(); err != nil { // from here on nothing can be written down
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	r.Terminate = ended
	result := r.Own.SoFar()
	result.Outcome, result.Ended = outcome.Succeeded, time.Now()
	Finish(r, result)
	if n := output.Unwritten(r.Own.Output); n != 2 {
		t.Errorf("the output counts %d attempts", n)
	}
}
