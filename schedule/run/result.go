package run

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// setStopped sets that the run was stopped before an attempt, and when.
func setStopped(result *state.Row, format string, args ...any) {
	result.Outcome, result.Kind, result.Reason = outcome.Stopped, outcome.NotBegun, fmt.Sprintf(format, args...)
}

// setStoppedBy sets that a run was stopped, and by whom.
func setStoppedBy(result *state.Row, stop state.Stop) {
	result.Outcome, result.Kind, result.Reason = outcome.Stopped, stop.Kind, stop.Reason
	if stop.Reason == "" {
		result.Kind, result.Reason = outcome.ByHand, "sched stop by "+stop.By
	}
}

// judge sets the outcome of a command that ended by itself with the exit code.
func judge(result *state.Row, task *schedule.Task, code int) {
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

// leaveBehind writes down the processes of a command that did not end by KILL. The run keeps its
// mutex as long as they live (livesOn).
func leaveBehind(result *state.Row, survivors []process.Survivor) {
	result.Notes = append(result.Notes, leftBehind(survivors)...)
	for _, s := range survivors {
		result.Survivors = strings.TrimSpace(result.Survivors + " " + s.String())
	}
}

// leftBehind returns the notes about processes that did not end by KILL: nothing waits for them any
// more.
func leftBehind(survivors []process.Survivor) (notes []string) {
	for _, s := range survivors {
		why := "it may wait for a disk"
		if errors.Is(syscall.Kill(s.PID, 0), syscall.EPERM) {
			why = "it belongs to another user"
		}
		notes = append(notes, fmt.Sprintf("process %d survived KILL (%s), and was left behind", s.PID, why))
	}
	return notes
}

// joinReasons joins two reasons. The first may be empty.
func joinReasons(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
