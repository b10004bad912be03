package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"sched/mutex"
	"sched/mutex/pool"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/oneserver"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/servers"
)

// This file is about deferred retries of one_server tasks that another server takes over, since their own does not tick any more
// (docs/decisions.md#who-goes-on-with-a-deferred-retry).
//
// A server goes on with the attempt, or ends the run, only when it has claimed a turn of the attempt that was its own: turn 0 belongs to
// the server on which the run began. One that claims the turn of another server has taken the attempt over, and the next turn is its own.
// So the claims say all: of two servers that follow each other, the same one twice has started the attempt.

// A TakenError says that a deferred retry is not this server's: another one has taken it over, or may have long ago.
type TakenError struct {
	By   string // which server has it; empty where that is not known any more
	Over bool   // the attempt was started, or the run has ended: nobody is to take it over any more
}

func (e *TakenError) Error() string {
	if e.By == "" {
		return "another server may have taken it over"
	}
	return "it was taken over by " + e.By
}

// A retryTurns is who goes on with a deferred attempt, as the claims of its turns say.
type retryTurns struct {
	store     *mutex.Redis
	self      string // the name of this server
	run, task string
	attempt   int
	due       time.Time
}

// claim takes a turn. The error is *mutex.HeldError where another server has it.
func (t retryTurns) claim(turn int, kept time.Time) (unclaim func(), err error) {
	holder := mutex.Holder{Run: t.self, PID: os.Getpid(), Host: t.self, Task: t.task, Since: clock.Now()}
	err = t.store.ClaimInFull(context.Background(), t.key(turn), kept, holder)
	return func() { t.store.Unclaim(context.Background(), t.key(turn), holder) }, err
}

func (t retryTurns) key(turn int) string {
	return oneserver.RetryKey(t.run, t.attempt, turn, t.due)
}

// isFree reports whether nobody has claimed a turn.
func (t retryTurns) isFree(turn int) (bool, error) {
	claimed, err := t.store.Claims(context.Background(), t.key(turn))
	_, taken := claimed[t.key(turn)]
	return !taken, err
}

// lost returns the owner of the next turn, when the holder has claimed this one: for somebody to claim that, it must not tick. Where
// somebody has that already, it does not matter whether it ticks now.
func (t retryTurns) lost(turn int, owner string, holder mutex.Holder) (next string, err error) {
	if holder.Host == "" || holder.Host == owner {
		return "", &TakenError{By: holder.Host, Over: true}
	}
	if free, err := t.isFree(turn + 1); err != nil || !free {
		return holder.Host, err
	}
	return holder.Host, t.silent(holder.Host)
}

// silent returns a *TakenError where the server ticks.
func (t retryTurns) silent(server string) error {
	ticks, err := servers.Ticks(context.Background(), t.store, server)
	if err == nil && ticks {
		return &TakenError{By: server}
	}
	return err
}

// own claims a turn that belongs to this server: then this server goes on with the attempt, and no other will. Where another one had taken
// the attempt over and does not tick any more, it is taken back. The error is a *TakenError, or says that nobody knows.
func (t retryTurns) own(turn int) (unclaim func(), err error) {
	kept := t.due.Add(servers.TakeableFor + time.Hour)
	for owner := t.self; ; turn++ {
		if turn > 0 {
			kept = clock.Now().Add(oneserver.RetryKeptFor)
		}
		unclaim, err = t.claim(turn, kept)
		var held *mutex.HeldError
		switch {
		case err == nil && owner == t.self:
			return unclaim, nil
		case err == nil:
			owner = t.self
		case !errors.As(err, &held):
			return nil, err
		default:
			if owner, err = t.lost(turn, owner, held.Holder); err != nil {
				return nil, err
			}
		}
	}
}

// take claims a turn of another server that does not tick, and returns the next turn, which belongs to this one. The error is that of own.
func (t retryTurns) take(owner string, turn int) (next int, err error) {
	if err := t.silent(owner); err != nil {
		return 0, err
	}
	for ; ; turn++ {
		if owner == t.self { // it has taken the attempt over before: was it killed before it wrote that down?
			free, err := t.isFree(turn)
			if err != nil || free {
				return turn, err
			}
		}
		_, err := t.claim(turn, clock.Now().Add(oneserver.RetryKeptFor))
		var held *mutex.HeldError
		switch {
		case err == nil && owner == t.self:
			return 0, &TakenError{By: t.self, Over: true}
		case err == nil:
			owner = t.self
		case !errors.As(err, &held):
			return 0, err
		default:
			if owner, err = t.lost(turn, owner, held.Holder); err != nil {
				return 0, err
			}
		}
	}
}

// turns returns the turns of the run's deferred attempt; false for a run that no other server takes over.
func (r *Run) turns(state runfile.State) (t retryTurns, shared bool) {
	if r.Store == nil || !r.task.OneServer || !state.Deferred() {
		return t, false
	}
	record, d := r.Record(), state.Deferral
	return retryTurns{r.Store, record.Server, record.Run, record.Task, d.Attempt, d.Until}, true
}

// claimTurn has this server go on with a deferred attempt, or end its run. The error is a *TakenError, or says that nobody knows whether
// another server has it. What it returns takes that back.
func (r *Run) claimTurn(state runfile.State) (unclaim func(), err error) {
	turns, shared := r.turns(state)
	if !shared {
		return func() {}, nil
	}
	if state.Deferral.Turn == 0 && clock.Now().Sub(state.Deferral.Until) > oneserver.RetryKeptFor-servers.TakeableFor {
		return func() {}, &TakenError{}
	}
	unclaim, err = turns.own(state.Deferral.Turn)
	if err != nil {
		return func() {}, err
	}
	return unclaim, nil
}

// mayEnd claims the turn of a run that is to end although its next attempt waits. After an error, which is for people, it goes on, and this
// process has no part in it any more.
func (r *Run) mayEnd(state runfile.State) error {
	_, err := r.claimTurn(state)
	if err == nil {
		return nil
	}
	r.file.Close()
	if taken := new(TakenError); errors.As(err, &taken) {
		return err
	}
	return fmt.Errorf("nobody knows whether another server has taken it over: %w", err)
}

// TakenOver leaves the run to the server that has taken it over, and returns what this one records of it. Its file is to go with that.
func (d Deferred) TakenOver(by *TakenError) Ended {
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

// TakeRetry takes a deferred retry over that another server has told of. The task is that of this server, which has the name self; from says
// from which server, and why. Then the run waits here for the next tick. The error is os.ErrExist where it does already, a *TakenError, or
// says that nobody knows; then it is as before.
func (c Caller) TakeRetry(told servers.DeferredRetry, task *schedule.Task, self, from string) error {
	record := told.Record
	if _, err := os.Stat(runfile.Path(c.Dir, record.Run)); err == nil {
		return os.ErrExist
	}
	snapshot, err := json.Marshal(task)
	if err != nil {
		return err
	}
	turns := retryTurns{c.Store, self, record.Run, task.Name, told.Attempt, told.Until}
	turn, err := turns.take(told.Server, told.Turn)
	if err != nil {
		return err
	}
	if err := oneserver.NoteTaken(c.Dir, record.Run, told.Attempt, turn-1, told.Until, clock.Now()); err != nil {
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
	return runfile.CreateDeferred(c.Dir, begin, runfile.Deferral{
		Attempt: told.Attempt, Until: told.Until, Before: told.Before, Turn: turn, From: from, Record: record,
	})
}

// beginOutput makes the output of a run that was taken over: it begins with from where, since what was printed there stays there.
func (c Caller) beginOutput(record outcome.Record, from string) (path string, err error) {
	path = runfile.OutputPath(c.Dir, record)
	file, err := createOutput(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() == 0 {
		fmt.Fprintf(file, "sched: %s\n", from)
	}
	return path, nil
}
