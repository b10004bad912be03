package view

import (
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/run"
	"sched/schedule/state"
)

// A Running is a run that lives.
type Running struct {
	Run   string `json:"run"`
	PID   *int   `json:"pid"` // null until the command has started
	Host  string `json:"host"`
	Since string `json:"since"` // empty if the holder of a lock did not write it down

	LastTold *string `json:"last_told"` // when its server last said so, if that server is silent now; else null

	Began time.Time `json:"-"` // the time of Since, exactly
}

func toRunning(row state.Row) Running {
	r := runningOf(run.HolderOf(row))
	r.LastTold = timeOrNil(row.LastTold)
	return r
}

func runningOf(holder mutex.Holder) Running {
	since := ""
	if !holder.Since.IsZero() {
		since = timeText(holder.Since)
	}
	return Running{Run: holder.Run, PID: pidOrNil(holder.PID), Host: holder.Host, Since: since, Began: holder.Since}
}

// pidOrNil is nil for 0, which stands for a command that has not started yet.
func pidOrNil(pid int) *int {
	if pid == 0 {
		return nil
	}
	return &pid
}

// HolderOf says which of the live runs holds the mutex of a task. It returns "" when the mutex is
// free, or the task needs no mutex.
func HolderOf(live []state.Row, t *schedule.Task) string {
	if !t.WithoutOverlapping {
		return ""
	}
	for _, row := range live {
		if row.Locked && row.Mutex == t.Mutex && !row.Waits() {
			return "by " + row.Task + " " + run.HolderOf(row).String()
		}
	}
	return ""
}
