package runner

import (
	"context"
	"time"

	"sched/mutex"
	"sched/schedule"

	"sched/schedule/clock"
	"sched/schedule/outcome"

	"sched/schedule/runfile"
)

// A Plan says what a tick would do with one due task.
type Plan struct {
	Task   *schedule.Task
	Slots  []time.Time
	Reason string // why it would be skipped; empty when it would run, unless a condition says no when it is asked
}

// Plan returns the due tasks in the order in which they would start. It starts, locks and writes
// nothing.
func (t *Tick) Plan() []Plan {
	background, foreground := t.due(t.Schedule.Due(t.Minute))
	live, now := liveMutexes(t.State.Dir), clock.Now()
	var plans []Plan
	index := map[*schedule.Task]int{}
	for _, slot := range append(background, foreground...) {
		i, known := index[slot.Task]
		if !known {
			i = len(plans)
			index[slot.Task] = i
			plans = append(plans, Plan{Task: slot.Task, Reason: t.wouldSkip(slot, live, now)})
		}
		plans[i].Slots = append(plans[i].Slots, slot.At)
	}
	return plans
}

func (t *Tick) wouldSkip(slot schedule.Slot, live map[string]mutex.Holder, now time.Time) string {
	task := slot.Task
	if reason := task.UnmetCondition(slot.At); reason != "" {
		return reason
	}
	if reason := t.paused(task, slot.At); reason != "" {
		return reason
	}
	if reason := t.maintenance(task, slot.At); reason != "" {
		return reason
	}
	if task.OneServer {
		owner, claimed, err := t.State.Store().Claimed(context.Background(), claimKey(slot), claimUntil(slot))
		switch {
		case claimed:
			return slotTaken(owner)
		case err != nil && !task.RunWhenStoreDown:
			return unknown(task, err)
		}
	}
	if !task.WithoutOverlapping {
		return ""
	}
	if owner, held := live[task.Mutex]; held {
		return stillRunning(owner, now)
	}
	owner, held, err := heldElsewhere(t.State.Remote, task.Mutex)
	switch {
	case held:
		return stillRunning(owner, now)
	case err != nil && !task.RunWhenStoreDown:
		return unknown(task, err)
	}
	return ""
}

// heldElsewhere asks the store who has the mutex.
func heldElsewhere(store *mutex.Redis, name string) (owner mutex.Holder, held bool, err error) {
	if store == nil {
		return owner, false, nil
	}
	owners, err := store.Held(context.Background(), name)
	owner, held = owners[name]
	return owner, held, err
}

// liveMutexes returns the mutexes that live runs hold, from the files of the runs: trying the locks
// themselves would get in the way of a tick.
func liveMutexes(state string) map[string]mutex.Holder {
	held := map[string]mutex.Holder{}
	ids, _ := runfile.List(state)
	for _, id := range ids {
		if log, watched, err := runfile.Read(state, id); err == nil && watched && log.Begin.Locks != "" {
			held[log.Begin.Mutex] = OwnerOf(log)
		}
	}
	return held
}

// OwnerOf names a live run as the owner of its mutex. Before its command has started it has no pid.
func OwnerOf(log runfile.State) mutex.Holder {
	owner := mutex.Holder{Run: log.Begin.Run, Host: log.Begin.Server, Since: outcome.Begun(log.Begin.Run)}
	if log.Attempt != nil {
		owner.PID, owner.Since = log.Attempt.PID, log.Attempt.At
	}
	return owner
}
