// Package preview says what a tick would do in its minute. It starts, locks and writes nothing.
package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/state"
	"sched/schedule/tick"
	"sched/schedule/tick/admission"
	"sched/schedule/tick/claims"
)

// A Task is what a tick would do with one due task.
type Task struct {
	Task   *schedule.Task
	Slots  []time.Time
	Reason string // why it would be skipped; empty when it would run, as far as its condition commands allow it
	Waits  string // what it would wait for, as a run that has begun; empty when it would start at once
}

// Of returns the due tasks of a tick in the order in which they would start.
func Of(t *tick.Tick) []Task {
	p := previewer{tick: t, admitter: t.Admitter(), live: lockHolders(t), now: clock.Now()}
	p.admitter.Controls.Source.ReadOnly, p.admitter.Controls.Source.DB = true, nil
	background, foreground := schedule.SplitBackground(t.Due())
	var previews []Task
	index := map[*schedule.Task]int{}
	for _, slot := range append(background, foreground...) {
		i, known := index[slot.Task]
		if !known {
			i = len(previews)
			index[slot.Task] = i
			previews = append(previews, p.slot(slot))
		}
		previews[i].Slots = append(previews[i].Slots, slot.At)
	}
	return previews
}

// A previewer finds out what a tick would do, at one moment.
type previewer struct {
	tick     *tick.Tick
	admitter *admission.Admitter
	live     []state.Row // the runs that may hold a mutex or a seat
	now      time.Time
}

// slot returns what the tick would do with a slot. The preview has no slots yet.
func (p previewer) slot(slot schedule.Slot) Task {
	task := slot.Task
	skip := func(reason string) Task { return Task{Task: task, Reason: reason} }
	wait := func(waits string) Task { return Task{Task: task, Waits: waits} }
	if reason := task.UnmetCondition(slot.At); reason != "" {
		return skip(reason)
	}
	if pausedBy := p.admitter.PausedBy(task, slot.At); pausedBy != "" {
		if task.WaitsForPause(slot.At) {
			return wait("it would wait for the end of a pause: " + pausedBy)
		}
		return skip(pausedBy)
	}
	catchesUp := func(row state.Row) bool { return row.Task == task.Name && row.CatchesUp() }
	if task.RunAllMissed && slices.ContainsFunc(p.live, catchesUp) {
		return wait("it would wait for its turn, behind slots that it missed")
	}
	err := p.lockError(slot)
	refusal := claims.RefusalOf(task, err)
	switch {
	case refusal.Cause == claims.Unknown && task.WaitWhenStoreDown && !task.GivesWay(slot.At):
		return wait(fmt.Sprintf("it would wait for the store: %v", refusal.Err))
	case refusal.Cause != claims.Held || task.MaxWait == 0:
		return skip(refusal.Reason) // or it runs: the reason is empty
	}
	if already := claims.WaitsAlready(p.tick.Storage.DB, task); already != "" {
		return skip(already)
	}
	if held, ok := errors.AsType[*mutex.HeldError](err); ok {
		isOurs := slices.ContainsFunc(p.live, func(row state.Row) bool { return row.ID == held.Holder.Run })
		switch run.ReplacementOf(task, held.Holder, isOurs) {
		case run.ReplacedHere:
			return wait("it would end that run and take its place: " + refusal.Reason)
		case run.ReplacedThere:
			return skip(refusal.Reason + run.OnlyThere(held.Holder, p.tick.Host.Server))
		}
	}
	longest := max(0, p.admitter.LatestStart(slot, p.now).Sub(p.now))
	return wait(fmt.Sprintf("it would wait, %s at most: %s", humanize.Duration(longest), refusal.Reason))
}

// lockError returns the error that taking the locks of a slot would have at this moment, and takes
// nothing. A store that does not answer is no error for a task that runs without its locks then.
func (p previewer) lockError(slot schedule.Slot) error {
	claim := func() error { return p.peekClaim(slot) }
	acquire := func() (struct{}, error) { return struct{}{}, p.peekLocks(slot.Task) }
	_, err := schedule.TakeLocks(slot.Task, claim, acquire)
	return err
}

// peekClaim returns the error that a claim of the slot would have at this moment.
func (p previewer) peekClaim(slot schedule.Slot) error {
	store, key := p.tick.Storage.Store, slot.ClaimKey()
	holder, claimed, err := mutex.Files{Dir: p.tick.Storage.Locks()}.Claimed(key, slot.ClaimedUntil())
	if !claimed && err == nil && store != nil {
		var known map[string]mutex.Holder
		known, err = store.Claims(context.Background(), key)
		holder, claimed = known[key]
	}
	switch {
	case claimed:
		reason := claims.ClaimReason(slot.Task, holder, p.tick.Host.Server)
		return claims.NotOursError{Reason: reason, Kind: outcome.Elsewhere}
	case slot.Task.RunWhenStoreDown:
		return nil
	}
	return err
}

// peekLocks returns the error that taking the mutex and a seat of the task would have at this
// moment. For a minute that has not come it returns nil: nobody knows who will have them by then.
func (p previewer) peekLocks(task *schedule.Task) error {
	if p.tick.Minute.After(p.now) {
		return nil
	}
	need := holding.NeedOf(task)
	held, err := p.tick.Storage.Holders(context.Background(), p.live, need)
	mutexHolder, mutexHeld := held[need.Mutex]
	seatHolders := need.SeatHolders(held)
	switch {
	case mutexHeld:
		return &mutex.HeldError{Name: need.Mutex, Holder: mutexHolder}
	case need.Pool != "" && len(seatHolders) == need.Seats:
		return &mutex.FullError{Pool: need.Pool, Seats: need.Seats, Holders: seatHolders}
	case task.RunWhenStoreDown:
		return nil
	}
	return err
}

// lockHolders returns the runs that may hold a mutex or a seat, as the database says: trying the
// locks themselves would get in the way of a tick. If the database cannot be read, lockHolders
// reports that, and the preview takes every mutex of this machine for free.
func lockHolders(t *tick.Tick) []state.Row {
	db, err := state.OpenRead(t.Storage.Dir, state.Patience)
	var rows []state.Row
	if err == nil {
		defer db.Close()
		rows, _, err = db.LiveAndLost(context.Background())
	}
	if err != nil {
		t.Report.Problem("which runs hold a mutex is not known: %v", err)
	}
	return slices.DeleteFunc(rows, state.Row.Waits)
}
