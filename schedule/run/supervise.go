package run

import (
	"context"
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/state"
)

// Execute supervises and finishes the run in this process, and returns its row. When terminate
// is done the command is stopped; when kill is done too it is killed at once.
func (r *Run) Execute(terminate, kill context.Context) state.Row {
	return r.ExecuteThen(terminate, kill, func() {})
}

// ExecuteThen is Execute that calls ended when the command has ended, before the hooks after it.
func (r *Run) ExecuteThen(terminate, kill context.Context, ended func()) state.Row {
	r.Terminate = terminate
	result := r.supervise(terminate, kill)
	ended()
	return r.finish(result)
}

// startDeliveryPatience is how long a supervisor whose command has ended waits for the delivery of
// messages about the start: the run's lock is held meanwhile. While a longer command runs, there is
// time enough.
const startDeliveryPatience = 5 * time.Second

// superviseBackground supervises a background run to the end of its command, and calls handOver to
// start its `sched finish`. handOver returns nil when that process owns the run; after an error the
// run is still ours. A run without hooks ends here. When terminate is done it stops the command,
// when kill is done too it kills it.
func (r *Run) superviseBackground(terminate, kill context.Context, handOver func(*Run) error) {
	r.Terminate = terminate
	defer r.unreaped.reap()
	r.Sender = notify.NewSender(kill, r.DB, r.Environ)
	result := r.row.result()
	// If the row is finishing, the supervisor before this one was killed before it could start the
	// finish.
	if r.row.Phase != state.Finishing {
		var leftToTick bool
		if result, leftToTick = r.awaitResult(terminate, kill); leftToTick {
			return
		}
		if endsAtOnce(&r.task) {
			r.Sender.Wait(terminate, startDeliveryPatience)
			r.finish(result)
			return
		}
		if r.recordResult(result) == nil {
			r.unreaped.reap()
		}
		r.Sender.Wait(terminate, startDeliveryPatience)
	}
	// If the result could not be written, as on a full disk, this process alone knows it: the exit
	// code alone is no proof of a result
	// (docs/internals/decisions.md#an-exit-code-alone-is-no-result).
	if r.resultUnrecorded || handOver(r) != nil { // this process finishes the run
		r.finishAlone(result)
	}
}

// awaitResult waits until a background run has its mutex and its seat, runs its command, and
// returns the result. If leftToTick is true, a later tick goes on with the run: it waits on, or its
// next attempt was deferred.
func (r *Run) awaitResult(terminate, kill context.Context) (result state.Row, leftToTick bool) {
	if result, leftToTick = r.awaitLock(terminate); leftToTick {
		r.Close()
		return result, true
	}
	if result.Outcome == "" {
		result = r.supervise(terminate, kill)
	}
	if result.Outcome == "" {
		r.leaveDeferred()
		return result, true
	}
	return result, false
}

// supervise runs the before-hooks and then the command, as often as the task says, and returns the
// result. It is the same code for foreground and background runs. A result without an outcome means
// that the retry was deferred.
func (r *Run) supervise(terminate, kill context.Context) state.Row {
	s := &supervision{run: r, row: &r.row, task: &r.task, kill: kill, result: r.row.soFar()}
	s.terminate, s.lease = r.renewLease(terminate)
	if deferred := s.attempts(); deferred {
		s.lease.End()
		return r.row.soFar()
	}
	s.result.Ended = clock.Now()
	s.result.Notes = append(s.result.Notes, s.lease.End()...)
	return s.result
}

// A supervision is the part of a process in a run whose command it starts, watches and ends.
type supervision struct {
	run             *Run
	row             *ownRow
	task            *schedule.Task
	terminate, kill context.Context
	lease           *Renewer
	cgroup          *process.Cgroup // of the present attempt; nil for none
	result          state.Row       // of the attempts so far
}

// attempts makes attempts until the run has an outcome. It reports whether the next one is left to
// a later tick instead.
func (s *supervision) attempts() (deferred bool) {
	n := s.prepareFirst()
	if s.result.Outcome == outcome.Lost && s.run.deferAfterLost(s.result) {
		return true
	}
	for ; s.result.Outcome == ""; n++ {
		s.attempt(n)
		isFinal := s.result.Outcome == outcome.Succeeded || s.result.Outcome == outcome.Stopped
		overlaps := s.run.lock != nil && s.result.Survivors != ""
		if isFinal || overlaps || n >= s.task.Retry.Attempts {
			return false
		}
		ended := s.result
		ended.Ended = clock.Now()
		s.run.hooks.queueAttemptSpan(ended)
		s.run.hooks.send()
		wait := s.task.Retry.WaitOf(s.row.ID, n)
		if s.deferRetry(wait) {
			return true
		}
		s.row.apply(state.AwaitRetry(s.result.Result, clock.Now().Add(wait)))
		s.run.unreaped.reap()
		if !s.waitUnlessStopped(wait) {
			setStopped(&s.result, "before attempt %d", n+1)
			return false
		}
		s.result.Outcome, s.result.Reason = "", ""
	}
	return false
}

// prepareFirst does what comes before the first attempt of this process, and returns its number: it
// goes on with the attempt of a killed supervisor, waits for the time of a further attempt, or runs
// the before-hooks. If the result has an outcome afterwards, the run starts no attempt.
func (s *supervision) prepareFirst() (attempt int) {
	if s.row.Phase == state.Running { // its supervisor was killed
		return s.goOn()
	}
	attempt = s.row.Attempt.Number + 1
	now := clock.Now()
	if attempt > 1 && !s.row.BeganAfter(now) && !s.waitUnlessStopped(s.row.Wait.NotBefore.Sub(now)) {
		setStopped(&s.result, "before attempt %d", attempt)
		return attempt
	}
	if attempt == 1 && s.stopIfLockLost(1) {
		return attempt
	}
	if s.row.Started.IsZero() {
		note := s.run.hooks.before(s.terminate)
		if note != "" && s.terminate.Err() != nil { // the hook was ended with this process
			setStopped(&s.result, "before attempt 1: %s", note)
		} else if note != "" {
			s.result.Outcome, s.result.Reason = outcome.Failed, note
		}
	}
	return attempt
}

// goOn is prepareFirst for a run whose supervisor was killed while the command ran, or while the
// command was about to be started.
func (s *supervision) goOn() (attempt int) {
	left := s.run.leftover
	if left == nil || left.process == nil { // the command ended unseen, or was in the middle of its start
		s.result = s.run.endUnwatched(nil)
		return s.row.Attempt.Number
	}
	if s.row.Attempt.PID == 0 {
		s.row.apply(state.Fork(left.process.PID))
	}
	return left.attempt
}

// waitUnlessStopped waits before the next attempt. It returns early when the run was asked to stop,
// and reports false when this process was asked to end first.
func (s *supervision) waitUnlessStopped(d time.Duration) bool {
	for ; d > time.Second; d -= time.Second {
		if !clock.Wait(s.terminate, time.Second) {
			return false
		}
		if s.row.stopRequest() != nil {
			return true
		}
	}
	return clock.Wait(s.terminate, d)
}

// unreapedProcesses are commands and hooks whose ends the kernel keeps until they are written down.
// If this process were killed in between, nobody would know how they ended.
type unreapedProcesses []*process.Process

func (u *unreapedProcesses) add(p *process.Process) { *u = append(*u, p) }

// reap reaps the processes: how they ended is written down now.
func (u *unreapedProcesses) reap() {
	for _, p := range *u {
		p.Reap()
	}
	*u = nil
}

// setStopped sets that the run was stopped, and when.
func setStopped(result *state.Row, format string, args ...any) {
	result.Outcome, result.Reason = outcome.Stopped, fmt.Sprintf(format, args...)
}
