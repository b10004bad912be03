package runner

import (
	"context"
	"fmt"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/run"
)

// startBackground hands over the runs of the slots. Those whose condition commands must be asked first come last, and nothing
// waits for them.
func (r *running) startBackground(ctx context.Context, slots []schedule.Slot) {
	var free, conditional []schedule.Slot
	for _, slot := range slots {
		if len(slot.Task.ConditionCommands) > 0 {
			conditional = append(conditional, slot)
		} else {
			free = append(free, slot)
		}
	}
	r.startAtOnce(ctx, free)
	for _, slot := range conditional {
		r.startConditional(ctx, slot)
	}
}

// startAtOnce hands over the runs of slots without condition commands.
func (r *running) startAtOnce(ctx context.Context, slots []schedule.Slot) {
	locks := r.lockAhead(slots)
	for i, slot := range slots {
		if ctx.Err() != nil {
			r.skipAll(slots[i:], whyDone(ctx))
			locks.release(i, len(slots))
			return
		}
		begun, ok := r.begin(slot, locks.of(i))
		if !ok {
			locks.release(i, i+1)
			continue
		}
		r.handOver(begun)
	}
}

// handOver gives a run that has begun to its witness.
func (r *running) handOver(begun *run.Run) {
	record := begun.Record()
	if err := begun.HandOver(r.Host.Self); err != nil {
		r.records.done(begun.FailBeforeStart(err, nil), begun.Dir)
		return
	}
	r.Report.Started(record)
}

// begin decides whether a slot runs whose task has no condition commands, takes its lock, and begins its run.
func (r *running) begin(slot schedule.Slot, take takeLock) (*run.Run, bool) {
	record := r.newRecord(slot)
	if reason := r.refusal(slot); reason != "" {
		r.skip(record, slot.Task, reason)
		return nil, false
	}
	return r.admit(record, slot, take)
}

// admit takes the lock of a slot that may run, and begins its run.
func (r *running) admit(record outcome.Record, slot schedule.Slot, take takeLock) (*run.Run, bool) {
	lock, reason := take(&record, slot)
	if reason != "" {
		r.skip(record, slot.Task, reason)
		return nil, false
	}
	return r.beginRun(record, slot.Task, lock)
}

// beginRun begins the run of a slot, in a spare folder where it must.
func (r *running) beginRun(record outcome.Record, task *schedule.Task, lock mutex.Lock) (*run.Run, bool) {
	begun, err := r.caller(r.Storage).Begin(record, task, lock)
	if spare, ok := r.spare.instead(err); ok {
		begun, err = r.caller(spare).Begin(record, task, lock)
	}
	if err != nil {
		r.cannotBegin(record, task, lock, err)
		return nil, false
	}
	r.ledger.Started(task.Name, record.Slot)
	return begun, true
}

// caller is what this tick gives to its runs.
func (r *running) caller(storage run.Storage) run.Caller {
	return run.Caller{Storage: storage, Environ: r.Host.Environ, Sender: r.sender, Terminate: r.terminate}
}

func (t *Tick) newRecord(slot schedule.Slot) outcome.Record {
	return outcome.Record{
		Run: outcome.NewID(), Task: slot.Task.Name, Mutex: slot.Task.Mutex, Slot: slot.At.UTC(),
		Background: slot.Task.Background, Server: t.Host.Server,
	}
}

// skip records that a slot did not run, and fires the task's on_skip hooks beside everything else.
func (r *running) skip(record outcome.Record, task *schedule.Task, reason string) {
	record.Outcome, record.Reason, record.Ended = outcome.Skipped, reason, clock.Now()
	r.ledger.Settle(record)
	if len(task.Hooks.OnSkip) == 0 {
		r.records.done(record, r.Storage.Dir)
		return
	}
	r.skipHooks.Go(func() {
		r.records.done(r.caller(r.Storage).Unbegun(record, task).Skip(), r.Storage.Dir)
	})
}

// skipAll records slots that something keeps from starting.
func (r *running) skipAll(slots []schedule.Slot, reason string) {
	for _, slot := range slots {
		r.skip(r.newRecord(slot), slot.Task, reason)
	}
}

// cannotBegin records a run that no folder could hold. Its failure is told like any other.
func (r *running) cannotBegin(record outcome.Record, task *schedule.Task, lock mutex.Lock, err error) {
	record.Outcome, record.Ended, record.Reason = outcome.Failed, clock.Now(), fmt.Sprintf("cannot begin: %v", err)
	r.ledger.Settle(record)
	r.records.done(r.caller(r.Storage).Unbegun(record, task).Fail(lock), r.Storage.Dir)
}
