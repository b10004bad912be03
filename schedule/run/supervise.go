package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run/output"
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

// superviseBackground supervises a background run to the end of its command, and calls finish to
// start its trailing `sched finish`. finish returns nil when that process owns the run; after an
// error the run is still ours. A run without hooks ends here. If the next attempt was deferred,
// finish is not called. When terminate is done it stops the command, when kill is done too it kills
// it.
func (r *Run) superviseBackground(terminate, kill context.Context, finish func(*Run) error) {
	r.Terminate = terminate
	defer r.unreaped.reap()
	r.Sender = notify.NewSender(kill, r.DB, r.Environ)
	var err error
	result := r.row.result()
	// If the row is finishing, the supervisor before this one was killed before it could start the
	// finish.
	if r.row.Phase != state.Finishing {
		var left bool
		if result, left = r.awaitLock(terminate); left {
			r.Close()
			return
		}
		if result.Outcome == "" {
			result = r.supervise(terminate, kill)
		}
		if result.Outcome == "" { // a later tick goes on with the deferred retry
			r.leaveDeferred()
			return
		}
		if endsAtOnce(&r.task) {
			r.Sender.Wait(terminate, startDeliveryPatience)
			r.finish(result)
			return
		}
		// If the result cannot be written, as on a full disk, this process alone knows it: the exit
		// code alone is no proof of a result
		// (docs/internals/decisions.md#an-exit-code-alone-is-no-result).
		if err = r.recordResult(result); err == nil {
			r.unreaped.reap()
		}
		r.Sender.Wait(terminate, startDeliveryPatience)
	}
	if err != nil || finish(r) != nil { // this process finishes the run
		defer r.sendAlone()()
		r.finish(result)
	}
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
	n := s.firstAttempt()
	if s.result.Outcome == outcome.Lost && s.run.deferAfterLost(s.result) {
		return true
	}
	for ; s.result.Outcome == ""; n++ {
		s.attempt(n)
		isFinal := s.result.Outcome == outcome.Succeeded || s.result.Outcome == outcome.Stopped
		if isFinal || n >= s.task.Retry.Attempts {
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
		s.row.recordRetry(wait, s.result.Result)
		s.run.unreaped.reap()
		if !s.waitUnlessStopped(wait) {
			s.setStopped("before attempt %d", n+1)
			return false
		}
		s.result.Outcome, s.result.Reason = "", ""
	}
	return false
}

// firstAttempt returns the number of the attempt to begin with. If the result has an outcome then,
// the run starts no attempt.
func (s *supervision) firstAttempt() (attempt int) {
	if s.row.Phase == state.Running { // its supervisor was killed
		return s.goOn()
	}
	attempt = s.row.Attempt.Number + 1
	switch {
	case attempt > 1 && !s.waitUnlessStopped(s.row.Wait.NotBefore.Sub(clock.Now())):
		s.setStopped("before attempt %d", attempt)
	case attempt == 1 && s.stopIfLockLost(1):
	case s.row.Started.IsZero():
		note := s.run.hooks.before(s.terminate)
		if note != "" && s.terminate.Err() != nil { // the hook was ended with this process
			s.setStopped("before attempt 1: %s", note)
		} else if note != "" {
			s.result.Outcome, s.result.Reason = outcome.Failed, note
		}
	}
	return attempt
}

// goOn is firstAttempt for a run whose supervisor was killed while the command ran, or while the
// command was about to be started.
func (s *supervision) goOn() (attempt int) {
	left := s.run.leftover
	if left == nil || left.process == nil { // the command ended unseen, or was in the middle of its start
		s.result = s.run.endUnwatched(nil)
		return s.row.Attempt.Number
	}
	if s.row.Attempt.PID == 0 {
		s.row.recordPID(left.process.PID)
	}
	return left.attempt
}

// attempt runs the command once, and adds the outcome and what the command used to the result.
func (s *supervision) attempt(n int) {
	p, age := s.run.leftover.command(n)
	if p == nil {
		if p = s.start(n); p == nil {
			return
		}
	} else {
		s.adoptCgroup(n)
	}
	defer s.closeCgroup()
	if ending := s.run.leftover.ends(n); ending != nil {
		s.result.Outcome, s.result.Reason = ending.Outcome, ending.Reason
	} else {
		s.result.Outcome, s.result.Reason = s.wait(p, age)
		if s.result.Outcome != "" {
			s.row.recordEnding(endingKind(s.result.Outcome), s.result.Reason)
		}
	}
	if s.result.Outcome != "" || s.row.stopIfAsked(&s.result) {
		survivors := p.EndRun(s.kill, s.row.ID, n, s.lease.KillAfter(s.task.KillAfter))
		s.result.Notes = append(s.result.Notes, leftBehind(survivors)...)
	}
	if !p.Ended() {
		return // without an exit code
	}
	code := p.ExitCode()
	s.result.ExitCode = &code
	switch {
	case s.result.Outcome == "" && p.Refusal != "":
		s.failUnstartable(code, p.Refusal)
	case s.result.Outcome == "":
		judge(&s.result, s.task, code)
		s.blameMemory()
	}
	measure(&s.result, p)
}

// start starts the command. If that is impossible, or not wanted any more, it returns nil and sets
// the outcome.
func (s *supervision) start(n int) *process.Process {
	if s.terminate.Err() != nil {
		s.setStopped("before attempt %d", n)
		return nil
	}
	if s.row.stopIfAsked(&s.result) || s.stopIfLockLost(n) || !s.announce(n) {
		return nil
	}
	s.run.unreaped.reap() // of the hooks before it
	if n > 1 {
		output.Separate(s.run.output, fmt.Sprintf("sched: attempt %d\n", n))
	}
	p, err := s.startLimited(n, process.Spec{
		Task:       s.task,
		Command:    s.task.Command,
		Dir:        s.task.Dir,
		CallerEnv:  s.run.Environ,
		Variables:  variables(s.run, n),
		Output:     s.run.output,
		Locks:      inherited(s.run.lock),
		KeepZombie: s.row.Background,
	})
	if err != nil {
		s.failUnstartable(process.StartExitCode(err), err.Error())
		return nil
	}
	if s.row.Background {
		s.run.unreaped.add(p)
	}
	// The command runs already: what is written from here on does not delay it
	// (docs/internals/decisions.md#nothing-delays-the-start-of-the-command).
	s.row.recordPID(p.PID)
	s.describeLock(p.PID)
	return p
}

// describeLock names a process of the run in its lock, for people. It decides nothing.
func (s *supervision) describeLock(pid int) {
	if s.run.lock != nil {
		holder := NewHolder(s.row.Row)
		holder.PID = pid
		s.run.lock.Describe(holder)
	}
}

// announce writes down that the attempt is about to start: before the command is forked, so a row
// that is still ready was never started. If the row cannot be written, as on a full disk, the
// command starts all the same. It reports false, and sets the outcome, if another process has the
// run.
func (s *supervision) announce(n int) bool {
	s.result.Attempt.Number = n
	attempt := state.Attempt{Number: n, At: clock.Now(), Boot: clock.BootID()}
	err := s.row.recordStart(attempt)
	if s.row.isTaken(err) { // the result of this process is written nowhere
		s.setStopped("before attempt %d: %v", n, err)
		return false
	}
	unrecorded := 0
	if err != nil || s.run.DB.InMemory() {
		unrecorded = s.run.startsUnrecorded + 1
	}
	if unrecorded != s.run.startsUnrecorded {
		s.run.startsUnrecorded = unrecorded
		output.MarkUnwritten(s.run.output, unrecorded)
	}
	if s.result.Started.IsZero() {
		s.result.Started = attempt.At
	}
	return true
}

// stopIfLockLost reports whether the run has lost its lock before the attempt. If so, it sets the
// outcome: another run may have the lock by now.
func (s *supervision) stopIfLockLost(n int) bool {
	lost := s.lease.HeldToStart()
	if lost != "" {
		s.setStopped("before attempt %d: %s", n, lost)
	}
	return lost != ""
}

// failUnstartable sets that the command could not be started, and why, and writes that into the
// output.
func (s *supervision) failUnstartable(code int, why string) {
	s.result.Outcome, s.result.ExitCode = outcome.Failed, &code
	s.result.Reason = "cannot start: " + why
	fmt.Fprintf(s.run.output, "sched: %s\n", s.result.Reason)
}

// setStopped sets that the run was stopped, and when.
func (s *supervision) setStopped(format string, args ...any) { setStopped(&s.result, format, args...) }

// wait waits for the end of the command, of its time, or for terminate. The outcome is empty when
// the command ended by itself; otherwise the caller must end the command. The age is how long the
// command has run already.
func (s *supervision) wait(p *process.Process, age time.Duration) (outcome.Outcome, string) {
	if p.Ended() { // it ended before this process looked, nobody knows when: that is no timeout
		return "", ""
	}
	var timeout <-chan time.Time
	if s.task.Timeout > 0 {
		timer := time.NewTimer(max(0, s.task.Timeout-age))
		defer timer.Stop()
		timeout = timer.C
	}
	trimmer := output.Trimmer{Output: s.run.output, Limit: s.task.Output.Limit}
	trimTimer := time.NewTimer(trimAfter)
	defer trimTimer.Stop()
	for {
		select {
		case <-trimTimer.C:
			trimTimer.Reset(trimmer.Trim())
		case <-p.Done:
			return "", ""
		case <-timeout:
			return outcome.TimedOut, "after " + humanize.Setting(s.task.Timeout)
		case <-s.terminate.Done():
			return outcome.Stopped, context.Cause(s.terminate).Error()
		}
	}
}

// trimAfter is how long a command runs before its output is trimmed for the first time.
const trimAfter = time.Second

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

func (k *unreapedProcesses) add(p *process.Process) { *k = append(*k, p) }

// reap reaps the processes: how they ended is written down now.
func (k *unreapedProcesses) reap() {
	for _, p := range *k {
		p.Reap()
	}
	*k = nil
}

// judge sets the outcome of a command that ended by itself with the exit code.
func judge(result *state.Row, task *schedule.Task, code int) {
	switch {
	case slices.Contains(task.SuccessCodes, code):
		result.Outcome = outcome.Succeeded
	case slices.Contains(task.WarnCodes, code):
		result.Outcome, result.Kind = outcome.Succeeded, outcome.Warning
		result.Reason = fmt.Sprintf("exit code %d", code)
	default:
		result.Outcome, result.Reason = outcome.Failed, process.ExitText(code)
	}
}

// measure adds the CPU time and the memory that the command has used, itself and its children that
// it waited for (getrusage(2)).
func measure(result *state.Row, p *process.Process) {
	result.UserCPU += time.Duration(p.Usage.Utime.Nano())
	result.SystemCPU += time.Duration(p.Usage.Stime.Nano())
	result.PeakMemory = max(result.PeakMemory, p.PeakMemory())
}

// setStopped sets that the run was stopped, and when.
func setStopped(result *state.Row, format string, args ...any) {
	result.Outcome, result.Reason = outcome.Stopped, fmt.Sprintf(format, args...)
}
