package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sched/mutex"
	"sched/mutex/pool"
	"sched/schedule/clock"
	"sched/schedule/lease"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run/output"
	"sched/schedule/runfile"
	"sched/schedule/statedir"
)

// Execute supervises and finishes the run in this process, and returns its record. When terminate is done the command is
// stopped; when kill is done too it is killed at once.
func (r *Run) Execute(terminate, kill context.Context) outcome.Record {
	return r.ExecuteThen(terminate, kill, func() {})
}

// ExecuteThen is Execute that calls ended when the command has ended, before the hooks after it.
func (r *Run) ExecuteThen(terminate, kill context.Context, ended func()) outcome.Record {
	r.Terminate = terminate
	result := r.supervise(terminate, kill)
	ended()
	return r.Finish(result)
}

// supervise runs the before-hooks and then the command, as often as the task says, and returns the result. It is
// the same code for foreground and background runs. A result without an outcome means that the retry was deferred.
func (r *Run) supervise(terminate, kill context.Context) outcome.Record {
	terminate, renewer := r.renewLease(terminate)
	result := r.attempts(terminate, kill, renewer)
	result.Notes = append(result.Notes, renewer.End()...)
	return result
}

// attempts is supervise while the lease of the lock is renewed.
func (r *Run) attempts(terminate, kill context.Context, renewer *lease.Renewer) outcome.Record {
	result, first := r.firstAttempt(terminate)
	if result.Outcome == outcome.Lost {
		if _, err := r.deferLost(r.left.state, result); err == nil {
			return r.soFar(nil)
		}
	}
	for n := first; result.Outcome == ""; n++ {
		r.attempt(terminate, kill, n, &result)
		if result.Outcome == outcome.Succeeded || result.Outcome == outcome.Stopped || n >= r.task.Retry.Attempts {
			break
		}
		wait := r.task.Retry.WaitOf(r.Record().Run, n)
		if r.deferRetry(n+1, wait, result, renewer.Noted()) {
			return r.soFar(nil)
		}
		r.noteRetry(n+1, wait, result, renewer.Noted())
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

// firstAttempt returns the number of the attempt to begin with, and what the run came to before that. A result with an outcome
// is that of a run that starts no attempt.
func (r *Run) firstAttempt(terminate context.Context) (result outcome.Record, attempt int) {
	switch {
	case r.deferral != nil:
		result = r.soFar(r.deferral)
		if r.deferral.Before {
			if note := r.before(terminate, nil); note != "" {
				result.Outcome, result.Reason = outcome.Failed, note
			}
		}
		return result, r.deferral.Attempt
	case r.left.beyondHooks():
		return r.goOn(terminate)
	}
	result = r.soFar(nil)
	if r.mustNotStart(1, &result) {
		return result, 1
	}
	if note := r.before(terminate, r.left.hooks()); note != "" {
		result.Outcome, result.Reason = outcome.Failed, note
	}
	return result, 1
}

// before runs the before-hooks up to the first that fails; its note is the reason why the run failed. Notifications are
// sent meanwhile, and fail nothing. Where a supervisor that was killed has started hooks, it goes on after those.
func (r *Run) before(terminate context.Context, started map[string]bool) (note string) {
	defer r.hooks.send()
	if len(r.task.Hooks.Before) > 0 && r.begun != nil {
		r.begun()
	}
	state := runfile.State{Hooks: started}
	r.hooks.queueStartPings(state)
	last := lastStarted(r.task.Hooks.Before, started)
	for i, hook := range r.task.Hooks.Before {
		name := hookName("before", i)
		switch {
		case hook.Notify != nil:
			r.hooks.queueOne(name, name, notify.Start, *hook.Notify, state, r.soFar(nil))
			r.hooks.send()
		case i < last: // it succeeded, or the next one would not have been started
		case i == last:
			note = r.hooks.awaitOrphan(terminate, name)
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
func (r *Run) attempt(terminate, kill context.Context, n int, result *outcome.Record) {
	p, age := r.left.command(n)
	if p == nil {
		if p = r.start(terminate, n, result); p == nil {
			return
		}
	}
	if ending := r.left.ending(n); ending != nil {
		result.Outcome, result.Reason = ending.Outcome, ending.Reason
	} else if result.Outcome, result.Reason = r.wait(terminate, p, age); result.Outcome != "" {
		r.noteEnding(n, result)
	}
	if result.Outcome != "" || r.stopAsked(result) {
		survivors := p.EndRun(kill, r.Record().Run, n, r.lease.KillAfter(r.task.KillAfter))
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

// start starts the command. It returns nil where that is impossible, or not wanted any more, and sets the outcome.
func (r *Run) start(terminate context.Context, n int, result *outcome.Record) *process.Process {
	if terminate.Err() != nil {
		stopped(result, "before attempt %d", n)
		return nil
	}
	if r.stopAsked(result) || r.mustNotStart(n, result) {
		return nil
	}
	result.Attempts = n
	now := clock.Now()
	if r.Record().Background { // for the process that may have to go on here
		r.file.Append(runfile.Event{Attempt: &runfile.Attempt{Number: n, At: now}})
		r.releaseProcesses() // of the hooks before it
	}
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
	// The command runs already: what is written from here on does not delay it (docs/internals/decisions.md#nothing-delays-the-start-of-the-command).
	r.file.Append(runfile.Event{Attempt: &runfile.Attempt{Number: n, PID: p.PID, At: now}})
	r.describeLock(p.PID, now)
	return p
}

// keeps reports whether the kernel is to keep how commands and hooks of the run ended until that is written down. Were this process
// killed in between, nobody would know.
func (r *Run) keeps() bool { return r.Record().Background }

// keep notes that the kernel keeps how the process ends.
func (r *Run) keep(p *process.Process) { r.kept = append(r.kept, p) }

// releaseProcesses has the kernel forget how the processes of the run ended: what they came to is written down now.
func (r *Run) releaseProcesses() {
	for _, p := range r.kept {
		p.Release()
	}
	r.kept = nil
}

// noteEnding writes down that the command is about to be ended, for the process that may have to go on here.
func (r *Run) noteEnding(attempt int, result *outcome.Record) {
	if r.Record().Background {
		r.file.Append(runfile.Event{Ending: &runfile.Ending{Attempt: attempt, Outcome: result.Outcome, Reason: result.Reason}})
	}
}

// mustNotStart reports whether the run has lost its lock before the attempt, and sets the outcome then: another run may go on by now.
func (r *Run) mustNotStart(n int, result *outcome.Record) bool {
	lost := r.lease.HeldToStart()
	if lost != "" {
		stopped(result, "before attempt %d: %s", n, lost)
	}
	return lost != ""
}

// unstartable sets that the command could not be started, and why; in the output, too.
func (r *Run) unstartable(result *outcome.Record, code int, why string) {
	result.Outcome, result.ExitCode, result.Reason = outcome.Failed, &code, "cannot start: "+why
	fmt.Fprintf(r.output, "sched: %s\n", result.Reason)
}

// leftBehind returns the notes about processes that did not end by KILL: nothing waits for them any more.
func leftBehind(survivors []int) (notes []string) {
	for _, pid := range survivors {
		notes = append(notes, fmt.Sprintf("process %d survived KILL (it may wait for a disk), and was left behind", pid))
	}
	return notes
}

// wait waits for the end of the command, of its time, or for terminate. The outcome is empty when the command ended by
// itself; else it is to be ended. The age is how long the command has run already.
func (r *Run) wait(terminate context.Context, p *process.Process, age time.Duration) (outcome.Outcome, string) {
	if p.Ended() { // before this process came to it, and nobody knows how long ago: not its timeout
		return "", ""
	}
	var timeout <-chan time.Time
	if r.task.Timeout > 0 {
		timer := time.NewTimer(max(0, r.task.Timeout-age))
		defer timer.Stop()
		timeout = timer.C
	}
	trimmer := output.Trimmer{Output: r.output, Limit: r.task.Output.Limit}
	look, synced := time.NewTimer(syncAfter), false
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if !synced {
				r.file.Sync() // best effort: some file systems cannot
			}
			synced = true
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

// syncAfter is how long a command runs before its run's file is made to survive a power cut, so
// that the next tick after it can finish the run. Shorter runs do not wait for the disk.
const syncAfter = time.Second

// judge returns the outcome and the reason for the exit code of a command that ended by itself.
func (r *Run) judge(code int) (outcome.Outcome, string) {
	if slices.Contains(r.task.SuccessCodes, code) {
		return outcome.Succeeded, ""
	}
	return outcome.Failed, process.ExitText(code)
}

// measure adds what the command used, itself and its children that it waited for (getrusage(2)).
func measure(result *outcome.Record, p *process.Process) {
	result.UserCPU += time.Duration(p.Usage.Utime.Nano())
	result.SystemCPU += time.Duration(p.Usage.Stime.Nano())
	result.PeakMemory = max(result.PeakMemory, p.PeakMemory())
}

// stopped sets that the run was stopped, and when.
func stopped(result *outcome.Record, format string, args ...any) {
	result.Outcome, result.Reason = outcome.Stopped, fmt.Sprintf(format, args...)
}

// HeldIn returns who has a mutex whose lock is in the folder: the run that holds the lock, or that goes on without it.
func (s Storage) HeldIn(locks, name string) (holder mutex.Holder, held bool) {
	local := mutex.Files{Dir: locks}
	if holder, held = local.Held(name); held {
		return holder, true
	}
	last, ok := local.Last(name)
	return last, ok && s.goesOn(name, last)
}

// goesOn reports whether the last run that had a mutex goes on, though nothing holds the lock of the kernel any more. So it is where
// the supervisor was killed, which had the descriptor, and the command has closed its own: the witness goes on with the run,
// or where that was killed, too, the command lives on. It looks for the run only where that may have no end: where
// the disk was full the lock may be in one folder, and the file of its run in another.
func (s Storage) goesOn(name string, last mutex.Holder) bool {
	for _, folder := range statedir.Folders(s.Dir) {
		state, alive, err := runfile.Read(folder, last.Run)
		if err != nil || state.End != nil || state.Waits() {
			continue
		}
		if _, seat := pool.Of(name); seat && state.Begin.Seat.Name != name {
			continue // it had this seat when it could not begin, as on a full disk, and began later with another one
		}
		return alive && state.Supervisor != "" || livesOn(state)
	}
	return false
}

// livesOn reports whether the command of a run without a result lives, where the system can tell.
func livesOn(state runfile.State) bool {
	if !process.FindsByRun || state.Result != nil {
		return false
	}
	group, attempt := 0, 0
	if state.Attempt != nil {
		group, attempt = state.Attempt.PID, state.Attempt.Number
	}
	return len(process.Orphans(state.Begin.Run, group, attempt)) > 0
}
