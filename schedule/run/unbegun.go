package run

import (
	"context"
	"encoding/json"
	"fmt"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// Skip settles that a slot does not run, and fires the on_skip hooks of its task. The row has
// the outcome. The row that Skip returns also has the notes about hooks that failed. A tick that
// is killed meanwhile leaves a row that is finishing, and the next one fires the hooks that have
// not ended. The error is *state.StaleError when another process has the row.
func (c Caller) Skip(row state.Row, task *schedule.Task) (state.Row, error) {
	snapshot, err := json.Marshal(task)
	if err != nil {
		return row, err
	}
	row.Snapshot = snapshot
	own, err := c.Self.Owned(context.Background())
	if err == nil {
		err = own.Begin(context.Background(), row)
	}
	if err != nil {
		return row, err
	}
	r := c.newRun(*task, row)
	r.row.own, r.row.Phase, r.row.Owner = own, state.Finishing, own.ID
	return r.finish(row), nil
}

// Overdue fires the on_overdue hooks of a task that the incident in the row is about, each once:
// the database notes which have ended. It returns notes about hooks that failed. The caller makes
// sure that no other process does the same.
func (c Caller) Overdue(row state.Row, task *schedule.Task) (notes []string) {
	r := c.newRun(*task, row)
	r.row.own = c.DB.Unowned()
	fired := keyedHooks{key: "on_overdue", hooks: task.Hooks.OnOverdue}
	notes = r.hooks.run(fired, row)
	r.hooks.queue(fired, row)
	r.hooks.send()
	return notes
}

// FailUnbegun fails a slot that no folder could hold, for the reason why: it fires the hooks that
// come after a failed run, releases the lock (nil: none) between commands and notifications, and
// returns the row with the notes about hooks that failed.
func (c Caller) FailUnbegun(row state.Row, task *schedule.Task, lock mutex.Lock, why error) state.Row {
	row.Outcome, row.Ended, row.Reason = outcome.Failed, clock.Now(), fmt.Sprintf("cannot begin: %v", why)
	r := c.newRun(*task, row)
	r.lock, r.row.none = lock, true
	return r.finish(row)
}
