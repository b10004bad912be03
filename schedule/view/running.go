package view

import (
	"time"

	"sched/schedule"
	"sched/schedule/run"
	"sched/schedule/runfile"
)

// A Running is a run that lives.
type Running struct {
	Run   string `json:"run"`
	PID   *int   `json:"pid"` // null until the command has started
	Host  string `json:"host"`
	Since string `json:"since"` // empty where the holder of a lock did not write it down

	Began time.Time `json:"-"` // Since, exactly
}

func toRunning(state runfile.State) Running {
	holder := run.HolderOf(state)
	since := ""
	if !holder.Since.IsZero() {
		since = timeText(holder.Since)
	}
	return Running{holder.Run, pidOrNil(holder.PID), holder.Host, since, holder.Since}
}

// pidOrNil is nil for 0, which stands for a command that has not started yet.
func pidOrNil(pid int) *int {
	if pid == 0 {
		return nil
	}
	return &pid
}

// HolderOf returns which of the live runs holds the mutex of a task; "" when it is free, or the task needs none.
func HolderOf(live []runfile.State, t *schedule.Task) string {
	if !t.WithoutOverlapping {
		return ""
	}
	for _, state := range live {
		if state.Begin.Locks != "" && state.Begin.Mutex == t.Mutex && !state.Deferred() {
			return "by " + state.Begin.Task + " " + run.HolderOf(state).String()
		}
	}
	return ""
}
