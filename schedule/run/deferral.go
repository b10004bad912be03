package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
)

// A retry of a background run that is a long time away is deferred: the run rests without a process and with its mutex
// free, until a tick goes on with it. So a reboot does not lose it, and nothing waits for it in memory.

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

// soFar is the record of a run before its first attempt, or with a deferral what the attempts before it came to; without an outcome.
func (r *Run) soFar(deferral *runfile.Deferral) outcome.Record {
	result := r.Record()
	if deferral != nil {
		result = deferral.Record
		result.Outcome, result.Reason = "", ""
	}
	result.Snapshot = nil
	return result
}

// resumeDeferred notes that the deferred attempt is about to start. From here on no tick starts it again; where that
// cannot be written, it does not start.
func (r *Run) resumeDeferred(deferral *runfile.Deferral) error {
	r.deferral = deferral
	return r.file.Append(runfile.Event{Attempt: &runfile.Attempt{Number: deferral.Attempt, At: clock.Now()}})
}

// leaveDeferred leaves a run whose next attempt was deferred at rest, with its mutex free.
func (r *Run) leaveDeferred(deferral *runfile.Deferral) outcome.Record {
	if r.lock != nil {
		r.lock.Release(context.Background())
	}
	r.file.Close()
	return r.soFar(deferral)
}

// giveUp says how a run ended whose deferred attempt will not start: as the attempt before, unless it was stopped or code
// (nil: not known) says otherwise.
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

// A Deferred is a run at rest that this process has taken, until one of its methods but Task and Until is called.
type Deferred struct {
	run   *Run
	state runfile.State
}

// Task returns the snapshot of the run's task.
func (d Deferred) Task() *schedule.Task { return &d.run.task }

// Until is the time of its next attempt; Attempt its number.
func (d Deferred) Until() time.Time { return d.state.Deferral.Until }
func (d Deferred) Attempt() int     { return d.state.Deferral.Attempt }

// Stopped reports whether somebody asked to stop the run: then it is to be finished.
func (d Deferred) Stopped() bool { return d.state.Stop != nil }

// Finish ends the run without another attempt.
func (d Deferred) Finish() outcome.Record { return d.run.conclude(d.state, nil) }

// Leave leaves the run to a later tick.
func (d Deferred) Leave() { d.run.file.Close() }

// A HeldError says why a deferred retry cannot start: its mutex is held, or nobody knows whether it is.
type HeldError struct{ Reason string }

func (e *HeldError) Error() string { return e.Reason }

// Retry takes the mutex again and hands the run over for its next attempt, with the program at the path self. It
// returns the record so far. After a *HeldError the run is the caller's still (Hold); after any other it was left to a later tick.
func (d Deferred) Retry(self string) (outcome.Record, error) {
	r, deferral := d.run, d.state.Deferral
	if reason := r.lockAgain(*deferral); reason != "" {
		return outcome.Record{}, &HeldError{reason}
	}
	if err := r.handOverAgain(self); err != nil {
		r.leaveDeferred(deferral)
		return outcome.Record{}, err
	}
	return r.soFar(deferral), nil
}

// lockAgain takes the mutex, which was free while the run rested. The reason says why it cannot be had.
func (r *Run) lockAgain(deferral runfile.Deferral) (reason string) {
	r.lock = nil // that of the attempts before
	record := r.Record()
	if record.Locks == "" {
		return ""
	}
	holder := mutex.Holder{Run: record.Run, PID: os.Getpid(), Host: record.Server, Since: clock.Now()}
	lock, err := r.storeAt(record.Locks).Acquire(context.Background(), record.Mutex, holder)
	var held *mutex.HeldError
	switch {
	case errors.As(err, &held):
		return StillRunning(held.Holder, clock.Now())
	case err != nil:
		return fmt.Sprintf("nobody knows whether it is running: %v", err)
	}
	r.lock, deferral.Fence = lock, lock.Fence()
	if err := r.file.Append(runfile.Event{Deferral: &deferral}); err != nil {
		lock.Release(context.Background())
		return fmt.Sprintf("its number cannot be written down: %v", err)
	}
	return ""
}

// Hold leaves a run whose mutex is held to a later tick than that of the minute, and notes since when it is held. After atMost it ends
// the run instead, and reports that with its record.
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
