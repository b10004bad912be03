package cmd

import (
	"slices"
	"time"

	"sched/schedule"

	"sched/schedule/controls"
	"sched/schedule/runner"
	"sched/schedule/text"
)

type pausedJSON struct {
	Everything bool    `json:"everything"` // not this task by its name
	By         string  `json:"by"`
	Server     string  `json:"server"`
	Since      string  `json:"since"`
	Until      *string `json:"until"` // null: until somebody ends it
	Reason     string  `json:"reason"`

	pause controls.Pause
}

// pauses returns what is paused, and was. With an error that is what this machine knew last.
func (a *app) pauses(s *schedule.Schedule) (controls.Pauses, error) {
	orders, err := a.controls(s).Read()
	return orders.Pauses, err
}

// mustPauses is pauses where an error is said.
func (a *app) mustPauses(s *schedule.Schedule) controls.Pauses {
	pauses, err := a.pauses(s)
	if err != nil {
		a.problem("what is paused is what this machine knew last: %v", err)
	}
	return pauses
}

// pausedNow returns the pause that keeps the task from starting; nil when none does.
func pausedNow(all controls.Pauses, t *schedule.Task, now time.Time) *pausedJSON {
	pause, ok := all.Of(t.Name, t.EvenWhenPaused, now)
	if !ok {
		return nil
	}
	out := toPausedJSON(pause)
	out.Everything = !all[t.Name].InEffect(now)
	return &out
}

func toPausedJSON(p controls.Pause) pausedJSON {
	out := pausedJSON{By: p.By, Server: p.Server, Since: p.Since.UTC().Format(time.RFC3339), Reason: p.Reason, pause: p}
	if !p.Until.IsZero() {
		until := p.Until.UTC().Format(time.RFC3339)
		out.Until = &until
	}
	return out
}

// text says in few words that a task is paused: who paused everything is said elsewhere.
func (p *pausedJSON) text(now time.Time, zone *time.Location) string {
	if p.Everything {
		return "paused"
	}
	return p.pause.Text(now, zone)
}

// forgottenAfter is how old a pause without an end may be before somebody should look.
const forgottenAfter = 24 * time.Hour

// forgottenRows tell of pauses that somebody may have forgotten to end.
func (a *app) forgottenRows(s *runner.Status) (rows []statusRow) {
	for _, p := range pausedTasks(s) {
		if p.pause.Until.IsZero() && s.At.Sub(p.pause.Since) > forgottenAfter {
			next, what := "sched resume"+a.configFlag(), "everything is "
			if p.Task != "" {
				next, what = next+" "+p.Task, ""
			}
			text := what + p.pause.Text(s.At, s.Schedule.Location)
			rows = append(rows, statusRow{p.Task, "paused", text, "", next})
		}
	}
	return rows
}

type pausedTaskJSON struct {
	Task string `json:"task"` // empty for everything
	pausedJSON
}

// pausedTasks returns the pauses in effect: that of everything, without the name of a task, and those of
// active tasks.
func pausedTasks(s *runner.Status) (paused []pausedTaskJSON) {
	paused = []pausedTaskJSON{}
	for _, name := range append([]string{controls.Everything}, s.Pauses.Tasks(s.At)...) {
		active := slices.ContainsFunc(s.Tasks, func(t runner.TaskStatus) bool { return t.Name == name })
		if pause := s.Pauses[name]; pause.InEffect(s.At) && (active || name == controls.Everything) {
			one := pausedTaskJSON{name, toPausedJSON(pause)}
			if one.Everything = !active; one.Everything {
				one.Task = ""
			}
			paused = append(paused, one)
		}
	}
	return paused
}

// pausedFigure tells in the first line of what is paused, which alone is no trouble.
func pausedFigure(s *runner.Status) string {
	all := pausedTasks(s)
	switch {
	case len(all) > 0 && all[0].Everything:
		return ", everything is " + all[0].pause.Text(s.At, s.Schedule.Location)
	case len(all) > 0:
		return ", " + text.Count(len(all), "task") + " paused"
	}
	return ""
}
