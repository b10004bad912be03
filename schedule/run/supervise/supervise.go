package supervise

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/cgroup"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/judge/evidence"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/run/lease"
	"sched/schedule/run/ownrow"
	"sched/schedule/run/variables"
	"sched/schedule/state"
)

// Execute supervises and finishes the run in this process, and returns its row. When terminate is
// done the command is stopped; when kill is done too it is killed at once.
func Execute(r *run.Run, terminate, kill context.Context) state.Row {
	return run.Finish(r, Foreground(r, terminate, kill))
}

// Foreground is Execute without the finish: it returns the result when the command has ended.
func Foreground(r *run.Run, terminate, kill context.Context) state.Row {
	r.Terminate = terminate
	return *supervise(r, nil, terminate, kill)
}

// supervise runs the before-hooks and then the command, as often as the task says, and returns the
// result. It is the same code for foreground and background runs. A result without an outcome means
// that the retry was deferred. It is returned by its pointer: what waits for a command has a small
// stack.
func supervise(r *run.Run, left *leftover, terminate, kill context.Context) *state.Row {
	s := &supervision{run: r, left: left, row: &r.Own, task: &r.Task, kill: kill}
	s.terminate, s.lease = r.RenewLease(terminate)
	if deferred := s.attempts(); deferred {
		s.lease.End()
		s.result.Outcome = ""
		return &s.result
	}
	s.result.Ended = clock.Now()
	s.result.Notes = append(s.result.Notes, s.lease.End()...)
	return &s.result
}

// A supervision is the part of a process in a run whose command it starts, watches and ends.
type supervision struct {
	run             *run.Run
	left            *leftover // of a killed supervisor whose place this process has taken; else nil
	row             *ownrow.Row
	task            *schedule.Task
	terminate, kill context.Context
	lease           *lease.Renewer
	cgroup          *cgroup.Group // of the present attempt; nil for none
	stderr          *os.File      // of the present attempt, if a rule asks for it; else nil
	result          state.Row     // of the attempts so far
}

// attempts makes attempts until the run has an outcome. It reports whether the next one is left to
// a later tick instead.
func (s *supervision) attempts() (deferred bool) {
	n := s.prepareFirst()
	if s.result.Outcome == outcome.Lost && run.DeferAfterLost(s.run, &s.result) {
		return true
	}
	for ; s.result.Outcome == ""; n++ {
		s.attempt(n)
		isFinal := s.result.Outcome == outcome.Succeeded || s.result.Outcome == outcome.Stopped ||
			s.result.Kind == outcome.Budget
		overlaps := s.run.Lock != nil && s.result.Survivors != ""
		if isFinal || overlaps || n >= s.task.Retry.Attempts {
			return false
		}
		s.run.Hooks.QueueAttemptSpan(&s.result, clock.Now())
		s.run.Hooks.Send()
		wait := s.task.Retry.WaitOf(s.row.ID, n)
		if s.deferRetry(wait) {
			return true
		}
		s.row.Apply(state.AwaitRetry(s.result.Result, clock.Now().Add(wait)))
		s.run.Unreaped.Reap()
		if !s.waitUnlessStopped(wait) {
			ownrow.SetStopped(&s.result, "before attempt %d", n+1)
			return false
		}
		s.result.Outcome, s.result.Kind, s.result.Reason = "", "", ""
	}
	return false
}

// prepareFirst does what comes before the first attempt of this process, and returns its number: it
// goes on with the attempt of a killed supervisor, waits for the time of a further attempt, or runs
// the before-hooks. If the result has an outcome afterwards, the run starts no attempt.
func (s *supervision) prepareFirst() (attempt int) {
	s.result = s.row.SoFar()
	if s.run.IsAnnounced {
		return 1
	}
	attempt = s.row.Attempt.Number + 1
	switch s.left.next(&s.row.Row) {
	case run.Watch:
		if s.row.Attempt.PID == 0 {
			s.row.Apply(state.Fork(s.left.process.PID))
		}
		return s.row.Attempt.Number
	case run.Lose: // the command ended unseen, or was in the middle of its start
		s.result = run.EndUnwatched(s.run, nil)
		return s.row.Attempt.Number
	case run.Wait:
		if !s.waitUnlessStopped(s.row.Wait.NotBefore.Sub(clock.Now())) {
			ownrow.SetStopped(&s.result, "before attempt %d", attempt)
			return attempt
		}
	}
	if attempt == 1 && s.stopIfLockLost(1) || !s.row.Started.IsZero() {
		return attempt
	}
	if s.run.SetBudgetSpent(&s.result) {
		return attempt
	}
	note := s.run.Hooks.Before(s.terminate)
	if note != "" && s.terminate.Err() != nil { // the hook was ended with this process
		ownrow.SetStopped(&s.result, "before attempt 1: %s", note)
	} else if note != "" {
		s.result.Outcome, s.result.Reason = outcome.Failed, note
	}
	return attempt
}

// waitUnlessStopped waits before the next attempt. It returns early when the run was asked to stop,
// and reports false when this process was asked to end first.
func (s *supervision) waitUnlessStopped(d time.Duration) bool {
	for ; d > time.Second; d -= time.Second {
		if !clock.Wait(s.terminate, time.Second) {
			return false
		}
		if s.row.StopRequest() != nil {
			return true
		}
	}
	return clock.Wait(s.terminate, d)
}

// stopIfLockLost reports whether the run has lost its lock before the attempt. If so, it sets the
// outcome: another run may have the lock by now.
func (s *supervision) stopIfLockLost(n int) bool {
	lost := s.lease.HeldToStart()
	if lost != "" {
		ownrow.SetStopped(&s.result, "before attempt %d: %s", n, lost)
	}
	return lost != ""
}

// attempt runs the command once, and adds the outcome and what the command used to the result.
func (s *supervision) attempt(n int) {
	p, age, ending := s.left.of(n)
	if p != nil {
		s.adoptCgroup(n)
	} else if p = s.start(n); p == nil {
		return
	}
	defer s.closeCgroup()
	defer func() { s.stderr.Close() }()
	s.await(p, age, ending)
	if s.result.Outcome == "" {
		s.row.StopIfAsked(&s.result)
	}
	if s.result.Outcome != "" {
		family := process.Family{
			Run: s.row.ID, Attempt: n, User: s.task.As.User, Output: s.run.Output, Locks: s.run.LockFiles()}
		survivors := p.EndFamily(s.kill, family, s.lease.KillAfter(s.task.KillAfter))
		ownrow.LeaveBehind(&s.result, survivors)
	}
	s.run.Report(&s.result, s.result.Outcome == "")
	if s.result.ExitCode = nil; !p.Ended() { // an earlier attempt may have had one
		return
	}
	code := p.ExitCode()
	s.result.ExitCode = &code
	switch {
	case s.result.Outcome == "" && p.Refusal != "":
		s.failUnstartable(code, p.Refusal)
	case s.result.Outcome == "":
		s.run.Judge(&s.result, code, s.printedToStderr())
		if s.result.Outcome == outcome.Failed && s.cgroup.OutOfMemory() { // the kernel has ended a process of it
			s.result.Reason = fmt.Sprintf("out of memory (limit %s)", humanize.Bytes(s.task.Limits.Memory))
		}
	}
	measure(&s.result, p)
}

// measure adds the CPU time and the memory that the command has used, itself and its children that
// it waited for (getrusage(2)).
func measure(result *state.Row, p *process.Process) {
	result.UserCPU += time.Duration(p.Usage.Utime.Nano())
	result.SystemCPU += time.Duration(p.Usage.Stime.Nano())
	result.PeakMemory = max(result.PeakMemory, p.PeakMemory())
}

// adoptCgroup takes the cgroup of an attempt that a killed supervisor has started.
func (s *supervision) adoptCgroup(n int) {
	if !s.task.Limits.NeedsCgroup() {
		return
	}
	if s.cgroup = cgroup.Of(s.row.ID, n); s.cgroup != nil {
		s.result.Limits = process.LimitsText(s.task.Limits, nil)
	}
}

// start starts the command. If that is impossible, or not wanted any more, it returns nil and sets
// the outcome.
func (s *supervision) start(n int) *process.Process {
	// The report is new before the row says that the attempt begins, so no process that finds the
	// row takes the report of the attempt before for this one's.
	report, err := evidence.NewReport(s.run.Dir, s.row.Row, s.task)
	if !s.mayStart(n) {
		return nil
	}
	s.run.Unreaped.Reap() // of the hooks before it
	if n > 1 {
		output.Separate(s.run.Output, s.row.Output, output.AttemptLine(n))
	}
	s.result.Values = nil // of the attempt before
	if err != nil {
		s.failUnstartable(process.StartExitCode(err), err.Error())
		return nil
	}
	s.openStderr()
	p, err := s.startLimited(n, process.Spec{
		Task:       s.task,
		Command:    s.task.Command,
		Dir:        s.task.Dir,
		CallerEnv:  s.run.Environ,
		Variables:  append(variables.OfRun(s.run.DB, s.row.Row, n), report...),
		Output:     s.run.Output,
		Stderr:     s.stderr,
		Locks:      s.run.LockFiles(),
		KeepZombie: s.row.Background,
	})
	if err != nil {
		s.failUnstartable(process.StartExitCode(err), err.Error())
		return nil
	}
	if s.row.Background {
		s.run.Unreaped.Add(p)
	}
	// The command runs already: what is written from here on does not delay it
	// (docs/internals/decisions.md#nothing-delays-the-start-of-the-command).
	s.row.Apply(state.Fork(p.PID))
	s.describeLock(p.PID)
	return p
}

// mayStart reports whether the attempt is still wanted, and announces it. Otherwise it sets the
// outcome.
func (s *supervision) mayStart(n int) bool {
	if s.terminate.Err() != nil {
		ownrow.SetStopped(&s.result, "before attempt %d", n)
		return false
	}
	return !s.row.StopIfAsked(&s.result) && !s.stopIfLockLost(n) && !s.failIfSpent(n) && s.announce(n)
}

// failIfSpent reports whether a budget was spent before a further attempt. If so, the run has
// failed, as the attempt before.
func (s *supervision) failIfSpent(n int) bool {
	spent := n > 1 && s.run.SetBudgetSpent(&s.result)
	if spent {
		s.result.Outcome = outcome.Failed
		s.result.Reason = fmt.Sprintf("%s; not tried again: %s", s.row.Reason, s.result.Reason)
	}
	return spent
}

// announce writes down that the attempt is about to start: before the command is forked, so a row
// that is still ready was never started. If the row cannot be written, as on a full disk, the
// command starts all the same. It reports false, and sets the outcome, if another process has the
// run. The first attempt of a run that BeginToExecute has begun is written down already.
func (s *supervision) announce(n int) bool {
	if n == 1 && s.run.IsAnnounced {
		return true
	}
	s.result.Attempt.Number = n
	attempt := state.Attempt{Number: n, At: clock.Now(), Boot: clock.BootID(), Leased: s.lease.Began()}
	err := s.row.Apply(state.Start(attempt))
	if s.row.IsTaken(err) { // the result of this process is written nowhere
		ownrow.SetStopped(&s.result, "before attempt %d: %v", n, err)
		return false
	}
	unrecorded := 0
	if err != nil || s.run.DB.InMemory() {
		unrecorded = s.run.StartsUnrecorded + 1
	}
	if unrecorded != s.run.StartsUnrecorded {
		s.run.StartsUnrecorded = unrecorded
		output.MarkUnwritten(s.run.Output, unrecorded)
	}
	if s.result.Started.IsZero() {
		s.result.Started = attempt.At
	}
	return true
}

// startLimited starts the command of attempt n under the limits of the task: in a cgroup if it can
// start in one, else with the limits that each process keeps.
func (s *supervision) startLimited(n int, spec process.Spec) (*process.Process, error) {
	limits := s.task.Limits
	if limits == (schedule.Limits{}) {
		return spec.Start()
	}
	spec.Limits = limits
	var noCgroup error
	if limits.NeedsCgroup() {
		p, err := s.startInCgroup(n, spec)
		if err == nil {
			return p, nil
		}
		noCgroup = err
	}
	p, err := spec.Start()
	if err == nil {
		s.result.Limits = process.LimitsText(limits, noCgroup)
		s.noteLimits(noCgroup)
	}
	return p, err
}

// startInCgroup starts the command of attempt n in a cgroup of its own, which belongs to the
// attempt then.
func (s *supervision) startInCgroup(n int, spec process.Spec) (*process.Process, error) {
	group, err := cgroup.New(s.row.ID, n, spec.Limits)
	if err != nil {
		return nil, err
	}
	s.cgroup, spec.Cgroup = group, group
	p, err := spec.Start()
	if err != nil {
		s.closeCgroup()
		return nil, err
	}
	s.result.Limits = process.LimitsText(spec.Limits, nil)
	return p, nil
}

// closeCgroup removes the cgroup of the attempt, if there is one.
func (s *supervision) closeCgroup() {
	s.cgroup.Close()
	s.cgroup = nil
}

// noteLimits notes that the command has no cgroup, and why. It does so only in the first run of the
// task that has no cgroup for this reason.
func (s *supervision) noteLimits(noCgroup error) {
	if noCgroup == nil || s.result.Limits == s.row.Limits {
		return
	}
	last, ok, _ := s.run.DB.Runs().Previous(context.Background(), s.row.Task, s.row.ID)
	if !ok || last.Limits != s.result.Limits {
		s.result.Notes = append(s.result.Notes, "limits: "+s.result.Limits)
	}
}

// openStderr opens the output of the run once more, for stderr, if a rule asks whether anything is
// printed there. Both are for appending, so all lines stand in their order. Whether the place of
// this one in the file moves is the kernel's answer.
func (s *supervision) openStderr() {
	if s.task.Judge.WatchesStderr() {
		s.stderr, _ = output.Append(s.row.Output) // else it is not known
	}
}

// printedToStderr says whether the command of the attempt has printed to stderr.
func (s *supervision) printedToStderr() evidence.Stderr {
	if s.stderr == nil {
		return evidence.Unknown
	}
	if at, err := s.stderr.Seek(0, io.SeekCurrent); err != nil || at > 0 {
		return evidence.Printed
	}
	return evidence.Silent
}

// failUnstartable sets that the command could not be started, and why, and writes that into the
// output.
func (s *supervision) failUnstartable(code int, why string) {
	s.result.Outcome, s.result.ExitCode = outcome.Failed, &code
	s.result.Reason = "cannot start: " + why
	fmt.Fprintf(s.run.Output, "sched: %s\n", s.result.Reason)
}

// describeLock names a process of the run in its lock, for people. It decides nothing.
func (s *supervision) describeLock(pid int) {
	if s.run.Lock != nil {
		holder := holding.NewHolder(s.row.Row)
		holder.PID = pid
		s.run.Lock.Describe(holder)
	}
}

// await waits for the end of the command. If the command must be ended instead, it sets the outcome
// and the reason, and writes both into the row before the caller ends the command. If a killed
// supervisor had begun to end the attempt, its outcome and reason count.
func (s *supervision) await(p *process.Process, age time.Duration, ending state.Result) {
	s.result.Outcome, s.result.Reason = ending.Outcome, ending.Reason
	if ending.Outcome != "" {
		return
	}
	s.result.Outcome, s.result.Reason = s.waitForEnd(p, age)
	if s.result.Outcome != "" {
		kind := outcome.TickEnded
		if s.result.Outcome == outcome.TimedOut {
			kind = outcome.Timeout
		}
		s.row.Apply(state.StopCommand(kind, s.result.Reason))
	}
}

// waitForEnd waits until the command ends, its timeout is over, or terminate is done. The outcome
// is empty if the command ended by itself; otherwise the caller must end the command. The age is
// how long the command has run already.
func (s *supervision) waitForEnd(p *process.Process, age time.Duration) (outcome.Outcome, string) {
	if p.Ended() { // it ended before this process looked, nobody knows when: that is no timeout
		return "", ""
	}
	var timeout <-chan time.Time
	if s.task.Timeout > 0 {
		timer := time.NewTimer(max(0, s.task.Timeout-age))
		defer timer.Stop()
		timeout = timer.C
	}
	trimmer := output.Trimmer{Output: s.run.Output, Limit: s.task.Output.Limit}
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

// deferRetry leaves the next attempt to a later tick if it is a long time away. It reports whether
// that was written down: then the run waits after this process has ended.
func (s *supervision) deferRetry(wait time.Duration) bool {
	if !s.row.Background || wait <= deferAfter || s.run.DB.InMemory() {
		return false
	}
	notes := slices.Concat(s.result.Notes, s.lease.Noted())
	return s.row.Apply(state.Defer(s.result.Result, clock.Now().Add(wait), notes)) == nil
}

// deferAfter is the longest wait between two attempts for which a process waits.
const deferAfter = time.Minute
