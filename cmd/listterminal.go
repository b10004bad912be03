package cmd

import (
	"strings"
	"time"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/text"
	"sched/schedule/view"
)

// The columns of list on a terminal. Now is there when something runs, waits or is paused.
const (
	listTask = iota
	listWhen
	listNext
	listClock // of the next time
	listLast
	listNow
	listDoes
)

// listShrinks says which columns shrink on a narrow terminal, and in which order: what a task does first, its name last.
var listShrinks = []terminal.Shrink{
	{Column: listDoes, Least: 16},
	{Column: listClock},
	{Column: listDoes},
	{Column: listNow, Least: 14},
	{Column: listWhen, Least: 9},
	{Column: listLast, Least: 11},
	{Column: listTask, Least: 12},
	{Column: listNow, Least: 7},
	{Column: listWhen},
}

// printListOnTerminal prints the table as wide as the terminal is.
func (a listCommand) printListOnTerminal(s *schedule.Schedule, rows []view.Task, at time.Time) {
	out := a.stdout()
	t := out.Table(listShrinks...)
	defer t.Flush()
	now := ""
	for _, row := range rows {
		if len(row.Running)+len(row.Waiting) > 0 || row.Paused != nil {
			now = "NOW"
		}
	}
	t.Head("TASK", "WHEN", "NEXT", "", "LAST", now, "DOES")
	for _, row := range rows {
		var next, clock string
		if len(row.Times) > 0 {
			next, clock = nextCells(out, row, 0, at)
		} else {
			next = out.Paint(terminal.Faint, never(row, s))
		}
		t.Row(row.Name, when(row, s), next, clock, a.lastCell(s, row.LastRun), a.nowCell(s, row), out.Paint(terminal.Faint, does(row)))
		for i := 1; i < len(row.Times); i++ {
			next, clock := nextCells(out, row, i, at)
			t.Row("", "", next, clock, "", "", "")
		}
	}
}

// nextCells returns how far the i-th of the next times is, and when that is.
func nextCells(out terminal.Stream, row view.Task, i int, at time.Time) (next, clock string) {
	next, clock = until(row.Times[i], at)
	return next, out.Paint(terminal.Faint, clock)
}

// until says how far a time is, and when that is: with the date where it is not that of at.
func until(t, at time.Time) (far, clock string) {
	clock = text.SlotNear(t, at, t.Location()) + t.Format(" MST")
	if !text.SameDay(t, at, t.Location()) {
		clock = t.Format("Mon ") + clock
	}
	return "in " + text.Duration(t.Sub(at)), clock
}

func (a listCommand) lastCell(s *schedule.Schedule, last outcome.Record) string {
	out, tone := a.stdout(), toneOf(last.Outcome)
	if tone == "" {
		return out.Paint(terminal.Faint, a.lastText(s, last))
	}
	return out.Mark(tone) + " " + out.Paint(tone, a.lastText(s, last))
}

func (a listCommand) nowCell(s *schedule.Schedule, row view.Task) string {
	words := a.nowText(s, row)
	if words == "-" {
		return ""
	}
	tone := terminal.Active
	if row.Paused != nil && len(row.Running) == 0 {
		tone = toneOf(outcome.Skipped)
	}
	return a.stdout().Paint(tone, text.Line(words))
}

// does says in one line what a task does: its description, or else its command.
func does(row view.Task) string {
	words := row.Description
	if words == "" {
		words = row.Command
	}
	return strings.Join(strings.Fields(text.Line(words)), " ")
}
