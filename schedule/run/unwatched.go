package run

import (
	"context"

	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run/output"
	"sched/schedule/state"
)

// unwatched returns the result of a run whose supervisor wrote no result down, and that no process
// took over. It first ends what is left of the command
// (docs/internals/decisions.md#an-unwatched-command-is-ended). The code is the exit code of the
// command if a person has given it (`sched finish MUTEX CODE`); else nil.
func (r *Run) unwatched(code *int) state.Row {
	result := r.soFar()
	result.ExitCode = nil
	result.Ended = clock.Now()
	group := r.row.Attempt.PID
	var left []int
	// If the system cannot tell which process groups of the command live on, the group that was
	// written down counts as one of them as long as a process has the run's output open.
	if process.FindsByRun || output.InUse(r.row.Output) {
		left = process.Orphans(r.row.ID, group, result.Attempt.Number)
	}
	if len(left) > 0 {
		family := process.Family{Groups: left, Run: result.ID, Attempt: result.Attempt.Number}
		result.Notes = append(result.Notes, leftBehind(family.End(context.Background(), r.task.KillAfter))...)
		result.Ended = clock.Now()
	}
	switch {
	case code != nil:
		result.ExitCode = code
		result.Outcome, result.Reason = r.judge(*code)
	case len(left) > 0:
		result.Outcome, result.Reason = outcome.Lost, "nobody watched it any more, so what was left of its command was ended"
	case r.row.Phase != state.Running || group == 0:
		result.Outcome, result.Reason = outcome.Lost, "sched was killed before the command started, or right after"
	default:
		result.Outcome, result.Reason = outcome.Lost, "its processes vanished, and nobody saw how it ended"
	}
	return result
}
