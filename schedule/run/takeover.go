package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"sched/mutex/pool"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/oneserver"
	"sched/schedule/outcome"
	"sched/schedule/run/output"
	"sched/schedule/run/takeover"
	"sched/schedule/runfile"
	"sched/schedule/servers"
)

// This file is what a run does about deferred retries of one_server tasks that another server takes over, since their own does not tick any
// more. Who goes on with one is package takeover.

// turns returns the turns of the run's deferred attempt; false for a run that no other server takes over.
func (r *Run) turns(state runfile.State) (t takeover.Turns, shared bool) {
	if r.Store == nil || !r.task.OneServer || !state.Deferred() {
		return t, false
	}
	record, d := r.Record(), state.Deferral
	return takeover.Turns{Store: r.Store, Self: record.Server, Run: record.Run, Task: record.Task, Attempt: d.Attempt, Due: d.Until}, true
}

// claimTurn has this server go on with a deferred attempt, or end its run. The error is a *takeover.TakenError, or says that nobody knows whether
// another server has it. What it returns takes that back.
func (r *Run) claimTurn(state runfile.State) (unclaim func(), err error) {
	turns, shared := r.turns(state)
	if !shared {
		return func() {}, nil
	}
	if state.Deferral.Turn == 0 && clock.Now().Sub(state.Deferral.Until) > oneserver.RetryKeptFor-servers.TakeableFor {
		return func() {}, &takeover.TakenError{Over: true}
	}
	if state.Deferral.Owner != "" { // this server was killed as it took the attempt over
		if err := r.takeTurn(turns, state.Deferral); err != nil {
			return func() {}, err
		}
	}
	if unclaim, err = turns.Own(state.Deferral.Turn); err != nil {
		return func() {}, err
	}
	return unclaim, nil
}

// takeTurn takes an attempt over of which the file says that it is still another server's, and writes that down.
func (r *Run) takeTurn(turns takeover.Turns, deferral *runfile.Deferral) error {
	turn, err := turns.Take(deferral.Owner, deferral.Turn)
	if err != nil {
		return err
	}
	if err := oneserver.NoteTaken(r.Dir, turns.Run, turns.Attempt, turn-1, turns.Due, clock.Now()); err != nil {
		return err
	}
	deferral.Owner, deferral.Turn = "", turn
	return errors.Join(r.file.Append(runfile.Event{Deferral: deferral}), r.file.Sync())
}

// mayEnd claims the turn of a run that is to end although its next attempt waits. After an error, which is for people, it goes on, and this
// process has no part in it any more.
func (r *Run) mayEnd(state runfile.State) error {
	_, err := r.claimTurn(state)
	if err == nil {
		return nil
	}
	r.file.Close()
	if taken := new(takeover.TakenError); errors.As(err, &taken) {
		return err
	}
	return fmt.Errorf("nobody knows whether another server has taken it over: %w", err)
}

// TakenOver leaves the run to the server that has taken it over, and returns what this one records of it. Its file is to go with that.
func (d Deferred) TakenOver(by *takeover.TakenError) Ended {
	r, deferral := d.run, d.state.Deferral
	record := r.soFar(deferral)
	record.Run = outcome.TakenID(record.Run, record.Slot)
	record.Outcome, record.Ended = outcome.Skipped, clock.Now()
	record.Reason = fmt.Sprintf("attempt %d: %v", deferral.Attempt, by)
	if so := deferral.Record; so.Outcome != "" {
		record.Notes = append(record.Notes, fmt.Sprintf("attempt %d %s here: %s", so.Attempts, so.Outcome.Verb(), so.Reason))
	}
	record.Started, record.UserCPU, record.SystemCPU, record.PeakMemory = time.Time{}, 0, 0, 0 // the other server has counted them
	if info, err := os.Stat(record.Output); err != nil || info.Size() == 0 {
		record.Output = ""
	}
	r.file.Close() // not the lock: that is the run's, wherever it goes on
	return Ended{Record: record, Dir: r.Dir, File: r.Record().Run, Unstated: true}
}

// Began reports whether the attempts of the run began on this server, or it has taken them over: else it is only about to.
func (d Deferred) Began() bool { return d.state.Deferral.Owner == "" }

// TakeRetry takes a deferred retry over that another server has told of. The task is that of this server, which has the name self; from says
// from which server, and why. Then the run waits here for the next tick. The error is os.ErrExist where it does already, a *takeover.TakenError, or
// says why that is not possible, or not known.
//
// The file is there before the claim: a server that was killed in between, and ticks again, goes on. While it ticks no other one would.
func (c Caller) TakeRetry(told servers.DeferredRetry, task *schedule.Task, self, from string) error {
	record := told.Record
	if _, err := os.Stat(runfile.Path(c.Dir, record.Run)); err == nil {
		return os.ErrExist
	}
	turns := takeover.Turns{Store: c.Store, Self: self, Run: record.Run, Task: task.Name, Attempt: told.Attempt, Due: told.Until}
	if err := turns.Silent(told.Server); err != nil {
		return err
	}
	snapshot, err := json.Marshal(task)
	if err != nil {
		return err
	}
	record.Task, record.Mutex, record.Background, record.Server = task.Name, task.Mutex, true, self
	record.Locks, record.Fence, record.Seat, record.Wait = "", 0, outcome.Seat{}, outcome.Wait{}
	record.Until, record.Slots, record.Triggered, record.Snapshot = time.Time{}, 0, nil, nil
	if task.WithoutOverlapping {
		record.Locks = c.Locks()
	}
	if task.Pool.Name != "" {
		record.Seat = outcome.Seat{Name: pool.Seat(task.Pool.Name, 1), Locks: c.Locks()} // the attempt takes any
	}
	if record.Output, err = c.beginOutput(record, from); err != nil {
		return err
	}
	record.Notes = append(record.Notes, from)
	begin := record
	begin.Outcome, begin.Reason, begin.Ended, begin.Snapshot = "", "", time.Time{}, snapshot
	deferral := runfile.Deferral{Attempt: told.Attempt, Until: told.Until, Before: told.Before, Turn: told.Turn, Owner: told.Server, From: from, Record: record}
	file, err := runfile.CreateDeferred(c.Dir, begin, deferral)
	if err != nil {
		return err
	}
	r := c.newRun(*task, file)
	defer file.Close()
	err = r.takeTurn(turns, &deferral)
	if errors.As(err, new(*takeover.TakenError)) {
		r.forget()
	}
	return err
}

// forget removes what this server has of a run that it was only about to take over.
func (r *Run) forget() {
	os.Remove(r.Record().Output)
	os.Remove(runfile.Path(r.Dir, r.Record().Run))
	r.file.Close()
}

// Forget removes what this server has of the run, which it was only about to take over.
func (d Deferred) Forget() { d.run.forget() }

// beginOutput makes the output of a run that was taken over: it begins with from where, since what was printed there stays there.
func (c Caller) beginOutput(record outcome.Record, from string) (path string, err error) {
	path = output.Path(c.Dir, record)
	file, err := output.Create(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() == 0 {
		fmt.Fprintf(file, "sched: %s\n", from)
	}
	return path, nil
}
