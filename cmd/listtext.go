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
		t.Row(row.Name, when(row, s), next, a.lastText(s, row.LastRun), a.nowText(s, row))
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
	words := strings.Join(row.Cron, "; ")
	if len(row.Cron) == 0 && len(row.TriggeredBy) > 0 {
		return view.TriggeredBy(row.TriggeredBy)
	}
	if row.Spread > 0 {
		words += fmt.Sprintf(" +%.0f min", row.Spread/60)
	}
	if row.Timezone != s.Location.String() {
		words += " " + row.Timezone
	}
	if row.Conditions != "" {
		words += ", " + row.Conditions
	}
	return words
}

// never returns why a task does not run again: it is switched off, or none of its slots meets its conditions. It is "-" where its times
// are over.
func never(row view.Task, s *schedule.Schedule) string {
	if row.Off != "" {
		short, _, _ := strings.Cut(row.Off, ":")
		return short
	}
	if t, err := view.FindTask(s, row.Name); err == nil && t.When.Boot {
		return "at the next boot"
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
	if len(s.Store.Servers) > 0 && last.Server != serverName(s.Server) {
		text += " on " + last.Server
	}
	return text
}

// nowText says what runs and what waits for a tick now; "-" when nothing does.
func (a listCommand) nowText(s *schedule.Schedule, row view.Task) string {
	text, waiting := a.runningText(row.Running, serverName(s.Server)), row.Waiting
	if row.Paused != nil {
		text = strings.TrimPrefix(text+", "+row.Paused.Text(a.now(), s.Location), ", ")
	}
	for _, one := range row.Overdue {
		text = strings.TrimPrefix(text+", overdue: "+one.Text, ", ")
	}
	switch {
	case len(waiting) == 0 && text == "":
		return "-"
	case len(waiting) == 0:
		return text
	case text == "":
		text = waiting[0].Text(a.now(), s.Location)
		waiting = waiting[1:]
	}
	if len(waiting) > 0 {
		text += fmt.Sprintf(", and %d waiting", len(waiting))
	}
	return text
}

func (a listCommand) runningText(running []view.Running, here string) string {
	if len(running) == 0 {
		return ""
	}
	first := running[0]
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
