package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
)

// Describe says in words how a run ended: "failed in 2.1 s: exit code 7 (attempt 3)".
func Describe(r state.Row) string {
	var b strings.Builder
	b.WriteString(r.OutcomeText())
	separator := ": "
	switch {
	case r.Outcome == outcome.TimedOut, r.Outcome == outcome.Stopped && !strings.HasPrefix(r.Reason, "sched stop"):
		separator = " " // "timed out after 20m", "stopped by SIGTERM"
	case !r.Started.IsZero() && r.Outcome != outcome.Lost:
		b.WriteString(" in " + humanize.Duration(r.Duration()))
	}
	if r.Reason != "" {
		b.WriteString(separator + r.Reason)
	}
	var more []string
	if r.Attempt.Number > 1 {
		more = append(more, fmt.Sprintf("attempt %d", r.Attempt.Number))
	}
	if r.Origin != "" {
		more = append(more, r.Origin)
	}
	if r.NoChain {
		more = append(more, "without its chain")
	}
	for _, t := range r.Triggered {
		more = append(more, "triggered "+t.Task)
	}
	if len(more) > 0 {
		b.WriteString(" (" + strings.Join(more, ", ") + ")")
	}
	return b.String()
}

// Late says how long a run waited for its turn. It also says how late a run of the schedule
// started, if that is more than a tick takes. If neither is worth saying, it returns "". A run that
// is later than any missed slot may run was started with --at, and is not late.
func Late(r state.Row) (said string) {
	if r.Wait.Waited >= time.Second && r.Ran() {
		said = ", waited " + humanize.Duration(r.Wait.Waited)
	}
	late := r.Lateness() - r.Wait.Waited
	if r.Origin != "" || late <= 5*time.Second || late > schedule.LookBack {
		return said
	}
	return said + ", " + humanize.Duration(late) + " late"
}

// RunningText says how long a run has lived, and on which machine.
func RunningText(row state.Row, now time.Time) string {
	holder := run.HolderOf(row)
	if !row.LastTold.IsZero() {
		return "it was running " + LastToldText(row, now) + ", " + holder.String()
	}
	if holder.PID == 0 {
		return "it is starting " + holder.String()
	}
	return fmt.Sprintf("it has been running for %s, %s", humanize.Duration(now.Sub(holder.Since)), holder)
}

// LastToldText says when a silent server last reported. A run on that server may have ended.
func LastToldText(row state.Row, now time.Time) string {
	return fmt.Sprintf("%s ago, when %s said something last", humanize.Duration(now.Sub(row.LastTold)), row.Server)
}

// CommandText is a command as people read it, without quotes.
func CommandText(c schedule.Command) string {
	if len(c.List) > 0 {
		return strings.Join(c.List, " ")
	}
	return c.Line
}

// ConditionCommands says which conditions of a task are commands; "" if no condition is. Only the
// task's tick will have their answers.
func ConditionCommands(t *schedule.Task) string {
	if len(t.ConditionCommands) == 0 {
		return ""
	}
	var keys []string
	for _, c := range t.ConditionCommands {
		keys = append(keys, c.Key)
	}
	return strings.Join(keys, " and ") + " will be asked first"
}

func conditionTexts(t *schedule.Task) []string {
	texts := []string{}
	for _, c := range t.ConditionCommands {
		texts = append(texts, c.Key+": "+CommandText(c.Command))
	}
	return texts
}

// TriggeredBy says after which tasks another one is started: "after extract", "after extract, load
// or clean".
func TriggeredBy(by []Chained) string {
	var names []string
	for _, c := range by {
		if !slices.Contains(names, c.Task) {
			names = append(names, c.Task)
		}
	}
	last := len(names) - 1
	if last == 0 {
		return "after " + names[0]
	}
	return fmt.Sprintf("after %s or %s", strings.Join(names[:last], ", "), names[last])
}
