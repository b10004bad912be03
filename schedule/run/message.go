package run

import (
	"time"

	"sched/schedule/clock"
	"sched/schedule/notify"
	"sched/schedule/outcome"
)

// message returns what is sent about an event of the run, whose times are shown in the schedule's zone.
func (h *hooks) message(id string, event notify.Event, result outcome.Record) notify.Message {
	sender, zone := h.task.Sender, h.zone()
	in := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		return t.In(zone)
	}
	m := notify.Message{
		ID: id, Event: event, At: in(clock.Now()),
		Schedule: sender.Schedule, Config: sender.File, Task: result.Task, Description: h.task.Description,
		Run: result.Run, Server: result.Server,
		Outcome: string(result.Outcome), Reason: result.Reason, ExitCode: result.ExitCode, Attempt: result.Attempts,
		Slot: in(result.Slot), Started: in(result.Started), Ended: in(result.Ended), Duration: result.Duration(),
	}
	if event == notify.Skip || event == notify.Overdue && result.Started.IsZero() {
		m.Run = ""
	}
	return m
}

// zone is that in which people are told times of the run.
func (r *Run) zone() *time.Location {
	if zone, err := time.LoadLocation(r.task.Sender.Zone); err == nil {
		return zone
	}
	return time.UTC
}
