package view

import (
	"time"

	"sched/mutex"
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

	LastTold *string `json:"last_told"` // when its server said so last, which has fallen silent since; else null

	Began time.Time `json:"-"` // Since, exactly
}

func toRunning(state runfile.State) Running {
	r := runningOf(run.HolderOf(state))
	r.LastTold = TimeOrNil(state.LastTold)
	return r
}

func runningOf(holder mutex.Holder) Running {
	since := ""
	if !holder.Since.IsZero() {
		since = timeText(holder.Since)
	}
	return Running{Run: holder.Run, PID: PIDOrNil(holder.PID), Host: holder.Host, Since: since, Began: holder.Since}
}

// PIDOrNil is nil for 0, which stands for a command that has not started yet.
func PIDOrNil(pid int) *int {
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
		if state.Begin.Locks != "" && state.Begin.Mutex == t.Mutex && !state.Waits() {
			return "by " + state.Begin.Task + " " + run.HolderOf(state).String()
		}
	}
	return ""
}
