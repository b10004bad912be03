package cmd

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/controls"
	"sched/schedule/outcome"
	"sched/schedule/status"
	"sched/schedule/text"
)

// A verdict is what status prints.
type verdict struct {
	code  int    // the exit code
	first string // the first line, with the word before a colon: ok, trouble or down
	rows  []statusRow
	down  string // the maintenance, which is no trouble; "" for none
}

type statusRow struct {
	Task    string `json:"task"`    // empty where it is no task that is in trouble
	Trouble string `json:"trouble"` // failed, missed, slow, vanished, paused; history, notifications, schedule, tick
	Text    string `json:"text"`
	Run     string `json:"run"`
	Next    string `json:"next"` // what to type
}

// judge turns a status into a verdict. The rows that make the exit code 2 come first.
func (a statusCommand) judge(s *status.Status) verdict {
	v := verdict{code: exitOK}
	down := a.downRows(s)
	v.rows = append(v.rows, down...)
	if s.Err != nil {
		v.rows = append(v.rows, statusRow{"", "history", fmt.Sprintf("not all can be read: %v", s.Err), "", "sched history" + a.configFlag()})
	}
	if s.Undelivered.Count > 0 {
		v.rows = append(v.rows, a.undeliveredRow(s))
	}
	for _, t := range s.Troubles {
		v.rows = append(v.rows, a.troubleRow(t, s))
	}
	v.rows = append(v.rows, a.forgottenRows(s)...)
	figures := fmt.Sprintf("%s, %d running", text.Count(len(s.Tasks), "task"), s.Running)
	if !s.LastTick.IsZero() {
		figures += ", last tick " + text.MinuteZone(s.LastTick, s.Schedule.Location)
	}
	if age := s.At.Sub(s.LastTick); age >= 0 && status.TicksMissing(s.LastTick, s.At) == "" { // else it is a row
		figures += " (" + text.Duration(age) + " ago)"
	}
	figures += pausedFigure(s)
	if v.down = a.maintenance(s.Schedule); v.down != "" {
		figures += "; " + v.down
	}
	switch {
	case len(down) > 0:
		v.code, v.first = exitUsage, "down: "+down[0].Text+"; "+figures
	case len(v.rows) > 0:
		v.code, v.first = exitFailed, "trouble: "+summary(v.rows)+"; "+figures
	default:
		v.first = "ok: " + figures
	}
	return v
}

// downRows are what makes the exit code 2: no ticks, or an invalid schedule.
func (a statusCommand) downRows(s *status.Status) (rows []statusRow) {
	if missing := status.TicksMissing(s.LastTick, s.At); missing != "" {
		next := "crontab -l"
		if s.LastTick.After(s.At) {
			next = "date"
		}
		rows = append(rows, statusRow{"", "tick", missing, "", next})
	}
	if s.Invalid {
		words := filepath.Base(s.Schedule.File) + " is invalid, the last valid one runs"
		rows = append(rows, statusRow{"", "schedule", words, "", "sched check" + a.configFlag()})
	}
	return rows
}

// undeliveredRow shows how many notifications are still to be sent, and why the oldest was not.
func (a statusCommand) undeliveredRow(s *status.Status) statusRow {
	u := s.Undelivered
	wait, of := " waits", ", of "
	if u.Count > 1 {
		wait, of = " wait", ", the oldest of "
	}
	since := text.Minute(u.Since, s.Schedule.Location)
	words := text.Count(u.Count, "notification") + wait + " since " + since + of + u.Task + ": " + u.Why
	return statusRow{"", "notifications", words, "", "sched history" + a.configFlag() + " " + u.Task}
}

// troubleRow says what is wrong with a task, and which command shows more.
func (a statusCommand) troubleRow(t status.Trouble, s *status.Status) statusRow {
	row := statusRow{Task: t.Task, Trouble: string(t.Kind), Run: t.Run.Run}
	command, of := "why", t.Task
	switch t.Kind {
	case status.LastFailed:
		row.Trouble = string(t.Run.Outcome)
		row.Text = fmt.Sprintf("%s %s ago", t.Run.Outcome, text.Duration(max(0, s.At.Sub(t.Run.Ended))))
		if t.Run.Reason != "" {
			row.Text += " (" + t.Run.Reason + ")"
		}
		if t.Run.Output != "" {
			command, of = "logs", text.ShortRun(t.Run.Run)
		}
		if t.Run.Outcome == outcome.Lost || t.Run.Outcome == outcome.Stopped {
			command, of = "retry", text.ShortRun(t.Run.Run) // its output does not say why
		}
	case status.HasMissed:
		row.Run = ""
		row.Text = missedText(t, s.Schedule.Location)
	case status.RunsLong:
		row.Text = fmt.Sprintf("running for %s, usually %s", text.Duration(t.For), text.Duration(t.Usual))
		command, of = "logs", text.ShortRun(t.Run.Run)
	case status.RunLost:
		row.Text = "a run vanished; the next tick will finish it"
	}
	row.Next = "sched " + command + a.configFlag() + " " + of
	return row
}

func missedText(t status.Trouble, zone *time.Location) string {
	if t.Slots <= 1 {
		return "missed the slot of " + text.Second(t.First, zone)
	}
	return fmt.Sprintf("missed %d slots, %s to %s", t.Slots, text.Second(t.First, zone), text.Second(t.Final, zone))
}

// forgottenAfter is how old a pause without an end may be before it counts as forgotten.
const forgottenAfter = 24 * time.Hour

// forgottenRows are the pauses that were probably forgotten.
func (a statusCommand) forgottenRows(s *status.Status) (rows []statusRow) {
	for _, p := range pausedTasks(s) {
		if p.pause.Until.IsZero() && s.At.Sub(p.pause.Since) > forgottenAfter {
			next, what := "sched resume"+a.configFlag(), "everything is "
			if p.Task != "" {
				next, what = next+" "+p.Task, ""
			}
			text := what + p.pause.Text(s.At, s.Schedule.Location)
			rows = append(rows, statusRow{p.Task, "paused", text, "", next})
		}
	}
	return rows
}

// summary names the first troubles, for the first line: on a pager it may be all that people see.
func summary(rows []statusRow) string {
	const named = 3
	var parts []string
	for _, r := range rows[:min(named, len(rows))] {
		parts = append(parts, strings.TrimSpace(r.Task+" "+r.Trouble))
	}
	text := strings.Join(parts, ", ")
	if more := len(rows) - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// pausedFigure says in the first line what is paused, which alone is no trouble; "" for nothing.
func pausedFigure(s *status.Status) string {
	all := pausedTasks(s)
	switch {
	case len(all) > 0 && all[0].Everything:
		return ", everything is " + all[0].pause.Text(s.At, s.Schedule.Location)
	case len(all) > 0:
		return ", " + text.Count(len(all), "task") + " paused"
	}
	return ""
}

type pausedTaskJSON struct {
	Task string `json:"task"` // empty for the pause of everything
	pausedJSON
}

// pausedTasks returns the pauses in effect: that of everything, without the name of a task, and those of
// active tasks.
func pausedTasks(s *status.Status) (paused []pausedTaskJSON) {
	paused = []pausedTaskJSON{}
	for _, name := range append([]string{controls.Everything}, s.Pauses.Tasks(s.At)...) {
		active := slices.ContainsFunc(s.Tasks, func(t status.TaskStatus) bool { return t.Name == name })
		if pause := s.Pauses[name]; pause.InEffect(s.At) && (active || name == controls.Everything) {
			one := pausedTaskJSON{name, toPausedJSON(pause)}
			if one.Everything = !active; one.Everything {
				one.Task = ""
			}
			paused = append(paused, one)
		}
	}
	return paused
}
