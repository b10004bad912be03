package run

import (
	"context"
	"encoding/json"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// Skip settles that a slot does not run, and fires the on_skip hooks of its task. The record has
// the outcome; the one that it returns has the notes about hooks that failed. A tick that is killed
// meanwhile leaves a row that is finishing, and the next one fires the hooks that have not ended.
// The error is *state.StaleError when another process has the row.
func (c Caller) Skip(record outcome.Record, task *schedule.Task) (outcome.Record, error) {
	snapshot, err := json.Marshal(task)
	if err != nil {
		return record, err
	}
	record.Snapshot = snapshot
	row := history.RowOf(c.Dir, record)
	own, err := c.Self.Owned(context.Background())
	if err == nil {
		err = own.Begin(context.Background(), row)
	}
	if err != nil {
		return record, err
	}
	row.Phase, row.Owner = state.Finishing, own.ID
	r := c.newRun(*task, record)
	r.own, r.row = own, row
	return r.finish(record), nil
}

// An Unbegun is a slot that has hooks to fire and no run: no folder could hold it.
type Unbegun struct{ r *Run }

// Unbegun returns the slot of the record, which has its outcome already.
func (c Caller) Unbegun(record outcome.Record, task *schedule.Task) Unbegun {
	return Unbegun{c.newRun(*task, record)}
}

// Overdue fires the on_overdue hooks of a task that the incident in the record is about, each once:
// the database notes which have ended. It returns notes about those that failed. The caller sees to
// it that no other process does the same.
func (c Caller) Overdue(record outcome.Record, task *schedule.Task) (notes []string) {
	r := c.newRun(*task, record)
	r.own, r.row.ID = c.DB.Unowned(), record.Run
	fired := keyedHooks{"on_overdue", task.Hooks.OnOverdue}
	notes = r.hooks.run(fired, record)
	r.hooks.queue(fired, record)
	r.hooks.send()
	return notes
}

// Fail fires the hooks that come after a failed run, releases the lock (nil: none) between commands
// and notifications, and returns the record with the notes about hooks that failed.
func (u Unbegun) Fail(lock mutex.Lock) outcome.Record {
	record, hooks := u.r.Record(), u.r.hooks.after(u.r.Record())
	for _, h := range hooks {
		record.Notes = append(record.Notes, u.r.hooks.run(h, record)...)
	}
	if lock != nil {
		lock.Release(context.Background())
	}
	for _, h := range hooks {
		u.r.hooks.queue(h, record)
		u.r.hooks.trigger(h, &record)
	}
	u.r.hooks.startTriggered(record)
	u.r.hooks.send()
	return record
}
