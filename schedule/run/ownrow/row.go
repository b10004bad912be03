// Package ownrow is what a run's row is to the process that owns it: steps of the row, results that
// must not be lost, and who asked to stop the run.
package ownrow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/process"
	"sched/schedule/state"
)

// A Row is the row of a run that this process owns: as the database has it, as far as this process
// knows. Methods without an error lose no run when they fail: its next owner only knows less.
type Row struct {
	state.Row
	As            state.Owned // this process, as the owner of the row
	SharesProcess bool        // the run is finished in a process that may finish others, too
	Found         bool        // another process has begun the run, and this one has found it
	Unstored      bool        // no database has the row, because no folder could hold it: nothing is written

	self     *state.Self
	printsTo string     // the output of the run, also when its row says that nothing was printed
	mu       sync.Mutex // protects the row while it changes
}

// New returns the row of a run of self, which may have yet to be written down.
func New(self *state.Self, row state.Row) Row {
	return Row{Row: row, self: self, printsTo: row.Output}
}

// WithoutSnapshot returns the row without the snapshot of the task.
func (r *Row) WithoutSnapshot() state.Row {
	result := r.Row
	result.Snapshot = nil
	return result
}

// SoFar returns the result of the attempts so far, without an outcome.
func (r *Row) SoFar() state.Row {
	result := r.WithoutOutcome()
	result.Snapshot = nil
	return result
}

// Apply makes a step of the row, in the database and then in our copy.
func (r *Row) Apply(step state.Step) error {
	return r.Write(func(ctx context.Context) error { return r.As.Apply(ctx, step, &r.Row) })
}

// Write changes the database for the row. If the database was damaged, and the new database has no
// such row, Write adds the row again.
func (r *Row) Write(change func(context.Context) error) error {
	if r.Unstored {
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

// A Persistence says how long something is tried that must not be lost.
type Persistence struct {
	Ending   context.Context // it gives up when this is done
	Patience time.Duration   // it gives up after that time; 0: never
}

// Try calls attempt until it reports that no other try is needed, or until the persistence is over:
// again each second.
func (p Persistence) Try(attempt func() (over bool)) {
	begun := time.Now()
	for !attempt() {
		givesUp := p.Patience > 0 && time.Since(begun) >= p.Patience
		if givesUp || !clock.Wait(p.Ending, tryEvery) {
			return
		}
	}
}

// Read calls what reads from the database until the database can be opened, or until the
// persistence is over.
func (p Persistence) Read(from func() error) (err error) {
	p.Try(func() bool {
		err = from()
		return !state.Unwritable(err)
	})
	return err
}

// Persist is Apply for results that must not be lost while the database cannot be written.
func (r *Row) Persist(p Persistence, step state.Step) (err error) {
	p.Try(func() bool {
		err = r.Apply(step)
		return err == nil || state.IsStale(err) || errors.Is(err, state.ErrGone)
	})
	return err
}

// IsTaken reports whether err says that another process has the run: this process must leave it
// alone.
func (r *Row) IsTaken(err error) bool {
	stale, ok := errors.AsType[*state.StaleError](err)
	return ok && stale.Owner != r.As.ID
}

// Note adds a note to the row in the database, because another process may have to end the run.
func (r *Row) Note(text string) {
	r.Write(func(ctx context.Context) error { return r.As.Note(ctx, r.ID, text) })
}

// HandOver makes another process the owner of the row, unless it is the owner already. It takes the
// row back first from a third process that did not get it.
func (r *Row) HandOver(owner int64) error {
	if r.Owner == owner {
		return nil
	}
	if err := r.Take(); err != nil {
		return err
	}
	return r.Apply(state.HandOver(owner))
}

// Take makes the row ours again if it was handed over. It fails if the other process has begun with
// it.
func (r *Row) Take() error {
	if r.Owner == r.As.ID {
		return nil
	}
	return r.Apply(state.Take())
}

// StopRequest returns who asked to stop the run; nil if nobody did, or if that cannot be read.
func (r *Row) StopRequest() *state.Stop {
	if r.Unstored {
		return nil
	}
	stop, _ := r.As.Stop(context.Background(), r.ID)
	return stop
}

// StopIfAsked sets the outcome if somebody asked to stop the run, and reports whether somebody did.
func (r *Row) StopIfAsked(result *state.Row) bool {
	stop := r.StopRequest()
	if stop != nil {
		SetStoppedBy(result, *stop)
	}
	return stop != nil
}

// ResultPatience is how long the hooks of a run wait until its result is written.
const ResultPatience = 10 * time.Second

// Complain prints a problem that no row can record. It goes to stderr; in a process that may finish
// several runs, to the output of the run.
func (r *Row) Complain(format string, args ...any) {
	to := os.Stderr
	if r.SharesProcess {
		if captured, err := output.Append(r.printsTo); err == nil {
			defer captured.Close()
			to = captured
		}
	}
	fmt.Fprintf(to, "sched: "+format+"\n", args...)
}

// SetStopped sets that the run was stopped before an attempt, and when.
func SetStopped(result *state.Row, format string, args ...any) {
	result.Outcome, result.Kind, result.Reason = outcome.Stopped, outcome.NotBegun, fmt.Sprintf(format, args...)
}

// SetStoppedBy sets that a run was stopped, and by whom.
func SetStoppedBy(result *state.Row, stop state.Stop) {
	result.Outcome, result.Kind, result.Reason = outcome.Stopped, stop.Kind, stop.Reason
	if stop.Reason == "" {
		result.Kind, result.Reason = outcome.ByHand, "sched stop by "+stop.By
	}
}

// LeaveBehind writes down the processes of a command that did not end by KILL. The run keeps its
// mutex as long as they live (holding.Storage.GoesOn).
func LeaveBehind(result *state.Row, survivors []process.Survivor) {
	result.Notes = append(result.Notes, process.LeftBehind(survivors)...)
	for _, s := range survivors {
		result.Survivors = strings.TrimSpace(result.Survivors + " " + s.String())
	}
}
