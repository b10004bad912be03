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
	Verdict     string      `json:"verdict"` // ok, trouble or down
	ExitCode    int         `json:"exit_code"`
	LastTick    *string     `json:"last_tick"` // null when no tick ever came, or nobody knows
	Valid       bool        `json:"schedule_valid"`
	Tasks       int         `json:"tasks"`
	Running     int         `json:"running"`
	Maintenance string      `json:"maintenance"` // in words; it is no trouble. "" without maintenance
	Troubles    []Trouble   `json:"troubles"`
	Warnings    []string    `json:"warnings"` // the tasks whose last run succeeded with a warning, which is no trouble
	Paused      []TaskPause `json:"paused"`
	Planned     []TaskPause `json:"planned,omitempty"` // pauses that begin later
	Pools       []Pool      `json:"pools"`             // of this machine

	First string `json:"-"` // the status in one line, with the verdict before a colon
}

// A Trouble is one thing that is wrong.
type Trouble struct {
	Task string `json:"task"`    // empty if no task is in trouble
	Kind string `json:"trouble"` // a TroubleKind, an outcome, or another word of docs/json.md
	Text string `json:"text"`
	Run  string `json:"run"`
	Next string `json:"next"` // what to type
}

// Status judges a health. The troubles that make the exit code 2 come first. It sets h.Err if the
// reason is known why something cannot be read (Explain).
func (s Source) Status(h *Health) Status {
	if err := h.Explain(); err != nil && h.Err == nil {
		h.Err = err
	}
	judge := judgement{h, s.Config}
	paused, planned := PausesNow(h.Schedule, h.Pauses, func(task string) bool {
		return slices.ContainsFunc(h.Tasks, func(t TaskHealth) bool { return t.Name == task })
	}, h.At)
	down := judge.down()
	troubles := slices.Concat(down, judge.lesserTroubles(s), judge.forgottenPauses(paused))
	answer := Status{
		LastTick:    timeOrNil(h.LastTick),
		Valid:       !h.Invalid,
		Tasks:       len(h.Tasks),
		Running:     h.Running,
		Maintenance: s.Maintenance(),
		Troubles:    listOf(troubles),
		Warnings:    warnings(h),
		Paused:      paused,
		Planned:     planned,
		Pools:       poolsOf(h),
	}
	figures := figuresOf(h, answer)
	switch {
	case len(down) > 0:
		answer.ExitCode, answer.Verdict = IsDown, "down"
		answer.First = "down: " + down[0].Text + "; " + figures
	case len(troubles) > 0:
		answer.ExitCode, answer.Verdict = InTrouble, "trouble"
		answer.First = "trouble: " + summary(troubles) + "; " + figures
	default:
		answer.Verdict = "ok"
		answer.First = "ok: " + figures
	}
	return answer
}

// lesserTroubles returns the troubles that make the exit code 1: with the machine and the store,
// and then with tasks.
func (j judgement) lesserTroubles(s Source) (troubles []Trouble) {
	add := func(kind, text, command string) {
		troubles = append(troubles, Trouble{Kind: kind, Text: text, Next: command + s.Config})
	}
	if left := j.Schedule.BadLines; len(left) > 0 {
		lines := humanize.Count(len(left), "line") + " of " + filepath.Base(j.Schedule.File)
		add("schedule", lines+" cannot run", "sched check")
	}
	if j.Err != nil {
		add("history", fmt.Sprintf("not all can be read: %v", j.Err), "sched history")
	}
	if j.Undelivered.Count > 0 {
		troubles = append(troubles, j.undeliveredTrouble())
	}
	delayed := slices.DeleteFunc(s.Live(), func(r state.Row) bool {
		return !r.DelayedSlot() || r.Wait.For == state.ForPause
	})
	if words := j.storeText(len(delayed)); words != "" {
		add("store", words, "sched doctor")
	}
	for _, f := range j.Findings {
		add("servers", f.Text, "sched servers")
	}
	if wrong := j.Schedule.Machine.Wrong; wrong != "" {
		add("labels", wrong, "sched doctor")
	}
	for _, t := range j.Troubles {
		troubles = append(troubles, j.taskTrouble(t))
	}
	troubles = append(troubles, unservedTasks(context.Background(), s, j.Health)...)
	return append(troubles, unclaimedSlots(context.Background(), s, j.Health)...)
}

// NoSchedule returns the status for a machine without a schedule to run, not even an earlier one.
// Next is the command to type.
func NoSchedule(reason error, next string) Status {
	words := "there is no schedule to run: " + humanize.Line(reason.Error())
	return Status{
		Verdict:  "down",
		ExitCode: IsDown,
		First:    "down: " + words,
		Troubles: []Trouble{{Kind: "schedule", Text: words, Next: next}},
		Warnings: []string{},
		Paused:   []TaskPause{},
		Pools:    []Pool{},
	}
}

func warnings(h *Health) []string {
	tasks := []string{}
	for _, t := range h.Tasks {
		if t.Last.Warned() {
			tasks = append(tasks, t.Name)
		}
	}
	return tasks
}

func figuresOf(h *Health, answer Status) string {
	figures := fmt.Sprintf("%s, %d running", humanize.Count(len(h.Tasks), "task"), h.Running)
	if !h.LastTick.IsZero() {
		figures += ", last tick " + humanize.MinuteZone(h.LastTick, h.Schedule.Location)
	}
	if age := h.At.Sub(h.LastTick); age >= 0 && h.tickTrouble() == "" { // else it is a row
		figures += " (" + humanize.Duration(age) + " ago)"
	}
	switch paused := answer.Paused; { // a pause alone is no trouble
	case len(paused) > 0 && paused[0].Everything:
		figures += ", everything is " + paused[0].Raw.Text(h.At, h.Schedule.Location)
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
			humanize.MinuteNear(planned[0].Raw.Since, h.At, h.Schedule.Location))
	}
	for _, p := range answer.Pools {
		if p.Full() != "" {
			figures += "; " + p.Text()
		}
	}
	if answer.Maintenance != "" {
		figures += "; " + answer.Maintenance
	}
	return figures
}

// A judgement is a health whose troubles are being listed.
type judgement struct {
	*Health
	config string // Source.Config, for what to type
}

// down returns the troubles that make the exit code 2: no ticks, or an invalid schedule.
func (j judgement) down() (troubles []Trouble) {
	if missing := j.tickTrouble(); missing != "" {
		next := "crontab -l"
		switch {
		case j.LastTick.After(j.At):
			next = "date"
		case j.Err != nil:
			next = "sched doctor" + j.config
		}
		troubles = append(troubles, Trouble{Kind: "tick", Text: missing, Next: next})
	}
	if j.Invalid {
		words := filepath.Base(j.Schedule.File) + " is invalid, ticks run " + j.Schedule.InPlace()
		troubles = append(troubles, Trouble{Kind: "schedule", Text: words, Next: "sched check" + j.config})
	}
	return troubles
}

// storeText says that the store does not answer, and how many slots wait for it; "" if neither is
// so.
func (j judgement) storeText(waiting int) string {
	var words []string
	if j.Outage != nil {
		since := humanize.MinuteZone(j.Outage.Since, j.Schedule.Location)
		words = append(words, "down since "+since+": "+humanize.Line(j.Outage.Why))
	}
	if waiting > 0 {
		words = append(words, "kept until it answers: "+humanize.Count(waiting, "slot"))
	}
	return strings.Join(words, "; ")
}

func (j judgement) undeliveredTrouble() Trouble {
	u := j.Undelivered
	wait, whose := " waits", ", of "
	if u.Count > 1 {
		wait, whose = " wait", ", the oldest of "
	}
	since := humanize.MinuteZone(u.Since, j.Schedule.Location)
	words := humanize.Count(u.Count, "notification") + wait + " since " + since + whose + u.Task + ": " + u.Error
	return Trouble{Kind: "notifications", Text: words, Next: "sched history" + j.config + " " + u.Task}
}

func (j judgement) taskTrouble(t TaskTrouble) Trouble {
	trouble := Trouble{Task: t.Task, Kind: string(t.Kind), Text: t.Text, Run: t.Run.ID}
	command, argument := "why", t.Task
	switch t.Kind {
	case LastFailed:
		trouble.Kind = string(t.Run.Outcome)
		trouble.Text = fmt.Sprintf("%s %s ago", t.Run.Outcome, humanize.Age(t.Run.Ended, j.At))
		if t.Run.Reason != "" {
			trouble.Text += " (" + t.Run.Reason + ")"
		}
		if t.Run.Output != "" {
			command, argument = "logs", humanize.ShortRun(t.Run.ID)
		}
		if t.Run.Outcome == outcome.Lost || t.Run.Outcome == outcome.Stopped {
			command, argument = "retry", humanize.ShortRun(t.Run.ID) // the output does not say why it failed
		}
	case HasMissed:
		trouble.Run = ""
		trouble.Text = missedText(t, j.Schedule.Location)
	case RunsLong, IsOverdue:
		if t.Run.ID != "" {
			command, argument = "logs", humanize.ShortRun(t.Run.ID)
		}
	}
	trouble.Next = "sched " + command + j.config + " " + argument
	return trouble
}

func missedText(t TaskTrouble, zone *time.Location) string {
	if t.Slots <= 1 {
		return "missed the slot of " + humanize.SecondZone(t.First, zone)
	}
	return fmt.Sprintf("missed %d slots, %s to %s",
		t.Slots, humanize.SecondZone(t.First, zone), humanize.SecondZone(t.Final, zone))
}

// forgottenAfter is how old a pause without an end may be before it counts as forgotten.
const forgottenAfter = 24 * time.Hour

func (j judgement) forgottenPauses(paused []TaskPause) (troubles []Trouble) {
	for _, p := range paused {
		if p.Raw.Until.IsZero() && j.At.Sub(p.Raw.Since) > forgottenAfter {
			words, next := p.Raw.Text(j.At, j.Schedule.Location), "sched resume"+j.config
			if p.Task == "" {
				words = "everything is " + words
			} else {
				next += " " + p.Task
			}
			troubles = append(troubles, Trouble{Task: p.Task, Kind: "paused", Text: words, Next: next})
		}
	}
	return troubles
}

// summary names the first troubles, for the first line: on a pager it may be all that people see.
func summary(troubles []Trouble) string {
	var parts []string
	for _, t := range troubles {
		parts = append(parts, strings.TrimSpace(t.Task+" "+t.Kind))
	}
	return humanize.Names(parts, 3)
}
