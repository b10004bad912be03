package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"sched/schedule/clock"
	"sched/schedule/run/output"
	"sched/schedule/state"
)

// An ownRow is the row of a run that this process owns: as the database has it, as far as this
// process knows. Methods without an error lose no run when they fail: its next owner only knows
// less.
type ownRow struct {
	state.Row
	self          *state.Self
	own           state.Owned
	mu            sync.Mutex // protects the row while it changes
	sharesProcess bool       // the run is finished in a process that may finish others, too (FinishHandedOver)
	printsTo      string     // the output of the run, also when its row says that nothing was printed
	unstored      bool       // no database has the row, because no folder could hold it: nothing is written
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

// apply makes a step of the row, in the database and then in our copy.
func (r *ownRow) apply(step state.Step) error {
	return r.write(func(ctx context.Context) error { return r.own.Apply(ctx, step, &r.Row) })
}

// write changes the database for the row. If the database was damaged, and the new database has no
// such row, write adds the row again.
func (r *ownRow) write(change func(context.Context) error) error {
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

// persist is apply for results that must not be lost while the database cannot be written.
func (r *ownRow) persist(p persistence, step state.Step) (err error) {
	p.try(func() bool {
		err = r.apply(step)
		return err == nil || state.IsStale(err) || errors.Is(err, state.ErrGone)
	})
	return err
}

// isTaken reports whether err says that another process has the run: this process must leave it
// alone.
func (r *ownRow) isTaken(err error) bool {
	stale, ok := errors.AsType[*state.StaleError](err)
	return ok && stale.Owner != r.own.ID
}

// note adds a note to the row in the database, because another process may have to end the run.
func (r *ownRow) note(text string) {
	r.write(func(ctx context.Context) error { return r.own.Note(ctx, r.ID, text) })
}

// handOver makes another process the owner of the row, unless it is the owner already. It takes the
// row back first from a third process that did not get it.
func (r *ownRow) handOver(owner int64) error {
	if r.Owner == owner {
		return nil
	}
	if err := r.take(); err != nil {
		return err
	}
	return r.apply(state.HandOver(owner))
}

// take makes the row ours again if it was handed over. It fails if the other process has begun with
// it.
func (r *ownRow) take() error {
	if r.Owner == r.own.ID {
		return nil
	}
	return r.apply(state.Take())
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

// resultPatience is how long the hooks of a run wait until its result is written.
const resultPatience = 10 * time.Second

// complain prints a problem that no row can record. It goes to stderr; in a process that may finish
// several runs, to the output of the run.
func (r *ownRow) complain(format string, args ...any) {
	to := os.Stderr
	if r.sharesProcess {
		if captured, err := output.Append(r.printsTo); err == nil {
			defer captured.Close()
			to = captured
		}
	}
	fmt.Fprintf(to, "sched: "+format+"\n", args...)
}
