package view

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
)

// The exit codes of a Status.
const (
	AllWell   = 0
	InTrouble = 1
	IsDown    = 2 // no ticks, or an invalid schedule
)

// A Status says whether all is well.
type Status struct {
	Verdict  string      `json:"verdict"` // ok, trouble or down
	ExitCode int         `json:"exit_code"`
	LastTick *string     `json:"last_tick"` // null when no tick ever came, or nobody knows
	Valid    bool        `json:"schedule_valid"`
	Tasks    int         `json:"tasks"`
	Running  int         `json:"running"`
	Down     string      `json:"maintenance"` // maintenance is no trouble; "" without maintenance
	Troubles []Trouble   `json:"troubles"`
	Warnings []string    `json:"warnings"` // the tasks whose last run succeeded with a warning, which is no trouble
	Paused   []TaskPause `json:"paused"`
	Planned  []TaskPause `json:"planned,omitempty"` // pauses that begin later
	Pools    []Pool      `json:"pools"`             // of this machine

	First string `json:"-"` // the status in one line, with the verdict before a colon
}

// A Trouble is one thing that is wrong.
type Trouble struct {
	Task    string `json:"task"`    // empty if no task is in trouble
	Trouble string `json:"trouble"` // a TroubleKind, an outcome, or another word of docs/json.md
	Text    string `json:"text"`
	Run     string `json:"run"`
	Next    string `json:"next"` // what to type
}

// Status judges a status. The troubles that make the exit code 2 come first.
func (s Source) Status(of *Health) Status {
	if err := of.Explain(); err != nil && of.Err == nil {
		of.Err = err
	}
	judge := judged{of, s.Config}
	paused, planned := PausesNow(of.Schedule, of.Pauses, func(task string) bool {
		return slices.ContainsFunc(of.Tasks, func(t TaskHealth) bool { return t.Name == task })
	}, of.At)
	down := judge.down()
	rows := slices.Concat(down, s.troubles(judge), judge.forgotten(paused))
	answer := Status{
		LastTick: timeOrNil(of.LastTick),
		Valid:    !of.Invalid,
		Tasks:    len(of.Tasks),
		Running:  of.Running,
		Down:     s.Maintenance(),
		Troubles: listOf(rows),
		Warnings: warnings(of),
		Paused:   paused,
		Planned:  planned,
		Pools:    poolsOf(of),
	}
	figures := figuresOf(of, answer)
	switch {
	case len(down) > 0:
		answer.ExitCode, answer.First = IsDown, "down: "+down[0].Text+"; "+figures
	case len(rows) > 0:
		answer.ExitCode, answer.First = InTrouble, "trouble: "+summary(rows)+"; "+figures
	default:
		answer.First = "ok: " + figures
	}
	answer.Verdict, _, _ = strings.Cut(answer.First, ":")
	return answer
}

// troubles returns what is wrong while ticks come: with the machine and the store, and then with
// tasks.
func (s Source) troubles(of judged) (rows []Trouble) {
	add := func(trouble, text, command string) {
		rows = append(rows, Trouble{Trouble: trouble, Text: text, Next: command + s.Config})
	}
	if left := of.Schedule.Left; len(left) > 0 {
		lines := humanize.Count(len(left), "line") + " of " + filepath.Base(of.Schedule.File)
		add("schedule", lines+" cannot run", "sched check")
	}
	if of.Err != nil {
		add("history", fmt.Sprintf("not all can be read: %v", of.Err), "sched history")
	}
	if of.Undelivered.Count > 0 {
		rows = append(rows, of.undelivered())
	}
	delayed := slices.DeleteFunc(s.Live(), func(r state.Row) bool {
		return !r.DelayedSlot() || r.Wait.For == state.ForPause
	})
	if words := of.store(len(delayed)); words != "" {
		add("store", words, "sched doctor")
	}
	for _, f := range of.Findings {
		add("servers", f.Text, "sched servers")
	}
	if wrong := of.Schedule.Machine.Wrong; wrong != "" {
		add("labels", wrong, "sched doctor")
	}
	for _, t := range of.Troubles {
		rows = append(rows, of.trouble(t))
	}
	rows = append(rows, unserved(context.Background(), s, of.Health)...)
	return append(rows, nowhere(context.Background(), s, of.Health)...)
}

// NoSchedule returns the status for a machine without a schedule to run, not even an earlier one.
// Next is the command to type.
func NoSchedule(reason error, next string) Status {
	words := "there is no schedule to run: " + humanize.Line(reason.Error())
	return Status{
		Verdict:  "down",
		ExitCode: IsDown,
		First:    "down: " + words,
		Troubles: []Trouble{{Trouble: "schedule", Text: words, Next: next}},
		Warnings: []string{},
		Paused:   []TaskPause{},
		Pools:    []Pool{},
	}
}

func warnings(of *Health) []string {
	tasks := []string{}
	for _, t := range of.Tasks {
		if t.Last.Warned() {
			tasks = append(tasks, t.Name)
		}
	}
	return tasks
}

func figuresOf(of *Health, answer Status) string {
	figures := fmt.Sprintf("%s, %d running", humanize.Count(len(of.Tasks), "task"), of.Running)
	if !of.LastTick.IsZero() {
		figures += ", last tick " + humanize.MinuteZone(of.LastTick, of.Schedule.Location)
	}
	if age := of.At.Sub(of.LastTick); age >= 0 && of.ticksMissing() == "" { // else it is a row
		figures += " (" + humanize.Duration(age) + " ago)"
	}
	switch paused := answer.Paused; { // a pause alone is no trouble
	case len(paused) > 0 && paused[0].Everything:
		figures += ", everything is " + paused[0].Raw.Text(of.At, of.Schedule.Location)
	case len(paused) > 0:
		figures += ", " + humanize.Count(len(paused), "task") + " paused"
	}
	switch names := answer.Warnings; {
	case len(names) == 1:
		figures += ", " + names[0] + " has a warning"
	case len(names) > 1:
		figures += ", " + humanize.Count(len(names), "task") + " have a warning"
	}
	if planned := answer.Planned; len(planned) > 0 {
		figures += fmt.Sprintf(", %s planned, the next from %s", humanize.Count(len(planned), "pause"),
			humanize.MinuteNear(planned[0].Raw.Since, of.At, of.Schedule.Location))
	}
	for _, p := range answer.Pools {
		if p.Full() != "" {
			figures += "; " + p.Text()
		}
	}
	if answer.Down != "" {
		figures += "; " + answer.Down
	}
	return figures
}

// A judged is a health whose troubles are being listed.
type judged struct {
	*Health
	config string // Source.Config, for what to type
}

// down returns the troubles that make the exit code 2: no ticks, or an invalid schedule.
func (of judged) down() (rows []Trouble) {
	if missing := of.ticksMissing(); missing != "" {
		next := "crontab -l"
		switch {
		case of.LastTick.After(of.At):
			next = "date"
		case of.Err != nil:
			next = "sched doctor" + of.config
		}
		rows = append(rows, Trouble{Trouble: "tick", Text: missing, Next: next})
	}
	if of.Invalid {
		words := filepath.Base(of.Schedule.File) + " is invalid, ticks run " + of.Schedule.InPlace()
		rows = append(rows, Trouble{Trouble: "schedule", Text: words, Next: "sched check" + of.config})
	}
	return rows
}

// store says that the store does not answer, and how many slots wait for it; "" if neither is so.
func (of judged) store(waiting int) string {
	var words []string
	if of.Outage != nil {
		since := humanize.MinuteZone(of.Outage.Since, of.Schedule.Location)
		words = append(words, "down since "+since+": "+humanize.Line(of.Outage.Why))
	}
	if waiting > 0 {
		words = append(words, "kept until it answers: "+humanize.Count(waiting, "slot"))
	}
	return strings.Join(words, "; ")
}

func (of judged) undelivered() Trouble {
	u := of.Undelivered
	wait, whose := " waits", ", of "
	if u.Count > 1 {
		wait, whose = " wait", ", the oldest of "
	}
	since := humanize.MinuteZone(u.Since, of.Schedule.Location)
	words := humanize.Count(u.Count, "notification") + wait + " since " + since + whose + u.Task + ": " + u.Error
	return Trouble{Trouble: "notifications", Text: words, Next: "sched history" + of.config + " " + u.Task}
}

func (of judged) trouble(t TaskTrouble) Trouble {
	row := Trouble{Task: t.Task, Trouble: string(t.Kind), Text: t.Text, Run: t.Run.ID}
	command, argument := "why", t.Task
	switch t.Kind {
	case LastFailed:
		row.Trouble = string(t.Run.Outcome)
		row.Text = fmt.Sprintf("%s %s ago", t.Run.Outcome, humanize.Duration(max(0, of.At.Sub(t.Run.Ended))))
		if t.Run.Reason != "" {
			row.Text += " (" + t.Run.Reason + ")"
		}
		if t.Run.Output != "" {
			command, argument = "logs", humanize.ShortRun(t.Run.ID)
		}
		if t.Run.Outcome == outcome.Lost || t.Run.Outcome == outcome.Stopped {
			command, argument = "retry", humanize.ShortRun(t.Run.ID) // the output does not say why it failed
		}
	case HasMissed:
		row.Run = ""
		row.Text = missedText(t, of.Schedule.Location)
	case RunsLong, IsOverdue:
		if t.Run.ID != "" {
			command, argument = "logs", humanize.ShortRun(t.Run.ID)
		}
	}
	row.Next = "sched " + command + of.config + " " + argument
	return row
}

func missedText(t TaskTrouble, zone *time.Location) string {
	if t.Slots <= 1 {
		return "missed the slot of " + humanize.SecondZone(t.First, zone)
	}
	return fmt.Sprintf("missed %d slots, %s to %s",
		t.Slots, humanize.SecondZone(t.First, zone), humanize.SecondZone(t.Final, zone))
}

func poolsOf(of *Health) []Pool {
	all, live := []Pool{}, []state.Row(nil)
	for _, t := range of.Tasks {
		live = append(live, t.Running...)
	}
	for _, p := range of.Schedule.Pools {
		holders, _ := run.Storage{}.SeatHolders(context.Background(), live, p)
		all = append(all, *poolOf(p, holders))
	}
	return all
}

// forgottenAfter is how old a pause without an end may be before it counts as forgotten.
const forgottenAfter = 24 * time.Hour

func (of judged) forgotten(paused []TaskPause) (rows []Trouble) {
	for _, p := range paused {
		if p.Raw.Until.IsZero() && of.At.Sub(p.Raw.Since) > forgottenAfter {
			words, next := p.Raw.Text(of.At, of.Schedule.Location), "sched resume"+of.config
			if p.Task == "" {
				words = "everything is " + words
			} else {
				next += " " + p.Task
			}
			rows = append(rows, Trouble{Task: p.Task, Trouble: "paused", Text: words, Next: next})
		}
	}
	return rows
}

// summary names the first troubles, for the first line: on a pager it may be all that people see.
func summary(rows []Trouble) string {
	var parts []string
	for _, r := range rows {
		parts = append(parts, strings.TrimSpace(r.Task+" "+r.Trouble))
	}
	return humanize.Names(parts, 3)
}
