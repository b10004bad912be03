package view

import (
	"time"

	"sched/schedule"
	"sched/schedule/pause"
)

// A Pause keeps a task from starting.
type Pause struct {
	Everything bool    `json:"everything"` // all tasks are paused, and not this one by its name
	By         string  `json:"by"`
	Server     string  `json:"server"`
	Since      string  `json:"since"`
	Until      *string `json:"until"` // null for a pause without an end
	Reason     string  `json:"reason"`

	Raw pause.Pause `json:"-"`
}

// A TaskPause is a pause in effect.
type TaskPause struct {
	Task string `json:"task"` // empty for the pause of everything
	Pause
}

// PauseOf returns the pause that keeps the task from starting at a time; nil if no pause does.
func PauseOf(all pause.Pauses, t *schedule.Task, at time.Time) *Pause {
	pause, ok := all.Of(t.Name, t.EvenWhenPaused, at)
	if !ok {
		return nil
	}
	out := toPause(pause)
	out.Everything = !all[t.Name].InEffect(at)
	return &out
}

func toPause(p pause.Pause) Pause {
	return Pause{By: p.By, Server: p.Server, Since: timeText(p.Since), Until: timeOrNil(p.Until), Reason: p.Reason, Raw: p}
}

// Text says in few words that a task is paused. If everything is paused, it leaves out by whom:
// another line says that once.
func (p *Pause) Text(now time.Time, zone *time.Location) string {
	if p.Everything {
		return "paused"
	}
	return p.Raw.Text(now, zone)
}

// PausesInEffect returns the pauses in effect: the pause of everything, without the name of a task,
// and the pauses of active tasks.
func PausesInEffect(all pause.Pauses, active func(task string) bool, now time.Time) []TaskPause {
	paused := []TaskPause{}
	for _, name := range append([]string{pause.Everything}, all.Tasks(now)...) {
		everything := name == pause.Everything
		if pause := all[name]; pause.InEffect(now) && (everything || active(name)) {
			one := TaskPause{name, toPause(pause)}
			if one.Everything = everything; everything {
				one.Task = ""
			}
			paused = append(paused, one)
		}
	}
	return paused
}
