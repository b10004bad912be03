package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sched/mutex"
	"sched/mutex/queue"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
)

// This file is about deferred retries: when the next attempt of a background run is a long time away, the run rests without
// a process and with its mutex free, until a tick goes on with it. So a reboot does not lose it, and nothing waits in memory.

// deferAfter is the longest wait between two attempts for which a process waits.
const deferAfter = time.Minute

// deferRetry leaves the next attempt to a later tick, where that is a long time away. It reports whether that was
// written down; then the run is at rest when this process ends.
func (r *Run) deferRetry(attempt int, wait time.Duration, result outcome.Record, notes []string) bool {
	if !r.Record().Background || wait <= deferAfter {
		return false
	}
	until := clock.Now().Add(wait).UTC()
	result.Notes = slices.Concat(result.Notes, notes)
	err := r.file.Append(runfile.Event{Deferral: &runfile.Deferral{Attempt: attempt, Until: until, Record: result}})
	return err == nil && r.file.Sync() == nil
}

// soFar returns the record of a run without an outcome: as it began, or with a deferral after the attempts before that.
func (r *Run) soFar(deferral *runfile.Deferral) outcome.Record {
	result := r.Record()
	if deferral != nil {
		result = deferral.Record
		result.Outcome, result.Reason = "", ""
	}
	result.Snapshot = nil
	return result
}

// resumeDeferred notes that the deferred attempt is about to start: from here on no tick starts it again. After an error
// the attempt must not start.
func (r *Run) resumeDeferred(deferral *runfile.Deferral) error {
	r.deferral = deferral
	return r.file.Append(runfile.Event{Attempt: &runfile.Attempt{Number: deferral.Attempt, At: clock.Now()}})
}

// leaveDeferred leaves a run whose next attempt was deferred at rest, with its mutex free.
func (r *Run) leaveDeferred(deferral *runfile.Deferral) outcome.Record {
	if r.lock != nil {
		r.lock.Release(context.Background())
	}
	r.Close()
	return r.soFar(deferral)
}

// giveUp returns the result of a run whose deferred attempt will not start: that of the attempt before, unless the run was
// stopped, or a code is given (sched finish MUTEX CODE).
func (r *Run) giveUp(state runfile.State, code *int, reason string) outcome.Record {
	result := state.Deferral.Record
	result.Ended = clock.Now()
	if state.Stop != nil {
		stoppedBy(&result, *state.Stop)
		return result
	}
	if code != nil {
		result.ExitCode = code
		result.Outcome, result.Reason = r.judge(*code)
	}
	result.Reason = join(result.Reason, reason)
	return result
}

// A Deferred is a run that waits for a deferred retry, or for its turn. It belongs to the process that has taken it, until one of Finish,
// Leave, Retry and Hold was called.
type Deferred struct {
	run   *Run
	state runfile.State
}

// Task returns the snapshot of the run's task.
func (d Deferred) Task() *schedule.Task { return &d.run.task }

// Queued reports whether it waits for its turn: then Until, Attempt and Hold are not for it.
func (d Deferred) Queued() bool { return d.state.Queued() }

// Until returns the time of its next attempt.
func (d Deferred) Until() time.Time { return d.state.Deferral.Until }

// Attempt returns the number of its next attempt.
func (d Deferred) Attempt() int { return d.state.Deferral.Attempt }

// Stopped reports whether the run was asked to stop: then it is to be finished.
func (d Deferred) Stopped() bool { return d.state.Stop != nil }

// Finish ends the run without another attempt.
func (d Deferred) Finish() outcome.Record { return d.run.conclude(d.state, nil) }

// Leave leaves the run to a later tick.
func (d Deferred) Leave() { d.run.file.Close() }

// A HeldError says why a deferred retry cannot start: its mutex is held, or may be.
type HeldError struct{ Reason string }

func (e *HeldError) Error() string { return e.Reason }

// Retry takes the mutex again and hands the run over for its next attempt; one that waits for its turn as it is. It returns the record so far. After a *HeldError the
// run still belongs to the caller (Hold); after any other error, such as one of handOver, it was left to a later tick.
func (d Deferred) Retry(handOver func(*Run) error) (outcome.Record, error) {
	r, deferral := d.run, d.state.Deferral
	if d.Queued() {
		err := handOver(r)
		if err != nil {
			r.Close()
		}
		return r.Record(), err
	}
	if reason := r.lockAgain(*deferral); reason != "" {
		return outcome.Record{}, &HeldError{reason}
	}
	if err := handOver(r); err != nil {
		r.leaveDeferred(deferral)
		return outcome.Record{}, err
	}
	return r.soFar(deferral), nil
}

// lockAgain takes the mutex and a seat, which were free while the run rested
// (docs/internals/decisions.md#the-mutex-is-free-during-a-deferred-retry). The reason says why that is impossible; it is empty
// where the run has what it needs.
func (r *Run) lockAgain(deferral runfile.Deferral) (reason string) {
	r.lock = nil // the lock of the attempts before
	record, need := r.Record(), NeedOf(&r.task)
	if record.Locks == "" { // it began without
		need.Mutex = ""
	}
	if record.Seat.Name == "" {
		need.Pool = ""
	}
	if need.Mutex == "" && need.Pool == "" {
		return ""
	}
	if err := r.Queue().Behind(QueuesOf(need)...); errors.As(err, new(*queue.BehindError)) {
		return err.Error()
	}
	need.Taken = func(seat string) (mutex.Holder, bool) { return r.HeldElsewhere(record.Seat.Locks, seat) }
	held, err := need.Acquire(context.Background(), r.storeAt(cmp.Or(record.Locks, record.Seat.Locks)), NewHolder(record))
	if err != nil {
		return heldReason(err)
	}
	r.lock = held.Lock
	r.Leases.Keep(held.Lock)
	if held.Seat == "" {
		return ""
	}
	deferral.Seat = outcome.Seat{Name: held.Seat, Locks: record.Seat.Locks}
	if err := r.file.Append(runfile.Event{Deferral: &deferral}); err != nil {
		held.Lock.Release(context.Background())
		return fmt.Sprintf("its seat cannot be written down: %v", err)
	}
	return ""
}

// Hold leaves a run whose mutex is held to a later tick, and notes that it is held since the tick of the minute. When that
// has been so for atMost, it ends the run instead, and returns its record.
func (d Deferred) Hold(minute time.Time, atMost time.Duration, reason string) (record outcome.Record, ended bool) {
	r, deferral := d.run, *d.state.Deferral
	if !deferral.HeldSince.IsZero() && minute.Sub(deferral.HeldSince) >= atMost {
		reason = fmt.Sprintf("attempt %d could not start for %.0f hours: %s", deferral.Attempt, atMost.Hours(), reason)
		return r.finish(d.state, r.giveUp(d.state, nil, reason)), true
	}
	if deferral.HeldSince.IsZero() {
		deferral.HeldSince = minute
		deferral.Record.Notes = append(deferral.Record.Notes, fmt.Sprintf("attempt %d had to wait: %s", deferral.Attempt, reason))
		r.file.Append(runfile.Event{Deferral: &deferral})
	}
	r.file.Close()
	return record, false
}
