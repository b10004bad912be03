package runner

import (
	"context"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/admission"
	"sched/schedule/clock"
	"sched/schedule/run"
	"sched/schedule/runfile"
)

// A Plan is what a tick would do with one due task.
type Plan struct {
	Task   *schedule.Task
	Slots  []time.Time
	Reason string // why it would be skipped; empty when it would run, as far as its condition commands allow it
}

// Plan returns the due tasks in the order in which they would start. It starts, locks and writes nothing.
func (t *Tick) Plan() []Plan {
	r := t.prepare()
	r.controls.readOnly = true
	background, foreground := admission.Split(t.dueSlots(t.Schedule.Due(t.Minute)))
	live, now := liveMutexes(t.Storage.Dir), clock.Now()
	var plans []Plan
	index := map[*schedule.Task]int{}
	for _, slot := range append(background, foreground...) {
		i, known := index[slot.Task]
		if !known {
			i = len(plans)
			index[slot.Task] = i
			plans = append(plans, Plan{Task: slot.Task, Reason: r.wouldSkip(slot, live, now)})
		}
		plans[i].Slots = append(plans[i].Slots, slot.At)
	}
	return plans
}

// wouldSkip returns why a slot would be skipped; "" when it would run, as far as its condition commands allow it.
func (r *running) wouldSkip(slot schedule.Slot, live map[string]mutex.Holder, now time.Time) string {
	task := slot.Task
	if reason := task.UnmetCondition(slot.At); reason != "" {
		return reason
	}
	if reason := r.admission.paused(task, slot.At); reason != "" {
		return reason
	}
	if reason := r.admission.inMaintenance(task, slot.At); reason != "" {
		return reason
	}
	if task.OneServer {
		holder, claimed, err := r.Storage.Mutexes().Claimed(context.Background(), claimKey(slot), claimUntil(slot))
		switch {
		case claimed:
			return slotTaken(holder)
		case err != nil && !task.RunWhenStoreDown:
			return unknown(task, err)
		}
	}
	if !task.WithoutOverlapping || r.Minute.After(now) { // who will have the mutex by then nobody knows
		return ""
	}
	if holder, held := live[task.Mutex]; held {
		return run.StillRunning(holder, now)
	}
	holder, held, err := heldInStore(r.Storage.Store, task.Mutex)
	switch {
	case held:
		return run.StillRunning(holder, now)
	case err != nil && !task.RunWhenStoreDown:
		return unknown(task, err)
	}
	return ""
}

// heldInStore returns the holder of a mutex in the store, if there is one; without a store none is held.
func heldInStore(store *mutex.Redis, name string) (holder mutex.Holder, held bool, err error) {
	if store == nil {
		return holder, false, nil
	}
	holders, err := store.Held(context.Background(), name)
	holder, held = holders[name]
	return holder, held, err
}

// liveMutexes returns the mutexes that live runs hold, from the files of the runs: trying the locks
// themselves would get in the way of a tick.
func liveMutexes(dir string) map[string]mutex.Holder {
	held := map[string]mutex.Holder{}
	ids, _ := runfile.List(dir)
	for _, id := range ids {
		if state, alive, err := runfile.Read(dir, id); err == nil && alive && state.Begin.Locks != "" {
			held[state.Begin.Mutex] = run.HolderOf(state)
		}
	}
	return held
}
