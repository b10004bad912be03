package cmd

import (
	"fmt"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/text"
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

// listGives says what gives way on a narrow terminal, and in which order: what a task does first, its name last.
var listGives = []giving{
	{listDoes, 16}, {listClock, 0}, {listDoes, 0}, {listNow, 14}, {listWhen, 9}, {listLast, 11}, {listTask, 12}, {listNow, 7}, {listWhen, 0},
}

// showList prints the table for a terminal.
func (a *app) showList(s *schedule.Schedule, rows []taskJSON, p past, at time.Time) {
	screen := look(a.out)
	g := &grid{out: a.out, screen: screen, gives: listGives}
	line := func(cells ...string) { fmt.Fprintln(g, strings.Join(cells, "\t")) }
	now := ""
	for _, row := range rows {
		if len(row.Running)+len(row.Waiting) > 0 || row.Paused != nil {
			now = "NOW"
		}
	}
	fmt.Fprintln(g, heads(a.out, "TASK\tWHEN\tNEXT\t\tLAST\t"+now+"\tDOES"))
	for _, row := range rows {
		next, clock := screen.paint(faint, never(s, row.Name)), ""
		if len(row.times) > 0 {
			next, clock = row.nextCells(screen, 0, at)
		}
		line(row.Name, when(row, s), next, clock, a.lastCell(s, p.last[row.Name]), a.nowCell(row, s.Location), screen.paint(faint, does(row)))
		for i := 1; i < len(row.times); i++ {
			next, clock := row.nextCells(screen, i, at)
			line("", "", next, clock, "", "", "")
		}
	}
	g.Flush()
}

// nextCells show one of the next times, and what will be in the way then.
func (row taskJSON) nextCells(screen screen, i int, at time.Time) (next, clock string) {
	next, clock = until(row.times[i], at)
	reason := row.unmet(i)
	if reason == "" {
		return next, screen.paint(faint, clock)
	}
	return screen.paint(wary, next), screen.paint(faint, clock+", but ") + screen.paint(wary, text.Line(reason))
}

// until is how far a time is, and when that is: of today the time of the day is enough.
func until(t, at time.Time) (far, clock string) {
	clock = text.SlotNear(t, at, t.Location()) + t.Format(" MST")
	if !text.SameDay(t, at, t.Location()) {
		clock = t.Format("Mon ") + clock
	}
	return "in " + text.Duration(t.Sub(at)), clock
}

func (a *app) lastCell(s *schedule.Schedule, last outcome.Record) string {
	screen, tone := look(a.out), toneOf(last.Outcome)
	if tone == "" {
		return screen.paint(faint, a.lastText(s, last))
	}
	return screen.mark(tone) + " " + screen.paint(tone, a.lastText(s, last))
}

func (a *app) nowCell(row taskJSON, zone *time.Location) string {
	words := a.nowText(row, zone)
	if words == "-" {
		return ""
	}
	tone := busy
	if row.Paused != nil && len(row.Running) == 0 {
		tone = toneOf(outcome.Skipped)
	}
	return paint(a.out, tone, text.Line(words))
}

// does says in one line what a task does: in the words of its description, or else its command.
func does(row taskJSON) string {
	words := row.Description
	if words == "" {
		words = row.Command
	}
	return strings.Join(strings.Fields(text.Line(words)), " ")
}
