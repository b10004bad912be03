package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sched/schedule/notify"

	"sched/schedule/clock"
	"sched/schedule/outcome"

	"sched/schedule/runfile"

	"sched/schedule/process"
)

// supervise runs the before-hooks and then the command, as often as the task says, and returns how
// that ended. It is the same code for foreground and background runs. When ctx is done the command
// is stopped; when hurry is done too, it is killed at once. A record without an outcome says that the
// next attempt was put off.
func (r *Run) supervise(ctx, hurry context.Context) outcome.Record {
	ctx, lease := r.keepLease(ctx)
	result := r.attempts(ctx, hurry, lease)
	result.Notes = append(result.Notes, lease.end()...)
	return result
}

// attempts is supervise while the lease of the lock is kept.
func (r *Run) attempts(ctx, hurry context.Context, lease *keeper) outcome.Record {
	result, first := r.soFar(r.waited), 1
	if r.waited != nil {
		first = r.waited.Attempt
	} else if note := r.before(ctx); note != "" {
		result.Outcome, result.Reason = outcome.Failed, note
	}
	for n := first; result.Outcome == ""; n++ {
		r.attempt(ctx, hurry, n, &result)
		if result.Outcome == outcome.Succeeded || result.Outcome == outcome.Stopped || n >= r.task.Retry.Attempts {
			break
		}
		wait := r.task.Retry.Wait(n)
		if r.putOff(n+1, wait, result, lease.noted()) {
			return r.soFar(nil)
		}
		if !r.pauseUnlessStopped(ctx, wait) {
			stopped(&result, "before attempt %d", n+1)
			break
		}
		result.Outcome, result.Reason = "", ""
	}
	result.Ended = clock.Now()
	return result
}

// before runs the before-hooks; the first that fails fails the run, and its note is the reason. Notifications are
// sent beside it all, and fail nothing.
func (r *Run) before(ctx context.Context) (note string) {
	defer r.deliver()
	r.tellStart()
	for i, hook := range r.task.Hooks.Before {
		name := hookName("before", i)
		if hook.Notify != nil {
			r.tellOne(name, name, notify.Start, *hook.Notify, runfile.State{}, r.soFar(nil))
			r.deliver()
		} else if note := r.hook(ctx, name, hook, r.variables(1)); note != "" {
			return note
		}
	}
	return ""
}

// attempt runs the command once, and adds what became of it to result.
func (r *Run) attempt(ctx, hurry context.Context, n int, result *outcome.Record) {
	if ctx.Err() != nil {
		stopped(result, "before attempt %d", n)
		return
	}
	if r.stopAsked(result) {
		return
	}
	result.Attempts = n
	now := clock.Now()
	p, err := process.Spec{
		Task: &r.task, Command: r.task.Command, Dir: r.task.Dir,
		Caller: r.environ, Variables: r.variables(n), Output: r.output, Lock: r.inherited(),
	}.Start()
	if result.Started.IsZero() {
		result.Started = now
	}
	if err != nil {
		r.unstartable(result, process.StartExitCode(err), err.Error())
		return
	}
	// The command runs already: what is written from here on costs it nothing.
	r.file.Append(runfile.Event{Attempt: &runfile.Attempt{Number: n, PID: p.PID, At: now}})
	r.describeLock(p.PID, now)

	result.Outcome, result.Reason = r.wait(ctx, hurry, p)
	if result.Outcome == "" && r.stopAsked(result) {
		p.End(hurry, r.task.KillAfter) // what is left of its group
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

// unstartable says that there was no command, and why.
func (r *Run) unstartable(result *outcome.Record, code int, why string) {
	result.Outcome, result.ExitCode, result.Reason = outcome.Failed, &code, "cannot start: "+why
	fmt.Fprintf(r.output, "sched: %s\n", result.Reason)
}

// wait waits for the command, and ends it when its time is over or ctx is done. The outcome is
// empty when the command ended by itself.
func (r *Run) wait(ctx, hurry context.Context, p *process.Process) (outcome.Outcome, string) {
	var timeout <-chan time.Time
	if r.task.Timeout > 0 {
		timer := time.NewTimer(r.task.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	long := time.NewTimer(syncAfter)
	defer long.Stop()
	for {
		select {
		case <-p.Done:
			return "", ""
		case <-long.C:
			r.file.Sync() // best effort: some file systems cannot
		case <-timeout:
			p.End(hurry, r.task.KillAfter)
			return outcome.TimedOut, fmt.Sprintf("after %s", r.task.Timeout)
		case <-ctx.Done():
			p.End(hurry, r.task.KillAfter)
			return outcome.Stopped, context.Cause(ctx).Error()
		}
	}
}

// syncAfter is how long a command runs before its run's file is made to survive a power cut, so
// that the next tick after it can finish the run. Shorter runs do not wait for the disk.
const syncAfter = time.Second

// judge says what the exit code of a command means that nobody ended.
func (r *Run) judge(code int) (outcome.Outcome, string) {
	if slices.Contains(r.task.SuccessCodes, code) {
		return outcome.Succeeded, ""
	}
	return outcome.Failed, process.ExitText(code)
}

// measure adds what the command used, itself and its children that it waited for (getrusage(2)).
// The kernel counts from before the command replaced us in its process, so the peak memory is never
// below our own few MiB.
func measure(result *outcome.Record, p *process.Process) {
	result.UserCPU += time.Duration(p.Usage.Utime.Nano())
	result.SystemCPU += time.Duration(p.Usage.Stime.Nano())
	result.PeakMemory = max(result.PeakMemory, int64(p.Usage.Maxrss)*process.MaxrssUnit)
}

func stopped(result *outcome.Record, format string, args ...any) {
	result.Outcome, result.Reason = outcome.Stopped, fmt.Sprintf(format, args...)
}
