package list

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
)

// The columns of list. On a terminal the column NOW is there only if it has text.
const (
	taskColumn = iota
	whenColumn
	nextColumn
	clockColumn // of the next time
	lastColumn
	nowColumn
	doesColumn
)

// shrinks says in which order columns shrink on a narrow terminal.
var shrinks = []terminal.Shrink{
	{Column: doesColumn, Least: 16},
	{Column: clockColumn},
	{Column: doesColumn},
	{Column: nowColumn, Least: 14},
	{Column: whenColumn, Least: 9},
	{Column: lastColumn, Least: 11},
	{Column: taskColumn, Least: 12},
	{Column: nowColumn, Least: 7},
	{Column: whenColumn},
}

// printTable prints the tasks. In a pipe the clock has no column of its own.
func printTable(a *app.App, s *schedule.Schedule, rows []view.Task, at time.Time) {
	out := a.Stdout()
	t := a.Table(shrinks...)
	defer t.Flush()
	columns := func(cells ...string) []string {
		if !out.IsTerminal() {
			return slices.Delete(cells, clockColumn, clockColumn+1)
		}
		return cells
	}
	nowHead := ""
	for _, row := range rows {
		if nowCell(a, s, row) != "" {
			nowHead = "NOW"
		}
	}
	t.Head(columns("TASK", "WHEN", "NEXT", "", "LAST", nowHead, "DOES")...)
	for _, row := range rows {
		next, clock := out.Paint(terminal.Faint, neverText(row, s)), ""
		if len(row.Next) > 0 {
			next, clock = nextCells(out, row, 0, at)
		}
		last, now := lastCell(a, s, row.LastRun), nowCell(a, s, row)
		t.Row(columns(row.Name, whenText(row, s), next, clock, last, now, out.Paint(terminal.Faint, doesText(row)))...)
		for i := 1; i < len(row.Next); i++ {
			next, clock := nextCells(out, row, i, at)
			t.Row(columns("", "", next, clock, "", "", "")...)
		}
	}
}

// nextCells returns the cells for the i-th next time: how far it is, and its time, with the date if
// it is on another day. In a pipe the first cell has both, always with the date.
func nextCells(out terminal.Stream, row view.Task, i int, at time.Time) (next, clock string) {
	t := row.Next[i].Time
	far := "in " + humanize.Duration(t.Sub(at))
	moved := ""
	if row.Moved != nil {
		moved = strings.TrimSuffix(", "+row.Moved[i], ", ")
	}
	if !out.IsTerminal() {
		return fmt.Sprintf("%s (%s)%s", humanize.SlotZone(t, t.Location()), far, moved), ""
	}
	clock = humanize.SlotNearZone(t, at, t.Location())
	if !humanize.SameDay(t, at, t.Location()) {
		clock = t.Format("Mon ") + clock
	}
	return far, out.Paint(terminal.Faint, clock+moved)
}

func lastCell(a *app.App, s *schedule.Schedule, last state.Row) string {
	out, tone := a.Stdout(), console.ToneOf(last.Result)
	if tone == "" || !out.IsTerminal() {
		return out.Paint(terminal.Faint, lastText(a, s, last))
	}
	return out.Mark(tone) + " " + out.Paint(tone, lastText(a, s, last))
}

func nowCell(a *app.App, s *schedule.Schedule, row view.Task) string {
	text := nowText(a, s, row)
	if text == "-" && a.Stdout().IsTerminal() {
		return ""
	}
	tone := terminal.Active
	if row.Paused != nil && len(row.Running) == 0 {
		tone = terminal.Caution
	}
	return a.Stdout().Paint(tone, humanize.Line(text))
}

// whenText says when a task is due: its cron expressions, its zone if that is another one than the
// schedule's, and its conditions. Times that no cron expression has are in the words of the file.
func whenText(row view.Task, s *schedule.Schedule) string {
	words := strings.Join(row.Cron, "; ")
	if t := s.Task(row.Name); t != nil && t.When.Every != "" && strings.Contains(words, " from ") {
		words = humanize.Line(t.When.Every)
	}
	if len(row.Cron) == 0 && len(row.TriggeredBy) > 0 {
		return view.TriggeredBy(row.TriggeredBy)
	}
	if len(row.Cron) == 0 {
		return "by hand"
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

// neverText says why a task has no next time: it is switched off, no slot meets its conditions,
// pauses cover all slots, no slot comes before its `until`, or it is due at the next boot. It is
// "-" for another reason.
func neverText(row view.Task, s *schedule.Schedule) string {
	if row.Off != "" {
		short, _, _ := strings.Cut(row.Off, ":")
		return short
	}
	t := s.Task(row.Name)
	switch {
	case t != nil && t.When.Boot:
		return "at the next boot"
	case len(row.Slots) > 0 && row.Slots[0].Unmet != "":
		return "never: " + row.Slots[0].Unmet
	case row.PausedEachTime:
		return "never: it is paused each time"
	case t != nil && !t.When.Until.IsZero():
		return "never: until " + schedule.MomentText(t.When.Until, t.When.Location)
	}
	return "-"
}

// lastText says how the last run ended, and on which server if that is another one.
func lastText(a *app.App, s *schedule.Schedule, last state.Row) string {
	if last.ID == "" {
		return "-"
	}
	text := fmt.Sprintf("%s %s ago", last.OutcomeText(), a.Ago(last.Ended))
	if len(s.Store.Servers) > 0 && last.Server != a.ServerName(s.Server) {
		text += " on " + last.Server
	}
	return text
}

// nowText says what goes on with a task now: it runs, waits, is paused or overdue; "-" for nothing.
func nowText(a *app.App, s *schedule.Schedule, row view.Task) string {
	var parts []string
	if len(row.Running) > 0 {
		parts = append(parts, runningText(a, row.Running, a.ServerName(s.Server)))
	}
	if row.Unwatched > 0 {
		text := humanize.Count(row.Unwatched, "run") + " whose tick was killed, for the next tick to end"
		parts = append(parts, text)
	}
	if vanished := row.Vanished - row.Unwatched; vanished > 0 {
		parts = append(parts, humanize.Count(vanished, "run")+" vanished, for the next tick to finish")
	}
	if row.Paused != nil {
		parts = append(parts, row.Paused.Text(a.Now(), s.Location))
	}
	for _, planned := range row.Planned {
		if planned.Announced(a.Now()) {
			parts = append(parts, "will be "+planned.Raw.Text(a.Now(), s.Location))
		}
	}
	for _, overdue := range row.Overdue {
		parts = append(parts, "overdue: "+overdue.Text)
	}
	if row.Budget != "" {
		parts = append(parts, row.Budget)
	}
	waiting := row.Waiting
	if len(parts) == 0 && len(waiting) > 0 {
		parts = append(parts, waiting[0].Text(a.Now(), s.Location))
		waiting = waiting[1:]
	}
	if len(waiting) > 0 {
		parts = append(parts, fmt.Sprintf("and %d waiting", len(waiting)))
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

func runningText(a *app.App, running []view.Running, thisServer string) string {
	first := running[0]
	text := "running"
	if first.PID != nil {
		text += fmt.Sprintf(", pid %d", *first.PID)
	}
	if first.Host != "" {
		text += " on " + first.Host
	}
	if !first.Since.IsZero() {
		text += " for " + a.Ago(first.Since.Time)
	}
	if first.PID == nil && first.Host == thisServer {
		text = "starting"
	}
	switch {
	case first.NextAttempt > 0:
		text = fmt.Sprintf("waits for attempt %d", first.NextAttempt)
	case first.Ended:
		text = "ended, not recorded yet"
	case first.Silent(a.Now()):
		text = "unknown: was running on " + first.Host + ", which is silent"
	case first.LastReported != nil:
		text = "was running on " + first.Host + " " + a.Ago(first.LastReported.Time) + " ago"
	}
	if len(running) > 1 {
		text += fmt.Sprintf(" and %d more", len(running)-1)
	}
	return text
}

// doesText says in one line what a task does: its description, or else its command.
func doesText(row view.Task) string {
	return strings.Join(strings.Fields(humanize.Line(cmp.Or(row.Description, row.Command))), " ")
}
