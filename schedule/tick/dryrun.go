package tick

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
)

// A Preview is what a tick would do with one due task.
type Preview struct {
	Task   *schedule.Task
	Slots  []time.Time
	Reason string // why it would be skipped; empty when it would run, as far as its condition commands allow it
	Waits  string // what it would wait for, as a run that has begun; empty when it would start at once
}

// DryRun returns the due tasks in the order in which they would start. It starts, locks and writes
// nothing.
func (t *Tick) DryRun() []Preview {
	never := context.Background()
	r := t.prepare(stops{never, never, never})
	r.controls.source.ReadOnly, r.controls.source.DB = true, nil
	background, foreground := schedule.Split(t.dueSlots(t.Schedule.Due(t.Minute)))
	live, now := r.holding(), clock.Now()
	var previews []Preview
	index := map[*schedule.Task]int{}
	for _, slot := range append(background, foreground...) {
		i, known := index[slot.Task]
		if !known {
			i = len(previews)
			index[slot.Task] = i
			reason, waits := r.wouldSkip(slot, live, now)
			previews = append(previews, Preview{Task: slot.Task, Reason: reason, Waits: waits})
		}
		previews[i].Slots = append(previews[i].Slots, slot.At)
	}
	return previews
}

// wouldSkip returns why a slot would be skipped, or what it would wait for; both are empty when it
// would run, as far as its condition commands allow it.
func (r *running) wouldSkip(slot schedule.Slot, live []state.Row, now time.Time) (reason, waits string) {
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
	if task.RunAllMissed && slices.ContainsFunc(live, func(row state.Row) bool { return row.Task == task.Name && row.CatchesUp() }) {
		return "", "it would wait for its turn, behind slots that it missed"
	}
	no := refusalOf(task, r.peek(slot, live, now))
	switch {
	case no.cause == storeOfNoUse && task.WaitWhenStoreDown && !task.GivesWay(slot.At):
		return "", fmt.Sprintf("it would wait for the store: %v", no.err)
	case no.cause != locksHeld || task.MaxWait == 0:
		return no.reason, ""
	}
	if already := r.launcher.waitsAlready(task); already != "" {
		return already, ""
	}
	return "", fmt.Sprintf("it would wait, %s at most: %s", humanize.Duration(max(0, r.admission.waitsUntil(slot, now).Sub(now))), no.reason)
}

// peek returns the error that taking the locks of a slot would have at this moment, and takes
// nothing. A store that does not answer is no error for a task that runs without its locks then.
func (r *running) peek(slot schedule.Slot, live []state.Row, now time.Time) error {
	ctx, task, store := context.Background(), slot.Task, r.tick.Storage.Store
	claim := func() (err error) {
		key := cluster.Key(slot)
		holder, claimed, err := mutex.Files{Dir: r.tick.Storage.Locks()}.Claimed(key, cluster.Until(slot))
		if !claimed && err == nil && store != nil {
			var claims map[string]mutex.Holder
			claims, err = store.Claims(ctx, key)
			holder, claimed = claims[key]
		}
		switch {
		case claimed:
			return notOursError{cluster.Taken(holder), outcome.Elsewhere}
		case task.RunWhenStoreDown:
			return nil
		}
		return err
	}
	acquire := func() (none mutex.Lock, err error) {
		if r.tick.Minute.After(now) { // nobody knows who will have the mutex by then
			return nil, nil
		}
		need := run.NeedOf(task)
		held, err := r.tick.Storage.Holders(ctx, live, need)
		holder, overlaps := held[need.Mutex]
		sitting := need.SeatHolders(held)
		switch {
		case overlaps:
			return nil, &mutex.HeldError{Name: need.Mutex, Holder: holder}
		case need.Pool != "" && len(sitting) == need.Seats:
			return nil, &mutex.FullError{Pool: need.Pool, Seats: need.Seats, Holders: sitting}
		case task.RunWhenStoreDown:
			return nil, nil
		}
		return nil, err
	}
	_, err := schedule.TakeLocks(task, claim, acquire)
	return err
}

// holding returns the runs that may hold a mutex or a seat, as the database says: trying the locks
// themselves would get in the way of a tick.
func (r *running) holding() (holding []state.Row) {
	db, err := state.OpenRead(r.tick.Storage.Dir, state.Patience)
	if err != nil {
		return nil
	}
	defer db.Close()
	live, _, _ := db.LiveAndLost(context.Background())
	return slices.DeleteFunc(live, state.Row.Waits)
}
