package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// An ownRow is the row of a run that this process owns: as the database has it, as far as this
// process knows. Methods without an error lose no run when they fail: its next owner only knows
// less.
type ownRow struct {
	state.Row
	self     *state.Self
	own      state.Owned
	mu       sync.Mutex // protects the row while it changes
	unstored bool       // no database has the row, because no folder could hold it: nothing is written
}

// result returns the row without the snapshot of the task.
func (r *ownRow) result() state.Row {
	result := r.Row
	result.Snapshot = nil
	return result
}

// soFar returns the result of the attempts so far, without an outcome.
func (r *ownRow) soFar() state.Row {
	result := r.WithoutOutcome()
	result.Snapshot = nil
	return result
}

// write changes the row of the run in the database, and then calls then, which changes our copy of
// the row. If the database was damaged, and the new database has no such row, write adds the row
// again.
func (r *ownRow) write(change func(context.Context) error, then func()) error {
	if r.unstored {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx := context.Background()
	err := change(ctx)
	if errors.Is(err, state.ErrGone) {
		if err = r.self.Restore(ctx, r.Row); err == nil {
			err = change(ctx)
		}
	}
	if err == nil && then != nil {
		then()
	}
	return err
}

// tryEvery is the time between two tries to write a result.
const tryEvery = time.Second

// A persistence says how long something is tried that must not be lost.
type persistence struct {
	ending   context.Context // it gives up when this is done
	patience time.Duration   // it gives up after that time; 0: never
}

// try calls attempt until it reports that no other try is needed, or until the persistence is over:
// again each second.
func (p persistence) try(attempt func() (over bool)) {
	begun := time.Now()
	for !attempt() {
		givesUp := p.patience > 0 && time.Since(begun) >= p.patience
		if givesUp || !clock.Wait(p.ending, tryEvery) {
			return
		}
	}
}

// read calls what reads from the database until the database can be opened, or until the
// persistence is over.
func (p persistence) read(from func() error) (err error) {
	p.try(func() bool {
		err = from()
		return !state.Unwritable(err)
	})
	return err
}

// persist is write for results that must not be lost while the database cannot be written.
func (r *ownRow) persist(p persistence, change func(context.Context) error, then func()) (err error) {
	p.try(func() bool {
		err = r.write(change, then)
		return err == nil || isStale(err) || errors.Is(err, state.ErrGone)
	})
	return err
}

func isStale(err error) bool { return errors.As(err, new(*state.StaleError)) }

// isTaken reports whether err says that another process has the run: this process must leave it
// alone.
func (r *ownRow) isTaken(err error) bool {
	stale, ok := errors.AsType[*state.StaleError](err)
	return ok && stale.Owner != r.own.ID
}

// note adds a note to the row in the database, because another process may have to end the run.
func (r *ownRow) note(text string) {
	r.write(func(ctx context.Context) error { return r.own.Note(ctx, r.ID, text) }, nil)
}

// handOver makes another process the owner of the row, unless it is the owner already. It takes the
// row back first from a third process that did not get it.
func (r *ownRow) handOver(owner int64) error {
	if r.Owner == owner {
		return nil
	}
	if err := r.takeBack(); err != nil {
		return err
	}
	handOver := func(ctx context.Context) error { return r.own.HandOver(ctx, owner, r.ID) }
	return r.write(handOver, func() { r.Owner = owner })
}

// takeBack makes the row ours again if it was handed over. It fails if the other process has begun
// with it.
func (r *ownRow) takeBack() error {
	if r.Owner == r.own.ID {
		return nil
	}
	take := func(ctx context.Context) error { return r.own.Take(ctx, r.Row) }
	return r.write(take, func() { r.Owner = r.own.ID })
}

// recordWaitsFor writes down for what the run waits.
func (r *ownRow) recordWaitsFor(waitsFor state.WaitsFor) error {
	record := func(ctx context.Context) error { return r.own.WaitFor(ctx, r.ID, waitsFor) }
	return r.write(record, func() { r.Wait.For = waitsFor })
}

// recordAcquired writes down the mutex and the seat that a queued run has acquired, and for how
// long it waited.
func (r *ownRow) recordAcquired(held mutex.Holding, waited time.Duration) error {
	record := func(ctx context.Context) error { return r.own.Acquired(ctx, r.ID, held.Mutex, held.Seat, waited) }
	return r.write(record, func() {
		r.Locked, r.Seat, r.Wait = held.Mutex, held.Seat, state.Wait{Waited: waited}
	})
}

// recordHeld writes down the mutex and the seat that a run holds for its next attempt.
func (r *ownRow) recordHeld(held mutex.Holding) error {
	record := func(ctx context.Context) error { return r.own.Hold(ctx, r.ID, held.Mutex, held.Seat) }
	return r.write(record, func() { r.Locked, r.Seat = held.Mutex, held.Seat })
}

// waitForTick leaves the run to a later tick.
func (r *ownRow) waitForTick(wait state.Wait) {
	r.write(func(ctx context.Context) error { return r.own.Wait(ctx, r.ID, wait, r.Reason) }, nil)
}

// recordStart writes down that an attempt is about to start.
func (r *ownRow) recordStart(attempt state.Attempt) error {
	record := func(ctx context.Context) error { return r.own.Start(ctx, r.ID, attempt) }
	return r.write(record, func() {
		r.Phase, r.Attempt, r.Wait = state.Running, attempt, state.Wait{Waited: r.Wait.Waited}
		if r.Started.IsZero() {
			r.Started = attempt.At
		}
	})
}

// recordPID writes down the process of the attempt.
func (r *ownRow) recordPID(pid int) {
	attempt := state.Attempt{Number: r.Attempt.Number, PID: pid}
	record := func(ctx context.Context) error { return r.own.Amend(ctx, r.ID, attempt) }
	r.write(record, func() { r.Attempt.PID = pid })
}

// recordRenewal writes down when the lease of the lock was renewed last, while the command runs.
// The process that takes the run over reads that. Our copy of the row stays as it is.
func (r *ownRow) recordRenewal(at time.Time) {
	r.write(func(ctx context.Context) error {
		return r.own.Amend(ctx, r.ID, state.Attempt{Number: r.Attempt.Number, Leased: at})
	}, nil)
}

// recordEnding writes down that we are about to end the command, and why. If this process is killed
// meanwhile, the process that goes on with the run reads that.
func (r *ownRow) recordEnding(kind outcome.Kind, reason string) {
	r.write(func(ctx context.Context) error { return r.own.Ending(ctx, r.ID, r.Attempt.Number, kind, reason) }, nil)
}

// recordRetry writes down that this process waits for the next attempt, and the result of the
// attempts so far. If this process is killed meanwhile, the process that goes on with the run reads
// that.
func (r *ownRow) recordRetry(wait time.Duration, soFar state.Result) {
	notBefore := clock.Now().Add(wait)
	soFar.Outcome, soFar.Ended = "", time.Time{}
	r.write(func(ctx context.Context) error { return r.own.AwaitRetry(ctx, r.ID, soFar, notBefore) }, func() {
		r.Result, r.Phase = soFar, state.Ready
		r.Wait = state.Wait{For: state.ForTime, NotBefore: notBefore, Waited: r.Wait.Waited}
		r.Attempt.PID = 0
	})
}

// deferTo has the row wait for its next attempt until a time, without an owner.
func (r *ownRow) deferTo(until time.Time, soFar state.Result, notes []string) error {
	soFar.Outcome, soFar.Ended = "", time.Time{}
	return r.write(func(ctx context.Context) error { return r.own.Defer(ctx, r.ID, soFar, until, notes) }, func() {
		r.Result, r.Notes = soFar, notes
		r.Phase, r.Owner = state.Waiting, 0
		r.Attempt.Number = max(1, r.Attempt.Number) // a run lost before its first attempt has lost that one
		r.Wait = state.Wait{For: state.ForTime, NotBefore: until, Waited: r.Wait.Waited}
	})
}

// recordResult writes down the result of the run, before its hooks fire.
func (r *ownRow) recordResult(ending context.Context, result state.Result, notes []string) error {
	record := func(ctx context.Context) error { return r.own.Finish(ctx, r.ID, result, notes) }
	return r.persist(persistence{ending: ending, patience: resultPatience}, record, func() {
		r.Phase, r.Result, r.Notes = state.Finishing, result, notes
	})
}

// recordEnd writes down that the run has ended, with its hooks. The tick of a foreground run has
// other tasks to run, so it gives up after resultPatience, and tries again when they have ended.
func (r *ownRow) recordEnd(ending context.Context, end state.End) error {
	record := func(ctx context.Context) error { return r.own.End(ctx, r.ID, end) }
	tries := persistence{ending: ending}
	if !r.Background {
		tries.patience = resultPatience
	}
	return r.persist(tries, record, func() { r.Phase = state.Ended })
}

// stopRequest returns who asked to stop the run; nil if nobody did, or if that cannot be read.
func (r *ownRow) stopRequest() *state.Stop {
	if r.unstored {
		return nil
	}
	stop, _ := r.own.Stop(context.Background(), r.ID)
	return stop
}

// stopIfAsked sets the outcome if somebody asked to stop the run, and reports whether somebody did.
func (r *ownRow) stopIfAsked(result *state.Row) bool {
	stop := r.stopRequest()
	if stop != nil {
		setStoppedBy(result, *stop)
	}
	return stop != nil
}
