package run

import (
	"context"
	"fmt"
	"slices"

	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/runfile"
)

// The exitCodes are what the process that finishes a run was given of its end. What the supervisor wrote down counts more
// than either.
type exitCodes struct {
	supervisor *int // of the supervisor; nil where no witness saw its end. It is not that of the command
	command    *int // of the command, where a person has given it (`sched finish MUTEX CODE`); else nil
}

// settle returns the result of a run whose supervisor wrote none down. It first ends what is left of the command
// (docs/decisions.md#an-unwatched-command-is-ended). Without a code that a person gave, the result is no success: the
// supervisor may have crashed after any exit code of the command (docs/decisions.md#an-exit-code-alone-is-no-result).
func (r *Run) settle(state runfile.State, codes exitCodes) outcome.Record {
	result := r.soFar(state.Deferral)
	result.ExitCode = nil
	result.Ended = clock.Now()
	for _, note := range state.Notes {
		if !slices.Contains(result.Notes, note) { // the deferral may have brought it
			result.Notes = append(result.Notes, note)
		}
	}
	group := 0
	if a := state.Attempt; a != nil {
		result.Attempts, group = a.Number, a.PID
		if state.Deferral == nil {
			result.Started = a.At
		}
	}
	left := r.orphans(group, result.Attempts)
	if len(left) > 0 {
		family := process.Family{Groups: left, Run: result.Run, Attempt: result.Attempts}
		result.Notes = append(result.Notes, leftBehind(family.End(context.Background(), r.task.KillAfter))...)
		result.Ended = clock.Now()
	}
	switch {
	case codes.command != nil:
		result.ExitCode = codes.command
		result.Outcome, result.Reason = r.judge(*codes.command)
	case len(left) > 0 && codes.supervisor != nil:
		result.Outcome = outcome.Failed
		if *codes.supervisor >= 128 {
			result.ExitCode = codes.supervisor // what ended the supervisor counts as what ended the command
		}
		result.Reason = codes.endOfSupervisor() + ", so what was left of its command was ended"
	case len(left) > 0:
		result.Outcome, result.Reason = outcome.Lost, "nobody watched it any more, so what was left of its command was ended"
	case group == 0:
		result.Outcome, result.Reason = outcome.Lost, codes.endOfSupervisor()+" before the command started, or right after"
	case codes.supervisor != nil:
		result.Outcome, result.Reason = outcome.Lost, codes.endOfSupervisor()+", and nobody saw how its command ended"
	default:
		result.Outcome, result.Reason = outcome.Lost, "its processes vanished, and nobody saw how it ended"
	}
	return result
}

// endOfSupervisor says how the supervisor ended.
func (c exitCodes) endOfSupervisor() string {
	switch {
	case c.supervisor == nil:
		return "sched was killed"
	case *c.supervisor >= 128:
		return fmt.Sprintf("its supervisor was killed (exit code %d)", *c.supervisor)
	}
	return fmt.Sprintf("its supervisor ended without a result (exit code %d)", *c.supervisor)
}

// orphans returns the process groups of the command that live on, whatever they have open. Where the system cannot tell which
// these are, the group that was written down counts as one of them as long as a process has the run's output open.
func (r *Run) orphans(group, attempt int) []int {
	if !process.FindsByRun && !outputInUse(r.Record().Output) {
		return nil
	}
	return process.Orphans(r.Record().Run, group, attempt)
}
