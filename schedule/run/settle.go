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

// settle returns the result of a run whose supervisor wrote none down. It first ends what is left of the command
// (docs/decisions.md#an-unwatched-command-is-ended).
//
// The code is the exit code of the supervisor that the witness saw, or one that a person gave; nil where there is none.
func (r *Run) settle(state runfile.State, code *int) outcome.Record {
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
	left := r.orphans(group, result.Attempts, code)
	for _, group := range left {
		process.EndGroup(context.Background(), group, r.task.KillAfter)
		result.Ended = clock.Now()
	}
	switch {
	case code != nil && *code < 128: // the supervisor could not write down what it saw
		result.ExitCode = code
		result.Outcome, result.Reason = r.judge(*code)
	case code != nil:
		result.Outcome, result.ExitCode = outcome.Failed, code
		result.Reason = fmt.Sprintf("its supervisor was killed (exit code %d), and the command with it", *code)
	case state.Attempt == nil && len(left) == 0:
		result.Outcome, result.Reason = outcome.Lost, "sched was killed before the command started"
	case len(left) > 0:
		result.Outcome, result.Reason = outcome.Lost, "nobody watched its command any more, so it was ended"
	default:
		result.Outcome, result.Reason = outcome.Lost, "its processes vanished, and nobody saw how it ended"
	}
	return result
}

// orphans returns the process groups of the command that live on. Where no process has the output open it does not look for
// any; but where a witness saw the end of the supervisor, this process has the output open itself.
func (r *Run) orphans(group, attempt int, witness *int) []int {
	if witness == nil && !outputInUse(r.Record().Output) {
		return nil
	}
	return process.Orphans(r.Record().Run, group, attempt)
}
