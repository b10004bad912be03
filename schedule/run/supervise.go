package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run/output"
	"sched/schedule/state"
)

// Execute supervises and finishes the run in this process, and returns its record. When terminate
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

// supervise runs the before-hooks and then the command, as often as the task says, and returns the
// result. It is the same code for foreground and background runs. A result without an outcome means
// that the retry was deferred.
func (r *Run) supervise(terminate, kill context.Context) state.Row {
	terminate, renewer := r.renewLease(terminate)
	result := r.attempts(terminate, kill, renewer)
	result.Notes = append(result.Notes, renewer.End()...)
	return result
}

// attempts is supervise while the lease of the lock is renewed.
func (r *Run) attempts(terminate, kill context.Context, renewer *Renewer) state.Row {
	result, first := r.firstAttempt(terminate)
	if result.Outcome == outcome.Lost && r.mayRetryLost() && r.deferLost(result) == nil {
		return r.soFar()
	}
	for n := first; result.Outcome == ""; n++ {
		r.attempt(terminate, kill, n, &result)
		if result.Outcome == outcome.Succeeded || result.Outcome == outcome.Stopped || n >= r.task.Retry.Attempts {
			break
		}
		wait := r.task.Retry.WaitOf(r.record.ID, n)
		if r.deferRetry(wait, result, renewer.Noted()) {
			return r.soFar()
		}
		r.again(wait, result)
		r.releaseProcesses()
		if !r.waitUnlessStopped(terminate, wait) {
			stopped(&result, "before attempt %d", n+1)
			break
		}
		result.Outcome, result.Reason = "", ""
	}
	result.Ended = clock.Now()
	return result
}

// firstAttempt returns the number of the attempt to begin with, and what the run came to before
// that. If the result has an outcome, the run starts no attempt.
func (r *Run) firstAttempt(terminate context.Context) (result state.Row, attempt int) {
	if r.row.Phase == state.Running { // its supervisor was killed
		return r.goOn()
	}
	result, attempt = r.soFar(), r.row.Attempt.Number+1
	if attempt > 1 && !r.waitUnlessStopped(terminate, r.row.Wait.NotBefore.Sub(clock.Now())) {
		stopped(&result, "before attempt %d", attempt)
		return result, attempt
	}
	if attempt == 1 && r.mustNotStart(1, &result) {
		return result, 1
	}
	if r.row.Started.IsZero() {
		if note := r.before(terminate); note != "" {
			result.Outcome, result.Reason = outcome.Failed, note
		}
	}
	return result, attempt
}

// before runs the before-hooks up to the first that fails; its note is the reason why the run
// failed. Notifications are sent meanwhile, and fail nothing. If a killed supervisor has started
// hooks, it goes on after those.
func (r *Run) before(terminate context.Context) (note string) {
	defer r.hooks.send()
	if len(r.task.Hooks.Before) > 0 && r.begun != nil {
		r.begun()
	}
	begun := map[string]state.Hook{}
	if r.left != nil {
		for _, hook := range r.hooks.begun() {
			begun[hook.Name] = hook
		}
	}
	r.hooks.queueStartPings()
	last, over := lastBegun(r.task.Hooks.Before, begun)
	for i, hook := range r.task.Hooks.Before {
		name := hookName("before", i)
		switch {
		case hook.Notify != nil:
			r.hooks.queueOne(name, name, notify.Start, *hook.Notify, r.soFar())
			r.hooks.send()
		case i < last, i == last && over && begun[name].Note == "": // it succeeded, or the next one would not have been started
		case i == last && over:
			note = begun[name].Note
		case i == last && r.left != nil && r.left.hookPID != 0:
			note = r.hooks.awaitOrphan(terminate, name)
			r.hooks.ended(name, note)
		default:
			note = r.hooks.runOne(terminate, name, hook, r.variables(1))
		}
		if note != "" {
			return note
		}
	}
	return ""
}

// attempt runs the command once, and adds the outcome and what the command used to result.
func (r *Run) attempt(terminate, kill context.Context, n int, result *state.Row) {
	p, age := r.left.command(n)
	if p == nil {
		if p = r.start(terminate, n, result); p == nil {
			return
		}
	}
	if ending := r.left.ends(n); ending != nil {
		result.Outcome, result.Reason = ending.Outcome, ending.Reason
	} else if result.Outcome, result.Reason = r.wait(terminate, p, age); result.Outcome != "" {
		r.noteEnding(n, result)
	}
	if result.Outcome != "" || r.stopAsked(result) {
		survivors := p.EndRun(kill, r.record.ID, n, r.lease.KillAfter(r.task.KillAfter))
		result.Notes = append(result.Notes, leftBehind(survivors)...)
	}
	if !p.Ended() {
		return // without an exit code
	}
	code := p.ExitCode()
	result.ExitCode = &code
	switch {
	case result.Outcome == "" && p.Refusal != "":
		r.unstartable(result, code, p.Refusal)
	case result.Outcome == "":
		result.Outcome, result.Reason = r.judge(code)
	}
	measure(result, p)
}

// start starts the command. If that is impossible, or not wanted any more, it returns nil and sets
// the outcome.
func (r *Run) start(terminate context.Context, n int, result *state.Row) *process.Process {
	if terminate.Err() != nil {
		stopped(result, "before attempt %d", n)
		return nil
	}
	if r.stopAsked(result) || r.mustNotStart(n, result) {
		return nil
	}
	result.Attempt.Number = n
	now := clock.Now()
	// The row is written before the command is forked, so a row that is still ready was never
	// started. If it cannot be written, as on a full disk, the command starts all the same.
	attempt := state.Attempt{Number: n, At: now, Boot: clock.BootID()}
	err := r.write(func(ctx context.Context) error { return r.own.Start(ctx, r.row.ID, attempt) }, func(row *state.Row) {
		row.Phase, row.Attempt, row.Wait = state.Running, attempt, state.Wait{Waited: row.Wait.Waited}
		if row.Started.IsZero() {
			row.Started = now
		}
	})
	if r.isTaken(err) { // another process has it: what this one makes of it is written nowhere
		stopped(result, "before attempt %d: %v", n, err)
		return nil
	}
	if unwritten := err != nil; unwritten != r.unwritten {
		r.unwritten = unwritten
		output.MarkUnwritten(r.output, unwritten)
	}
	r.releaseProcesses() // of the hooks before it
	if n > 1 {
		output.Separate(r.output, fmt.Sprintf("sched: attempt %d\n", n))
	}
	p, err := process.Spec{
		Task: &r.task, Command: r.task.Command, Dir: r.task.Dir,
		Caller: r.Environ, Variables: r.variables(n), Output: r.output, Locks: r.inheritedLocks(), Keep: r.keeps(),
	}.Start()
	if r.begun != nil {
		r.begun()
	}
	if result.Started.IsZero() {
		result.Started = now
	}
	if err != nil {
		r.unstartable(result, process.StartExitCode(err), err.Error())
		return nil
	}
	if r.keeps() {
		r.keep(p)
	}
	// The command runs already: what is written from here on does not delay it
	// (docs/internals/decisions.md#nothing-delays-the-start-of-the-command).
	r.forked(n, p.PID)
	r.describeLock(p.PID, now)
	return p
}

// keeps reports whether the kernel is to keep how commands and hooks of the run ended until that is
// written down. If this process were killed in between, nobody would know.
func (r *Run) keeps() bool { return r.row.Background }

// keep notes that the kernel keeps how the process ends.
func (r *Run) keep(p *process.Process) { r.kept = append(r.kept, p) }

// releaseProcesses has the kernel forget how the processes of the run ended: what they came to is
// written down now.
func (r *Run) releaseProcesses() {
	for _, p := range r.kept {
		p.Release()
	}
	r.kept = nil
}

// forked writes down the process of an attempt.
func (r *Run) forked(attempt, pid int) {
	r.write(func(ctx context.Context) error {
		return r.own.Forked(ctx, r.row.ID, state.Attempt{Number: attempt, PID: pid})
	},
		func(row *state.Row) { row.Attempt.PID = pid })
}

// again writes down that this process waits for the next attempt, and what the attempts so far came
// to, for the process that may have to go on here.
func (r *Run) again(wait time.Duration, result state.Row) {
	then, soFar := clock.Now().Add(wait), result.Result
	soFar.Outcome, soFar.Ended = "", time.Time{}
	r.write(func(ctx context.Context) error { return r.own.Again(ctx, r.row.ID, soFar, then) }, func(row *state.Row) {
		row.Result, row.Phase, row.Wait, row.Attempt.PID = soFar, state.Ready, state.Wait{For: state.ForTime, NotBefore: then}, 0
	})
}

// noteEnding writes down that the command is about to be ended, for the process that may have to go
// on here.
func (r *Run) noteEnding(attempt int, result *state.Row) {
	kind, reason := endingKind(result.Outcome), result.Reason
	r.write(func(ctx context.Context) error { return r.own.Ending(ctx, r.row.ID, attempt, kind, reason) }, nil)
}

// mustNotStart reports whether the run has lost its lock before the attempt, and sets the outcome
// then: another run may go on by now.
func (r *Run) mustNotStart(n int, result *state.Row) bool {
	lost := r.lease.HeldToStart()
	if lost != "" {
		stopped(result, "before attempt %d: %s", n, lost)
	}
	return lost != ""
}

// unstartable sets that the command could not be started, and why; in the output, too.
func (r *Run) unstartable(result *state.Row, code int, why string) {
	result.Outcome, result.ExitCode, result.Reason = outcome.Failed, &code, "cannot start: "+why
	fmt.Fprintf(r.output, "sched: %s\n", result.Reason)
}

// leftBehind returns the notes about processes that did not end by KILL: nothing waits for them any
// more.
func leftBehind(survivors []int) (notes []string) {
	for _, pid := range survivors {
		notes = append(notes, fmt.Sprintf("process %d survived KILL (it may wait for a disk), and was left behind", pid))
	}
	return notes
}

// wait waits for the end of the command, of its time, or for terminate. The outcome is empty when
// the command ended by itself; otherwise the caller must end the command. The age is how long the
// command has run already.
func (r *Run) wait(terminate context.Context, p *process.Process, age time.Duration) (outcome.Outcome, string) {
	if p.Ended() { // it ended before this process looked, nobody knows when: that is no timeout
		return "", ""
	}
	var timeout <-chan time.Time
	if r.task.Timeout > 0 {
		timer := time.NewTimer(max(0, r.task.Timeout-age))
		defer timer.Stop()
		timeout = timer.C
	}
	trimmer := output.Trimmer{Output: r.output, Limit: r.task.Output.Limit}
	look := time.NewTimer(trimAfter)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			look.Reset(trimmer.Trim())
		case <-p.Done:
			return "", ""
		case <-timeout:
			return outcome.TimedOut, fmt.Sprintf("after %s", r.task.Timeout)
		case <-terminate.Done():
			return outcome.Stopped, context.Cause(terminate).Error()
		}
	}
}

// trimAfter is how long a command runs before its output is looked at first.
const trimAfter = time.Second

// judge returns the outcome and the reason for the exit code of a command that ended by itself.
func (r *Run) judge(code int) (outcome.Outcome, string) {
	if slices.Contains(r.task.SuccessCodes, code) {
		return outcome.Succeeded, ""
	}
	return outcome.Failed, process.ExitText(code)
}

// measure adds what the command used, itself and its children that it waited for (getrusage(2)).
func measure(result *state.Row, p *process.Process) {
	result.UserCPU += time.Duration(p.Usage.Utime.Nano())
	result.SystemCPU += time.Duration(p.Usage.Stime.Nano())
	result.PeakMemory = max(result.PeakMemory, p.PeakMemory())
}

// stopped sets that the run was stopped, and when.
func stopped(result *state.Row, format string, args ...any) {
	result.Outcome, result.Reason = outcome.Stopped, fmt.Sprintf(format, args...)
}

// goesOn reports whether the last run that had a mutex goes on, though nothing holds the lock of
// the kernel any more. That happens when the supervisor, which had the descriptor, was killed, and
// the command has closed its own descriptor. Then the witness goes on with the run. If the witness
// was killed, too, the command may live on.
func (s Storage) goesOn(name string, last mutex.Holder) bool {
	db := s.DB
	if db.InMemory() {
		file, err := state.OpenRead(s.Dir, state.Patience)
		if err != nil {
			return false
		}
		defer file.Close()
		db = file
	}
	row, err := db.Runs().Row(context.Background(), last.Run)
	if err != nil || row.Phase == state.Ended || row.Waits() {
		return false
	}
	if _, seat := mutex.PoolOf(name); seat && row.Seat != name {
		return false // it had this seat when it could not begin, as on a full disk, and began later with another one
	}
	return row.Background && db.Owners().Alive(row.Owner) || livesOn(row)
}

// livesOn reports whether the command of a run without a result lives. It is false if the system
// cannot tell.
func livesOn(row state.Row) bool {
	return process.FindsByRun && row.Phase == state.Running && len(process.Orphans(row.ID, row.Attempt.PID, row.Attempt.Number)) > 0
}
