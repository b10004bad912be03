package cmd

import (
	"fmt"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/text"
)

// printList prints the table in a pipe (on a terminal: printListOnTerminal).
func (a listCommand) printList(s *schedule.Schedule, rows []taskJSON, p past, at time.Time) {
	t := a.stdout().Table()
	defer t.Flush()
	t.Head("TASK", "WHEN", "NEXT", "LAST", "NOW")
	for _, row := range rows {
		next := row.never(s)
		if len(row.times) > 0 {
			next = row.nextText(0, at)
		}
		t.Row(row.Name, when(row, s), next, a.lastText(s, p.last[row.Name]), a.nowText(row, s.Location))
		for i := 1; i < len(row.times); i++ {
			t.Row("", "", row.nextText(i, at), "", "")
		}
	}
}

// nextText returns the i-th of the next times, and how far it is.
func (row taskJSON) nextText(i int, at time.Time) string {
	t := row.times[i]
	return fmt.Sprintf("%s (in %s)", text.SlotZone(t, t.Location()), text.Duration(t.Sub(at)))
}

// when shows the expressions, the zone where it is not the schedule's, and the conditions of time.
func when(row taskJSON, s *schedule.Schedule) string {
	text := strings.Join(row.Cron, "; ")
	if row.Timezone != s.Location.String() {
		text += " " + row.Timezone
	}
	if row.conditions != "" {
		text += ", " + row.conditions
	}
	return text
}

// never returns why a task does not run again: it is switched off, or none of its slots meets its conditions. It is "-" where its times
// are over.
func (row taskJSON) never(s *schedule.Schedule) string {
	if t, err := task(s, row.Name); err == nil && !s.Active(t) {
		return switchedOff(s, t)
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
func (a listCommand) nowText(row taskJSON, zone *time.Location) string {
	text, waiting := a.runningText(row.Running), row.Waiting
	if row.Paused != nil {
		text = strings.TrimPrefix(text+", "+row.Paused.text(a.now(), zone), ", ")
	}
	switch {
	case len(waiting) == 0 && text == "":
		return "-"
	case len(waiting) == 0:
		return text
	case text == "":
		text = a.waitText(waiting[0], zone)
		waiting = waiting[1:]
	}
	if len(waiting) > 0 {
		text += fmt.Sprintf(", and %d waiting", len(waiting))
	}
	return text
}

func (a listCommand) runningText(running []runningJSON) string {
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
	if !first.since.IsZero() {
		text += " for " + a.ago(first.since)
	}
	if first.PID == nil && first.Host == here {
		text = "starting"
	}
	if len(running) > 1 {
		text += fmt.Sprintf(" and %d more", len(running)-1)
	}
	return text
}
