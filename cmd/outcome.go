package cmd

import (
	"fmt"
	"strings"
	"time"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/text"
)

func toneOf(outcome history.Outcome) terminal.Tone {
	switch outcome {
	case history.Succeeded:
		return terminal.Good
	case history.Failed, history.TimedOut, history.Lost:
		return terminal.Bad
	case history.Stopped, history.Skipped, history.Missed:
		return terminal.Caution
	}
	return ""
}

// describe says in words how a run ended.
func describe(r history.Record) string {
	var b strings.Builder
	b.WriteString(string(r.Outcome))
	separator := ": "
	switch {
	case r.Outcome == history.TimedOut, r.Outcome == history.Stopped && !strings.HasPrefix(r.Reason, "sched stop"):
		separator = " " // "timed out after 20m", "stopped by SIGTERM"
	case !r.Started.IsZero() && r.Outcome != history.Lost:
		b.WriteString(" in " + text.Duration(r.Duration()))
	}
	if r.Reason != "" {
		b.WriteString(separator + r.Reason)
	}
	var more []string
	if r.Attempts > 1 {
		more = append(more, fmt.Sprintf("attempt %d", r.Attempts))
	}
	if r.Origin != "" {
		more = append(more, r.Origin)
	}
	if len(more) > 0 {
		b.WriteString(" (" + strings.Join(more, ", ") + ")")
	}
	return b.String()
}

// late says how late a run of the schedule started, where that is more than any tick needs. One that is
// later than any missed slot that runs was asked for with --at.
func late(r history.Record) string {
	if r.Origin != "" || r.Lateness() <= 5*time.Second || r.Lateness() > schedule.LookBack {
		return ""
	}
	return ", " + text.Duration(r.Lateness()) + " late"
}
