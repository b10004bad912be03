package run

import (
	"strconv"
	"time"

	"sched/schedule/state"
)

// variables returns the SCHED_ variables of the command at that attempt.
func variables(record state.Row, attempt int) []string {
	return append(TaskVariables(record), "SCHED_ATTEMPT="+strconv.Itoa(attempt))
}

// TaskVariables returns the SCHED_ variables that condition commands have, too: they run before
// there is an attempt.
func TaskVariables(record state.Row) []string {
	variables := []string{
		"SCHED_TASK=" + record.Task,
		"SCHED_RUN=" + record.ID,
		"SCHED_SLOT=" + record.Slot.UTC().Format(time.RFC3339),
		"SCHED_MUTEX=" + record.Mutex,
	}
	if cause := record.Cause; cause != nil {
		variables = append(variables,
			"SCHED_CAUSE_TASK="+cause.Task, "SCHED_CAUSE_RUN="+cause.Run, "SCHED_CAUSE_OUTCOME="+string(cause.Outcome))
	}
	return variables
}

// outcomeVariables returns the SCHED_ variables that hooks after a run have besides.
func outcomeVariables(result state.Row) []string {
	code := ""
	if result.ExitCode != nil {
		code = strconv.Itoa(*result.ExitCode)
	}
	return []string{
		"SCHED_OUTCOME=" + string(result.Outcome),
		"SCHED_EXIT_CODE=" + code,
		"SCHED_DURATION=" + strconv.FormatFloat(result.Duration().Seconds(), 'f', 3, 64),
		"SCHED_OUTPUT=" + result.Output,
		"SCHED_REASON=" + result.Reason,
	}
}
