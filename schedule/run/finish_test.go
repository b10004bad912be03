package run

import (
	"testing"
	"time"

	"sched/schedule/pause"
)

// A finish that is killed after it has paused the task leaves the run to another one. That one says
// the same, and makes no second pause, also when minutes have passed.
func TestAFinishThatWasKilledHasPausedItsTaskOnce(t *testing.T) {
	w := newEndedRuns(t, "echo failed")
	w.task.PauseAfter = 1
	r, row := w.fails()
	row.Reason = "exit code 7"
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
		} else if !last.InEffect(w.now) || !last.Since.Equal(made.Since) || last.By != pause.BySched {
			t.Errorf("first %+v, then %+v", made, last)
		}
		w.now = w.now.Add(3 * time.Minute)
	}
}
