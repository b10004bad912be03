package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"

	"sched/schedule/clock"
	"sched/schedule/outcome"

	"sched/schedule/runfile"
)

// putOffAfter is the longest wait between two attempts of a background run for which a process waits.
// After a longer one a tick goes on with the run, so that a reboot does not lose it.
const putOffAfter = time.Minute

// putOff leaves the next attempt to a later tick, where that is a long time away. It reports whether
// that was written down; then nobody watches the run until the tick comes.
func (r *Run) putOff(attempt int, wait time.Duration, result outcome.Record, notes []string) bool {
	if !r.record().Background || wait <= putOffAfter {
		return false
	}
	until := clock.Now().Add(wait).UTC()
	result.Notes = slices.Concat(result.Notes, notes)
	err := r.file.Append(runfile.Event{Deferral: &runfile.Deferral{Attempt: attempt, Until: until, Record: result}})
	return err == nil && r.file.Sync() == nil
}

// soFar is the record of a run before its first attempt, or what the attempts before its last wait came
// to; without an outcome.
func (r *Run) soFar(wait *runfile.Deferral) outcome.Record {
	result := r.record()
	if wait != nil {
		result = wait.Record
		result.Outcome, result.Reason = "", ""
	}
	result.Snapshot = nil
	return result
}

// goOn notes that the attempt for which the run waited is about to start. From here on no tick starts it
// again; where that cannot be written, it does not start.
func (r *Run) goOn(wait *runfile.Deferral) error {
	r.waited = wait
	return r.file.Append(runfile.Event{Attempt: &runfile.Attempt{Number: wait.Attempt, At: clock.Now()}})
}

// rest leaves a run whose next attempt was put off, with its mutex free.
func (r *Run) rest(wait *runfile.Deferral) outcome.Record {
	if r.lock != nil {
		r.lock.Release(context.Background())
	}
	r.file.Close()
	return r.soFar(wait)
}

// giveUp says how a run ended that waited for its next attempt: as the attempt before, unless somebody
// knows better.
func (r *Run) giveUp(log runfile.State, code *int, reason string) outcome.Record {
	result := log.Deferral.Record
	result.Ended = clock.Now()
	if log.Stop != nil {
		stoppedBy(&result, *log.Stop)
		return result
	}
	if code != nil {
		result.ExitCode = code
		result.Outcome, result.Reason = r.judge(*code)
	}
	result.Reason = join(result.Reason, reason)
	return result
}

// relock takes the mutex, which was free while the run waited. The reason says why it cannot be had.
func (r *Run) relock(state State, wait runfile.Deferral) (reason string) {
	r.lock = nil // that of the attempts before
	record := r.record()
	if record.Locks == "" {
		return ""
	}
	owner := mutex.Holder{Run: record.Run, PID: os.Getpid(), Host: record.Server, Since: clock.Now()}
	lock, err := state.storeAt(record.Locks).Acquire(context.Background(), record.Mutex, owner)
	var held *mutex.HeldError
	switch {
	case errors.As(err, &held):
		return stillRunning(held.Holder, clock.Now())
	case err != nil:
		return fmt.Sprintf("nobody knows whether it is running: %v", err)
	}
	r.lock, wait.Fence = lock, lock.Fence()
	if err := r.file.Append(runfile.Event{Deferral: &wait}); err != nil {
		lock.Release(context.Background())
		return fmt.Sprintf("its number cannot be written down: %v", err)
	}
	return ""
}

// refork starts a witness for the next attempt, whose output follows that of the attempts before.
func (r *Run) refork(self string) error {
	output, err := appendTo(r.record().Output)
	if err != nil {
		return err
	}
	unix.Flock(int(output.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	r.output = output
	return r.fork(self)
}
