package cmd

import (
	"fmt"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/text"
	"sched/schedule/view"
)

// printList prints the table in a pipe (on a terminal: printListOnTerminal).
func (a listCommand) printList(s *schedule.Schedule, rows []view.Task, at time.Time) {
	t := a.stdout().Table()
	defer t.Flush()
	t.Head("TASK", "WHEN", "NEXT", "LAST", "NOW")
	for _, row := range rows {
		var next string
		if len(row.Times) > 0 {
			next = nextText(row, 0, at)
		} else {
			next = never(row, s)
		}
		t.Row(row.Name, when(row, s), next, a.lastText(s, row.LastRun), a.nowText(row, s.Location))
		for i := 1; i < len(row.Times); i++ {
			t.Row("", "", nextText(row, i, at), "", "")
		}
	}
}

// nextText returns the i-th of the next times, and how far it is.
func nextText(row view.Task, i int, at time.Time) string {
	t := row.Times[i]
	return fmt.Sprintf("%s (in %s)", text.SlotZone(t, t.Location()), text.Duration(t.Sub(at)))
}

// when shows the expressions, the zone where it is not the schedule's, and the conditions of time.
func when(row view.Task, s *schedule.Schedule) string {
	text := strings.Join(row.Cron, "; ")
	if row.Timezone != s.Location.String() {
		text += " " + row.Timezone
	}
	if row.Conditions != "" {
		text += ", " + row.Conditions
	}
	return text
}

// never returns why a task does not run again: it is switched off, or none of its slots meets its conditions. It is "-" where its times
// are over.
func never(row view.Task, s *schedule.Schedule) string {
	if t, err := view.FindTask(s, row.Name); err == nil && !s.Active(t) {
		return view.SwitchedOff(s, t)
	}
	if len(row.Slots) > 0 && row.Slots[0].Unmet != "" {
		return "never: " + row.Slots[0].Unmet
	}
	return "-"
}

func (a listCommand) lastText(s *schedule.Schedule, last outcome.Record) string {
	if last.Run == "" {
		return "-"
	}
	text := fmt.Sprintf("%s %s ago", last.Outcome, a.ago(last.Ended))
	if here, _ := hostname(); len(s.Store.Servers) > 0 && last.Server != here {
		text += " on " + last.Server
	}
	return text
}

// nowText says what runs and what waits for a tick now; "-" when nothing does.
func (a listCommand) nowText(row view.Task, zone *time.Location) string {
	text, waiting := a.runningText(row.Running), row.Waiting
	if row.Paused != nil {
		text = strings.TrimPrefix(text+", "+row.Paused.Text(a.now(), zone), ", ")
	}
	switch {
	case len(waiting) == 0 && text == "":
		return "-"
	case len(waiting) == 0:
		return text
	case text == "":
		text = waiting[0].Text(a.now(), zone)
		waiting = waiting[1:]
	}
	if len(waiting) > 0 {
		text += fmt.Sprintf(", and %d waiting", len(waiting))
	}
	return text
}

func (a listCommand) runningText(running []view.Running) string {
	if len(running) == 0 {
		return ""
	}
	first := running[0]
	here, _ := hostname()
	text := "running"
	if first.PID != nil {
		text += fmt.Sprintf(", pid %d", *first.PID)
	}
	if first.Host != "" {
		text += " on " + first.Host
	}
	if !first.Began.IsZero() {
		text += " for " + a.ago(first.Began)
	}
	if first.PID == nil && first.Host == here {
		text = "starting"
	}
	if len(running) > 1 {
		text += fmt.Sprintf(" and %d more", len(running)-1)
	}
	return text
}
