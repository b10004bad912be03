package cmd

import (
	"time"

	"sched/schedule"
	"sched/schedule/controls"
)

type pausedJSON struct {
	Everything bool    `json:"everything"` // all tasks are paused, and not this one by its name
	By         string  `json:"by"`
	Server     string  `json:"server"`
	Since      string  `json:"since"`
	Until      *string `json:"until"` // null for a pause without an end
	Reason     string  `json:"reason"`

	pause controls.Pause
}

// pauses returns the pauses, with those that are over. With an error they are those that this machine read last.
func (st *stores) pauses(s *schedule.Schedule) (controls.Pauses, error) {
	orders, err := st.controls(s).Read()
	return orders.Pauses, err
}

// mustPauses is pauses with an error printed.
func (st *stores) mustPauses(s *schedule.Schedule) controls.Pauses {
	pauses, err := st.pauses(s)
	if err != nil {
		st.problem("what is paused is what this machine knew last: %v", err)
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

// text says in few words that a task is paused. By whom everything is paused is printed once, elsewhere.
func (p *pausedJSON) text(now time.Time, zone *time.Location) string {
	if p.Everything {
		return "paused"
	}
	return p.pause.Text(now, zone)
}
