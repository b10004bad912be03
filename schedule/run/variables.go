package run

import (
	"strconv"
	"time"

	"sched/schedule/state"
)

// variables returns the SCHED_ variables of the command at that attempt.
func variables(row state.Row, attempt int) []string {
	return append(TaskVariables(row), "SCHED_ATTEMPT="+strconv.Itoa(attempt))
}

// TaskVariables returns the SCHED_ variables that condition commands have, too: they run before
// there is an attempt.
func TaskVariables(row state.Row) []string {
	variables := []string{
		"SCHED_TASK=" + row.Task,
		"SCHED_RUN=" + row.ID,
		"SCHED_SLOT=" + row.Slot.UTC().Format(time.RFC3339),
		"SCHED_MUTEX=" + row.Mutex,
	}
	if cause := row.Cause; cause != nil {
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
