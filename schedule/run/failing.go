package run

import (
	"context"
	"fmt"
	"time"

	"sched/schedule/clock"
	"sched/schedule/pause"
)

// failuresBefore returns how many runs of the task failed in a row before this one, and ended after
// a time. It counts to most.
func (h *hooks) failuresBefore(most int, since time.Time) int {
	n, _ := h.r.DB.Past().FailuresBefore(context.Background(), h.r.row.Task, h.r.row.ID, since, most)
	return n
}

// pauseAfter pauses the task if its run was the last of so many failures in a row (pause_after).
// The reason of the run says so, and with it each message about the run. A finish that begins again
// finds the pause of the one before.
func (f *finisher) pauseAfter() {
	r, most := f.run, f.run.task.PauseAfter
	if most == 0 || !f.result.Outcome.Failure() || r.DB.InMemory() {
		return
	}
	paused, err := f.pause(most)
	f.noteError(err)
	if paused {
		f.result.Reason = join(f.result.Reason, fmt.Sprintf("%d in a row, so %s is paused", most, r.task.Name))
	}
}

// pause pauses the task if it has failed so often since its last pause was over, and reports
// whether sched has paused it. It leaves a pause in effect alone.
func (f *finisher) pause(most int) (paused bool, err error) {
	r, now := f.run, clock.Now()
	source := pause.Source{Dir: r.Dir, Store: r.Store, DB: r.DB}
	controls, err := source.Read()
	if err != nil {
		return false, err
	}
	last := controls.Pauses[r.task.Name]
	if last.InEffect(now) {
		return last.By == pause.BySched, nil
	}
	since := last.Ended
	if since.IsZero() {
		since = last.Until
	}
	if 1+r.hooks.failuresBefore(most-1, since) < most {
		return false, nil
	}
	made := pause.Pause{By: pause.BySched, Server: r.row.Server, Since: now.UTC().Round(0), Reason: fmt.Sprintf("%d failures in a row", most)}
	err = source.Pause(func(all pause.Pauses) pause.Pauses {
		if all[r.task.Name].InEffect(now) {
			return nil
		}
		return pause.Pauses{r.task.Name: made}
	})
	return err == nil, err
}
