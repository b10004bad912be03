package ownrow

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// SetStopped sets that the run was stopped before an attempt, and when.
func SetStopped(result *state.Row, format string, args ...any) {
	result.Outcome, result.Kind, result.Reason = outcome.Stopped, outcome.NotBegun, fmt.Sprintf(format, args...)
}

// SetStoppedBy sets that a run was stopped, and by whom.
func SetStoppedBy(result *state.Row, stop state.Stop) {
	result.Outcome, result.Kind, result.Reason = outcome.Stopped, stop.Kind, stop.Reason
	if stop.Reason == "" {
		result.Kind, result.Reason = outcome.ByHand, "sched stop by "+stop.By
	}
}

// Judge sets the outcome of a command that ended by itself with the exit code.
func Judge(result *state.Row, task *schedule.Task, code int) {
	switch {
	case slices.Contains(task.SuccessCodes, code):
		result.Outcome = outcome.Succeeded
	case slices.Contains(task.WarnCodes, code):
		result.Outcome, result.Kind = outcome.Succeeded, outcome.Warning
		result.Reason = fmt.Sprintf("exit code %d", code)
	default:
		result.Outcome, result.Reason = outcome.Failed, process.ExitText(code)
		if result.Output != "" && statedir.IsFull(filepath.Dir(result.Output)) {
			result.Reason += "; the disk of its output is full" // a command fails that cannot print
		}
	}
}

// LeaveBehind writes down the processes of a command that did not end by KILL. The run keeps its
// mutex as long as they live (livesOn).
func LeaveBehind(result *state.Row, survivors []process.Survivor) {
	result.Notes = append(result.Notes, process.LeftBehind(survivors)...)
	for _, s := range survivors {
		result.Survivors = strings.TrimSpace(result.Survivors + " " + s.String())
	}
}
