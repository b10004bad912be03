package runner

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"sched/mutex"
	"sched/mutex/pool"
	"sched/schedule"
	"sched/schedule/admission"
	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/run"
	"sched/schedule/runfile"
	"sched/schedule/text"
)

// A Plan is what a tick would do with one due task.
type Plan struct {
	Task   *schedule.Task
	Slots  []time.Time
	Reason string // why it would be skipped; empty when it would run, as far as its condition commands allow it
	Waits  string // what it would wait for, as a run that has begun; empty when it would start at once
}

// Plan returns the due tasks in the order in which they would start. It starts, locks and writes nothing.
func (t *Tick) Plan() []Plan {
	r := t.prepare()
	r.controls.readOnly = true
	background, foreground := admission.Split(t.dueSlots(t.Schedule.Due(t.Minute)))
	live, now := liveRuns(t.Storage.Dir), clock.Now()
	var plans []Plan
	index := map[*schedule.Task]int{}
	for _, slot := range append(background, foreground...) {
		i, known := index[slot.Task]
		if !known {
			i = len(plans)
			index[slot.Task] = i
			reason, waits := r.wouldSkip(slot, live, now)
			plans = append(plans, Plan{Task: slot.Task, Reason: reason, Waits: waits})
		}
		plans[i].Slots = append(plans[i].Slots, slot.At)
	}
	return plans
}

// wouldSkip returns why a slot would be skipped, or what it would wait for; both are empty when it would run, as far as its
// condition commands allow it.
func (r *running) wouldSkip(slot schedule.Slot, live []runfile.State, now time.Time) (reason, waits string) {
	task := slot.Task
	if reason := task.UnmetCondition(slot.At); reason != "" {
		return reason, ""
	}
	if reason := cmp.Or(r.admission.paused(task, slot.At), r.admission.inMaintenance(task, slot.At)); reason != "" {
		if task.WaitsForPause(slot.At) {
			return "", "it would wait for the end of a pause: " + reason
		}
		return reason, ""
	}
	if task.OneServer {
		holder, claimed, err := r.Storage.Mutexes().Claimed(context.Background(), cluster.Key(slot), cluster.Until(slot))
		switch {
		case claimed:
			return cluster.Taken(holder), ""
		case err != nil && !task.RunWhenStoreDown:
			return unanswered(slot, err)
		}
	}
	if r.Minute.After(now) { // who will have the mutex by then nobody knows
		return "", ""
	}
	reason, err := r.wouldOverlap(task, live, now)
	if reason == "" && err == nil {
		reason, err = r.wouldNotSit(task, live)
	}
	switch {
	case err != nil:
		return unanswered(slot, err)
	case reason == "" || task.WaitAtMost == 0:
		return reason, ""
	}
	if already := r.starter.waitsAlready(task); already != "" {
		return already, ""
	}
	return "", fmt.Sprintf("it would wait, %s at most: %s", text.Duration(max(0, r.admission.waitsUntil(slot, now).Sub(now))), reason)
}

// wouldOverlap returns that another run has the mutex of a task; "" when it is free or not needed. The error says that this is unknown.
func (r *running) wouldOverlap(task *schedule.Task, live []runfile.State, now time.Time) (string, error) {
	if !task.WithoutOverlapping {
		return "", nil
	}
	for _, state := range live {
		if state.Begin.Locks != "" && state.Begin.Mutex == task.Mutex {
			return run.StillRunning(run.HolderOf(state), now), nil
		}
	}
	holder, held, err := heldInStore(r.Storage.Store, task.Mutex)
	switch {
	case held:
		return run.StillRunning(holder, now), nil
	case task.RunWhenStoreDown:
		return "", nil
	}
	return "", err
}

// wouldNotSit returns that the pool of a task is full; "" when it has a free seat or the task needs none. The error says that this is
// unknown.
func (r *running) wouldNotSit(task *schedule.Task, live []runfile.State) (string, error) {
	if task.Pool.Name == "" {
		return "", nil
	}
	holders, err := r.Storage.Sitting(context.Background(), live, task.Pool)
	switch {
	case len(holders) == task.Pool.Seats:
		return (&pool.FullError{Pool: task.Pool.Name, Seats: task.Pool.Seats, Holders: holders}).Error(), nil
	case task.RunWhenStoreDown:
		return "", nil
	}
	return "", err
}

// unanswered is why a slot does not start while the store is of no use, or that it waits for the store.
func unanswered(slot schedule.Slot, err error) (reason, waits string) {
	if slot.Task.WaitWhenStoreDown && !slot.Task.GivesWay(slot.At) {
		return "", fmt.Sprintf("it would wait for the store: %v", err)
	}
	return unknown(slot.Task, err), ""
}

// heldInStore returns the holder of a mutex in the store, if there is one; without a store none is held.
func heldInStore(store mutex.Store, name string) (holder mutex.Holder, held bool, err error) {
	if store == nil {
		return holder, false, nil
	}
	holders, err := store.Held(context.Background(), name)
	holder, held = holders[name]
	return holder, held, err
}

// liveRuns returns the runs that may hold a mutex or a seat, from their files: trying the locks themselves would get in the way of a
// tick.
func liveRuns(dir string) (live []runfile.State) {
	ids, _ := runfile.List(dir)
	for _, id := range ids {
		if state, alive, err := runfile.Read(dir, id); err == nil && alive && !state.Waits() {
			live = append(live, state)
		}
	}
	return live
}
