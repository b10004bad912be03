// Package variables has the SCHED_ variables that commands, conditions and hooks of a run get.
package variables

import (
	"context"
	"strconv"
	"time"

	"sched/schedule"
	"sched/schedule/notify"
	"sched/schedule/process"
	"sched/schedule/state"
)

// OfRun returns the variables that sched sets for the command of a run at that attempt.
func OfRun(db *state.DB, row state.Row, attempt int) []string {
	variables := append(OfTask(row),
		"SCHED_ATTEMPT="+strconv.Itoa(attempt),
		"TRACEPARENT="+notify.TraceParent(row.ID, attempt))
	if last, _ := db.Runs().LastSuccess(context.Background(), row.Task, row.CommandSlot()); !last.IsZero() {
		variables = append(variables, "SCHED_LAST_SUCCESS="+last.Format(time.RFC3339))
	}
	return variables
}

// OfTask returns the SCHED_ variables that condition commands have, too, because they run before
// there is an attempt, and the params that somebody set for the run.
func OfTask(row state.Row) []string {
	variables := []string{
		"SCHED_TASK=" + row.Task,
		"SCHED_RUN=" + row.ID,
		"SCHED_SLOT=" + row.CommandSlot().UTC().Format(time.RFC3339),
		"SCHED_MUTEX=" + row.Mutex,
	}
	if row.Nominal != "" {
		variables = append(variables, "SCHED_NOMINAL="+row.Nominal)
	}
	if !row.PreviousSlot.IsZero() {
		variables = append(variables, "SCHED_PREVIOUS_SLOT="+row.PreviousSlot.UTC().Format(time.RFC3339))
	}
	variables = append(variables, schedule.Pairs(row.Params)...)
	if cause := row.Cause; cause != nil {
		variables = append(variables,
			"SCHED_CAUSE_TASK="+cause.Task, "SCHED_CAUSE_RUN="+cause.Run, "SCHED_CAUSE_OUTCOME="+string(cause.Outcome))
	}
	return variables
}

// OfResult returns the SCHED_ variables that hooks after a run have besides.
func OfResult(result state.Row) []string {
	code := ""
	if result.ExitCode != nil {
		code = strconv.Itoa(*result.ExitCode)
	}
	variables := []string{
		"SCHED_OUTCOME=" + string(result.Outcome),
		"SCHED_EXIT_CODE=" + code,
		"SCHED_DURATION=" + strconv.FormatFloat(result.Duration().Seconds(), 'f', 3, 64),
		"SCHED_OUTPUT=" + result.Output,
		"SCHED_REASON=" + result.Reason,
	}
	for name, value := range result.Values {
		variables = append(variables, process.ValuePrefix+name+"="+strconv.FormatFloat(value, 'f', -1, 64))
	}
	return variables
}
