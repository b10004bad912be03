package run

import (
	"context"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/outcome"
)

// An Unbegun is a slot that has hooks to fire and no run: it is skipped, or no folder could hold its run.
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

// Skip fires the on_skip hooks of the task, and returns the record with the notes about those that failed.
func (u Unbegun) Skip() outcome.Record {
	return u.fire([]keyedHooks{{"on_skip", u.r.task.Hooks.OnSkip}}, nil)
}

// Fail fires the hooks that come after a failed run, releases the lock (nil: none) between commands and notifications, and
// returns the record with the notes about hooks that failed.
func (u Unbegun) Fail(lock mutex.Lock) outcome.Record {
	return u.fire(u.r.hooks.after(u.r.Record()), lock)
}

func (u Unbegun) fire(hooks []keyedHooks, lock mutex.Lock) outcome.Record {
	record := u.r.Record()
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
