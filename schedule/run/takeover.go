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
	"sched/schedule/run/output"
	"sched/schedule/runfile"
	"sched/schedule/servers"
	"sched/schedule/text"
)

// This file is about deferred retries of one_server tasks that another server takes over, since their own does not tick any more
// (docs/decisions.md#who-goes-on-with-a-deferred-retry).
//
// A server goes on with the attempt, or ends the run, only when it has claimed a turn of the attempt that was its own: turn 0 belongs to
// the server on which the run began. One that claims the turn of another server has taken the attempt over, and the next turn is its own.
// So the claims say all: the server that has two turns in a row has started the attempt.

// A TakenError says that a deferred retry is not this server's: another one has taken it over, or may have long ago.
type TakenError struct {
	By   string // which server has it; empty where that is not known any more
	Over bool   // the attempt was started, or the run has ended: nobody is to take it over any more
}

func (e *TakenError) Error() string {
	if e.By == "" {
		return "another server may have taken it over"
	}
	return "it was taken over by " + text.Line(e.By)
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

// own claims a turn that belongs to this server: then this server goes on with the attempt, and no other will. Where another one had taken
// the attempt over and does not tick any more, it is taken back. The error is a *TakenError, or says that nobody knows.
func (t retryTurns) own(turn int) (unclaim func(), err error) {
	_, unclaim, err = t.follow(t.self, turn, false)
	return unclaim, err
}

// take claims the turn of another server that does not tick, and returns the next one, which belongs to this server. The error is that of own.
func (t retryTurns) take(owner string, turn int) (next int, err error) {
	next, _, err = t.follow(owner, turn, true)
	return next, err
}

// follow follows the claims from the turn of the owner on, to the first that this server can make: it starts the attempt, or only takes it
// over, and returns its own turn.
func (t retryTurns) follow(owner string, turn int, take bool) (own int, unclaim func(), err error) {
	for ; ; turn++ {
		free := false
		if take || owner != t.self {
			if free, err = t.isFree(turn); err != nil {
				return 0, nil, err
			}
		}
		switch {
		case free && owner == t.self:
			return turn, nil, nil
		case free: // where somebody has the turn already it does not matter whether its owner ticks now
			if err := t.silent(owner); err != nil {
				return 0, nil, err
			}
		}
		unclaim, err := t.claim(turn, t.keptUntil(turn, owner))
		var held *mutex.HeldError
		switch {
		case err == nil && owner == t.self && take: // this server has gone on with it before
			return 0, nil, &TakenError{By: t.self, Over: true}
		case err == nil && owner == t.self:
			return turn, unclaim, nil
		case err == nil:
			owner = t.self
		case !errors.As(err, &held):
			return 0, nil, err
		case held.Holder.Host == "" || held.Holder.Host == owner:
			return 0, nil, &TakenError{By: held.Holder.Host, Over: true}
		default:
			owner = held.Holder.Host
		}
	}
}

// keptUntil is how long the claim of a turn is kept: as long as somebody may come back and ask for it. Only the server on which the run
// began does that after servers.TakeableFor.
func (t retryTurns) keptUntil(turn int, owner string) time.Time {
	if turn == 0 && owner == t.self {
		return t.due.Add(servers.TakeableFor + time.Hour)
	}
	return clock.Now().Add(oneserver.RetryKeptFor)
}

// silent returns a *TakenError where the server ticks.
func (t retryTurns) silent(server string) error {
	ticks, err := servers.Ticks(context.Background(), t.store, server)
	if err == nil && ticks {
		return &TakenError{By: server}
	}
	return err
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
		return func() {}, &TakenError{Over: true}
	}
	if state.Deferral.Owner != "" { // this server was killed as it took the attempt over
		if err := r.takeTurn(turns, state.Deferral); err != nil {
			return func() {}, err
		}
	}
	if unclaim, err = turns.own(state.Deferral.Turn); err != nil {
		return func() {}, err
	}
	return unclaim, nil
}

// takeTurn takes an attempt over of which the file says that it is still another server's, and writes that down.
func (r *Run) takeTurn(turns retryTurns, deferral *runfile.Deferral) error {
	turn, err := turns.take(deferral.Owner, deferral.Turn)
	if err != nil {
		return err
	}
	if err := oneserver.NoteTaken(r.Dir, turns.run, turns.attempt, turn-1, turns.due, clock.Now()); err != nil {
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

// Began reports whether the attempts of the run began on this server, or it has taken them over: else it is only about to.
func (d Deferred) Began() bool { return d.state.Deferral.Owner == "" }

// TakeRetry takes a deferred retry over that another server has told of. The task is that of this server, which has the name self; from says
// from which server, and why. Then the run waits here for the next tick. The error is os.ErrExist where it does already, a *TakenError, or
// says why that is not possible, or not known.
//
// The file is there before the claim: a server that was killed in between, and ticks again, goes on. While it ticks no other one would.
func (c Caller) TakeRetry(told servers.DeferredRetry, task *schedule.Task, self, from string) error {
	record := told.Record
	if _, err := os.Stat(runfile.Path(c.Dir, record.Run)); err == nil {
		return os.ErrExist
	}
	turns := retryTurns{c.Store, self, record.Run, task.Name, told.Attempt, told.Until}
	if err := turns.silent(told.Server); err != nil {
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
	if errors.As(err, new(*TakenError)) {
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
