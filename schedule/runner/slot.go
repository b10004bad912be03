package runner

import (
	"context"
	"fmt"
	"time"

	"sched/mutex"
	"sched/schedule"

	"sched/schedule/clock"
	"sched/schedule/outcome"

	"sched/schedule/runfile"

	"sched/schedule/statedir"
)

// startBackground forks the runs of the slots. Those whose conditions must be asked first come last, and
// nothing waits for them.
func (t *Tick) startBackground(ctx context.Context, slots []schedule.Slot) {
	slots, guarded := apart(slots)
	t.startAtOnce(ctx, slots)
	for _, slot := range guarded {
		t.startGuarded(ctx, slot)
	}
}

// apart takes the slots with conditions to ask out of the others.
func apart(slots []schedule.Slot) (free, guarded []schedule.Slot) {
	for _, slot := range slots {
		if len(slot.Task.ConditionCommands) > 0 {
			guarded = append(guarded, slot)
		} else {
			free = append(free, slot)
		}
	}
	return free, guarded
}

// startAtOnce forks the runs of slots without conditions to ask.
func (t *Tick) startAtOnce(ctx context.Context, slots []schedule.Slot) {
	locks := t.lockAhead(slots)
	for i, slot := range slots {
		if ctx.Err() != nil {
			t.skipAll(slots[i:], whyDone(ctx))
			locks.release(i, len(slots))
			return
		}
		r, ok := t.prepare(slot, locks.of(i))
		if !ok {
			locks.release(i, i+1)
			continue
		}
		t.launch(r)
	}
}

// launch gives a run that has begun to its witness.
func (t *Tick) launch(r *Run) {
	if err := r.fork(t.Self); err != nil {
		t.done(r.finish(runfile.State{}, r.unstarted(err)), r.state.Dir)
		return
	}
	t.Started(r.record())
	r.leave()
}

// prepare decides whether a slot runs whose task has no conditions to ask, takes its lock, and begins its run.
func (t *Tick) prepare(slot schedule.Slot, take takeLock) (*Run, bool) {
	record := t.newRecord(slot)
	if reason := t.barred(slot); reason != "" {
		t.skip(record, slot.Task, reason)
		return nil, false
	}
	return t.admit(record, slot, take)
}

// admit takes the lock of a slot that may run, and begins its run.
func (t *Tick) admit(record outcome.Record, slot schedule.Slot, take takeLock) (*Run, bool) {
	lock, reason := take(&record, slot)
	if reason != "" {
		t.skip(record, slot.Task, reason)
		return nil, false
	}
	return t.begin(record, slot.Task, lock)
}

// begin begins the run of a slot, in a spare folder where it must.
func (t *Tick) begin(record outcome.Record, task *schedule.Task, lock mutex.Lock) (*Run, bool) {
	r, err := begin(t.State, record, task, lock, t.Environ)
	if spare := t.spareFor(err); spare != nil {
		r, err = begin(*spare, record, task, lock, t.Environ)
	}
	if err != nil {
		t.cannotBegin(record, task, lock, err)
		return nil, false
	}
	t.journal.Start(task.Name, record.Slot)
	r.postman = t.postman
	return r, true
}

// barred says why a slot may not start at this moment, whoever has its lock and as far as no condition has to
// be asked; "" when it may.
func (t *Tick) barred(slot schedule.Slot) string {
	if reason := slot.Task.UnmetCondition(slot.At); reason != "" {
		return reason
	}
	if reason := t.paused(slot.Task, slot.At); reason != "" {
		return reason
	}
	if reason := t.maintenance(slot.Task, slot.At); reason != "" {
		return reason
	}
	return t.tooLate(slot)
}

func stillRunning(owner mutex.Holder, now time.Time) string {
	return fmt.Sprintf("still running after %s, %s", now.Sub(owner.Since).Round(time.Second), owner)
}

// claimFor is how long a claim outlives its slot: longer than any two clocks differ.
const claimFor = time.Hour

// claimKey names a slot for all who may claim it.
func claimKey(slot schedule.Slot) string {
	return slot.Task.Mutex + "@" + slot.At.UTC().Format("20060102T150405Z")
}

func slotTaken(owner mutex.Holder) string { return "another tick has this slot " + owner.String() }

// spareFor returns the folder to use instead of one that err says cannot be written; nil where the
// error is another, or no folder can be.
func (t *Tick) spareFor(err error) *State {
	if err == nil || !statedir.Unwritable(err) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spare != nil {
		return t.spare
	}
	for _, spare := range t.State.spares() {
		if statedir.OpenSpare(spare.Dir) == nil {
			t.spare = &spare
			t.Problem("the state folder cannot be written: %v; the history waits in %s until it can", err, spare.Dir)
			break
		}
	}
	return t.spare
}

func (t *Tick) newRecord(slot schedule.Slot) outcome.Record {
	return outcome.Record{
		Run: outcome.NewID(), Task: slot.Task.Name, Mutex: slot.Task.Mutex, Slot: slot.At.UTC(),
		Background: slot.Task.Background, Server: t.Server,
	}
}

// skip records that a slot did not run, and fires the task's on_skip hooks beside everything else.
func (t *Tick) skip(record outcome.Record, task *schedule.Task, reason string) {
	record.Outcome, record.Reason, record.Ended = outcome.Skipped, reason, clock.Now()
	t.journal.Settle(record)
	if len(task.Hooks.OnSkip) == 0 {
		t.done(record, t.State.Dir)
		return
	}
	t.hooks.Go(func() {
		r, skip := t.unbegun(record, task), firing{"on_skip", task.Hooks.OnSkip}
		record.Notes = append(record.Notes, r.fire(skip, runfile.State{}, record)...)
		r.tell(skip, runfile.State{}, record)
		r.deliver()
		t.done(record, t.State.Dir)
	})
}

// cannotBegin records a run that no folder could hold. Its failure is told like any other.
func (t *Tick) cannotBegin(record outcome.Record, task *schedule.Task, lock mutex.Lock, err error) {
	record.Outcome, record.Ended, record.Reason = outcome.Failed, clock.Now(), fmt.Sprintf("cannot begin: %v", err)
	t.journal.Settle(record)
	r := t.unbegun(record, task)
	firing := r.firing(record)
	for _, f := range firing {
		record.Notes = append(record.Notes, r.fire(f, runfile.State{}, record)...)
	}
	if lock != nil {
		lock.Release(context.Background())
	}
	for _, f := range firing {
		r.tell(f, runfile.State{}, record)
	}
	r.deliver()
	t.done(record, t.State.Dir)
}

// unbegun is a run that has hooks to fire and no file.
func (t *Tick) unbegun(record outcome.Record, task *schedule.Task) *Run {
	return &Run{task: *task, file: &runfile.File{Record: record}, state: t.State, environ: t.Environ, postman: t.postman}
}
