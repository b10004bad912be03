package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/history"
)

func (t *Tick) startLater(ctx context.Context, slots []schedule.Slot) {
	for i, slot := range slots {
		if !t.reach(ctx, slot) {
			t.skipRest(ctx, slots[i:])
			return
		}
		t.startBackground(ctx, slots[i:i+1])
	}
}

// startBackground forks the runs of the slots.
func (t *Tick) startBackground(ctx context.Context, slots []schedule.Slot) {
	for i, slot := range slots {
		if ctx.Err() != nil {
			t.skipRest(ctx, slots[i:])
			return
		}
		r, ok := t.prepare(slot)
		if !ok {
			continue
		}
		t.launch(r)
	}
}

// launch gives a run that has begun to its witness.
func (t *Tick) launch(r *Run) {
	if err := r.fork(t.Self); err != nil {
		t.done(r.finish(history.Log{}, r.unstarted(err)), r.state)
		return
	}
	t.Started(r.record())
	r.leave()
}

// runForeground runs a slot to its end.
func (t *Tick) runForeground(ctx, hurry context.Context, slot schedule.Slot) (record history.Record, ran bool) {
	r, ok := t.prepare(slot)
	if !ok {
		return record, false
	}
	record = r.finish(history.Log{}, r.supervise(ctx, hurry))
	t.done(record, r.state)
	return record, true
}

// prepare decides whether a slot runs, takes its lock, and begins its run.
func (t *Tick) prepare(slot schedule.Slot) (*Run, bool) {
	record, task := t.newRecord(slot), slot.Task
	if reason := task.Unmet(slot.At); reason != "" {
		t.skip(record, task, reason)
		return nil, false
	}
	if t.overrun(slot) {
		t.skip(record, task, "it could not start before its next slot")
		return nil, false
	}
	lock, reason := t.lock(&record, slot)
	if reason != "" {
		t.skip(record, task, reason)
		return nil, false
	}
	r, err := begin(t.State.Dir, record, task, lock, t.Environ)
	if spare := t.spareFor(err); spare != nil {
		r, err = begin(spare.Dir, record, task, lock, t.Environ)
	}
	if err != nil {
		t.cannotBegin(record, task, lock, err)
		return nil, false
	}
	return r, true
}

// lock claims the slot and takes the mutex, as the task asks. The reason says why it may not run.
func (t *Tick) lock(record *history.Record, slot schedule.Slot) (lock mutex.Lock, reason string) {
	if !slot.Task.OneServer && !slot.Task.WithoutOverlapping {
		return nil, ""
	}
	lock, err := tryLock(t.State, record, slot)
	if spare := t.spareFor(err); spare != nil {
		lock, err = tryLock(*spare, record, slot)
	}
	var held *mutex.HeldError
	switch {
	case err == nil:
		return lock, ""
	case errors.As(err, &held) && held.Name == record.Mutex:
		return nil, stillRunning(held.Owner, Now())
	case errors.As(err, &held):
		return nil, slotTaken(held.Owner)
	case slot.Task.RunWhenStoreDown:
		record.Notes = append(record.Notes, fmt.Sprintf("runs without its lock: %v", err))
		return nil, ""
	}
	return nil, fmt.Sprintf("nobody knows whether it is running: %v", err)
}

func stillRunning(owner mutex.Owner, now time.Time) string {
	return fmt.Sprintf("still running after %s, %s", now.Sub(owner.Since).Round(time.Second), owner)
}

// claimFor is how long a claim outlives its slot: longer than any two clocks differ.
const claimFor = time.Hour

// claimKey names a slot for all who may claim it.
func claimKey(slot schedule.Slot) string {
	return slot.Task.Mutex + "@" + slot.At.UTC().Format("20060102T150405Z")
}

func slotTaken(owner mutex.Owner) string { return "another tick has this slot " + owner.String() }

func tryLock(state State, record *history.Record, slot schedule.Slot) (mutex.Lock, error) {
	ctx, store := context.Background(), state.Store()
	owner := mutex.Owner{Run: record.Run, PID: os.Getpid(), Host: record.Server, Since: Now()}
	if slot.Task.OneServer {
		if err := store.Claim(ctx, claimKey(slot), slot.At.Add(claimFor), owner); err != nil {
			return nil, err
		}
	}
	if !slot.Task.WithoutOverlapping {
		return nil, nil
	}
	lock, err := store.Acquire(ctx, record.Mutex, owner)
	if err == nil {
		record.Locks = state.locks()
	}
	return lock, err
}

// spareFor returns the folder to use instead of one that err says cannot be written; nil where the
// error is another, or no folder can be.
func (t *Tick) spareFor(err error) *State {
	if err == nil || !unwritable(err) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spare != nil {
		return t.spare
	}
	for _, spare := range t.State.spares() {
		if spare.open() == nil {
			t.spare = &spare
			t.Problem("the state folder cannot be written: %v; the history waits in %s until it can", err, spare.Dir)
			break
		}
	}
	return t.spare
}

func (t *Tick) newRecord(slot schedule.Slot) history.Record {
	return history.Record{
		Run: history.NewID(), Task: slot.Task.Name, Mutex: slot.Task.Mutex, Slot: slot.At.UTC(),
		Background: slot.Task.Background, Server: t.Server,
	}
}

// skip records that a slot did not run, and fires the task's on_skip hooks beside everything else.
func (t *Tick) skip(record history.Record, task *schedule.Task, reason string) {
	record.Outcome, record.Reason, record.Ended = history.Skipped, reason, Now()
	if len(task.Hooks.OnSkip) == 0 {
		t.done(record, t.State.Dir)
		return
	}
	t.hooks.Go(func() {
		r := t.unbegun(record, task)
		record.Notes = append(record.Notes, r.fire("on_skip", task.Hooks.OnSkip, history.Log{}, record)...)
		t.done(record, t.State.Dir)
	})
}

// cannotBegin records a run that no folder could hold. Its failure is told like any other.
func (t *Tick) cannotBegin(record history.Record, task *schedule.Task, lock mutex.Lock, err error) {
	record.Outcome, record.Ended, record.Reason = history.Failed, Now(), fmt.Sprintf("cannot begin: %v", err)
	r := t.unbegun(record, task)
	record.Notes = append(record.Notes, r.fire("on_failure", task.Hooks.OnFailure, history.Log{}, record)...)
	record.Notes = append(record.Notes, r.fire("after", task.Hooks.After, history.Log{}, record)...)
	if lock != nil {
		lock.Release(context.Background())
	}
	t.done(record, t.State.Dir)
}

// unbegun is a run that has hooks to fire and no file.
func (t *Tick) unbegun(record history.Record, task *schedule.Task) *Run {
	return &Run{task: *task, file: &history.Run{Record: record}, state: t.State.Dir, environ: t.Environ}
}
