package view

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/calendar"
	"sched/schedule/cluster"
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
	Verdict     string             `json:"verdict"` // ok, trouble or down
	ExitCode    int                `json:"exit_code"`
	LastTick    *humanize.JSONTime `json:"last_tick"` // null when no tick ever came, or nobody knows
	Valid       bool               `json:"schedule_valid"`
	Tasks       int                `json:"tasks"`
	Running     int                `json:"running"`
	Maintenance string             `json:"maintenance"` // in words; it is no trouble. "" without maintenance
	Troubles    []Trouble          `json:"troubles"`
	Warnings    []string           `json:"warnings"` // the tasks whose last run succeeded with a warning, which is no trouble
	Paused      []TaskPause        `json:"paused"`
	Planned     []TaskPause        `json:"planned,omitempty"` // pauses that begin later
	Pools       []Pool             `json:"pools"`             // of this machine
	Budgets     []SpentBudget      `json:"budgets,omitempty"` // that are spent now, which is no trouble

	Proposals int `json:"proposals,omitempty"` // that wait for a person, which is no trouble

	First string `json:"-"` // the status in one line, with the verdict before a colon
}

// StatusOf judges a health. The troubles that make the exit code 2 come first. It sets h.Err if the
// reason is known why something cannot be read (Explain).
func StatusOf(s Source, h *Health) Status {
	if h.Outage == nil {
		if s.Controls.Store != nil { // a pause on another server is not known here before the next tick
			h.Pauses = s.Pauses()
		}
		h.Findings = findingsNow(context.Background(), s, h.Findings)
		h.addElsewhere(lastElsewhere(context.Background(), s, h.Schedule.Tasks...))
	}
	if err := h.Explain(); err != nil && h.Err == nil {
		h.Err = err
	}
	paused, planned := PausesNow(h.Schedule, h.Pauses, func(task string) bool {
		return slices.ContainsFunc(h.Tasks, func(t TaskHealth) bool { return t.Name == task })
	}, h.At)
	down := downTroubles(s, h)
	troubles := slices.Concat(down, lesserTroubles(s, h), forgottenPauses(s, h, paused))
	answer := Status{
		LastTick:    humanize.UTCOrNil(h.LastTick),
		Valid:       !h.Invalid,
		Tasks:       len(h.Tasks),
		Running:     h.Running,
		Maintenance: s.Maintenance(),
		Troubles:    listOf(troubles),
		Warnings:    warnings(h),
		Paused:      paused,
		Planned:     planned,
		Pools:       poolsOf(h),
		Budgets:     spentBudgets(s, h),
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

// findingsNow returns the findings of the last tick. It drops the finding that servers are silent
// where something ran, if that is so no more: they have said something since, or the store knows
// that their runs are over.
func findingsNow(ctx context.Context, s Source, findings []cluster.Finding) []cluster.Finding {
	isSilence := func(f cluster.Finding) bool { return f.Kind == cluster.KindSilent }
	if s.Controls.Store == nil || !slices.ContainsFunc(findings, isSilence) {
		return findings
	}
	servers, err := Servers(ctx, s)
	leftRuns := func(s cluster.Server) bool { return s.Silent() && len(s.Running)+s.More > 0 }
	if err != nil || slices.ContainsFunc(servers, leftRuns) {
		return findings
	}
	return slices.DeleteFunc(slices.Clone(findings), isSilence)
}

// lesserTroubles returns the troubles that make the exit code 1: with the machine and the store,
// and then with tasks.
func lesserTroubles(s Source, h *Health) (troubles []Trouble) {
	add := func(kind, text, command string) {
		troubles = append(troubles, Trouble{Kind: kind, Text: text, Next: command + s.Config})
	}
	if h.Invalid && h.Schedule.Lacking {
		troubles = append(troubles, invalidTrouble(s, h))
	}
	if left := h.Schedule.BadLines; len(left) > 0 {
		lines := humanize.Count(len(left), "line") + " of " + filepath.Base(h.Schedule.File)
		add("schedule", lines+" cannot run", "sched check")
	}
	if h.Unrecordable != "" {
		add("history", h.Unrecordable, "sched doctor")
	}
	if h.Err != nil {
		add("history", fmt.Sprintf("not all can be read: %v", h.Err), "sched history")
		troubles[len(troubles)-1].Err = h.Err
	}
	if u := h.Undelivered; u.Count > 0 {
		wait := " waits since "
		if u.Count > 1 {
			wait = " wait since "
		}
		troubles = append(troubles, undeliveredTrouble(s, h, u, wait))
	}
	if u := h.GivenUp; u.Count > 0 {
		gaveUp := " given up at "
		if u.Count > 1 {
			gaveUp = " given up since "
		}
		troubles = append(troubles, undeliveredTrouble(s, h, u, gaveUp))
	}
	delayed := slices.DeleteFunc(s.Live(), func(r state.Row) bool {
		return !r.DelayedSlot() || r.Wait.For == state.ForPause
	})
	if words := storeText(h, len(delayed)); words != "" {
		add("store", words, "sched doctor")
	}
	for _, f := range h.Findings {
		add("servers", f.Text, "sched list --servers")
	}
	if wrong := h.Schedule.Machine.Wrong; wrong != "" {
		add("labels", wrong, "sched doctor")
	}
	unclaimed := unclaimedSlots(context.Background(), s, h)
	for _, t := range h.Troubles {
		shown := shownTrouble(s, h, t)
		isOfTask := func(u Trouble) bool { return u.Task == t.Task }
		if i := slices.IndexFunc(unclaimed, isOfTask); i >= 0 && t.Kind == HasMissed { // the newest slot is told once
			shown.Text += ", and no other server ran " + map[bool]string{true: "the last", false: "it"}[t.Slots > 1]
			unclaimed = slices.Delete(unclaimed, i, i+1)
		}
		troubles = append(troubles, shown)
	}
	troubles = append(troubles, unservedTasks(context.Background(), s, h)...)
	return append(troubles, unclaimed...)
}

// NoSchedule returns the status for a machine without a schedule to run, not even an earlier one.
// The command to type is next.
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
	if age := h.At.Sub(h.LastTick); !h.LastTick.IsZero() && age >= 0 && h.tickTrouble() == "" { // else it is a row
		figures += " (" + humanize.Duration(age) + " ago)"
	}
	if first := FirstTick(h.Schedule.StateDir, h.LastTick, h.At); !first.IsZero() {
		figures += ", sched work runs, and its first tick comes at " +
			humanize.SlotOfDayZone(first, h.Schedule.Location)
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
	for _, c := range h.Schedule.Calendars {
		if text := c.EndText(calendar.DateOf(h.At.In(h.Schedule.Location))); text != "" {
			figures += "; " + text
		}
	}
	switch spent := answer.Budgets; {
	case len(spent) == 1:
		figures += "; " + spent[0].Task + ": " + spent[0].Text
	case len(spent) > 1:
		figures += fmt.Sprintf("; the budgets of %d tasks are spent", len(spent))
	}
	if planned := answer.Planned; len(planned) > 0 {
		figures += fmt.Sprintf(", %s planned, the next from %s", humanize.Count(len(planned), "pause"),
			humanize.MinuteNearZone(planned[0].Raw.Since, h.At, h.Schedule.Location))
	}
	for _, p := range answer.Pools {
		if p.Full(h.Schedule.Location) != "" {
			figures += "; " + p.Text()
		}
	}
	if answer.Maintenance != "" {
		figures += "; " + answer.Maintenance
	}
	return figures
}

// downTroubles returns the troubles that make the exit code 2: no ticks, or an invalid schedule.
func downTroubles(s Source, h *Health) (troubles []Trouble) {
	if missing := h.tickTrouble(); missing != "" {
		next := s.nextForTicks(h.LastTick, h.At)
		if h.Err != nil {
			next = "sched doctor" + s.Config
		}
		troubles = append(troubles, Trouble{Kind: "tick", Text: missing, Next: next})
	}
	if h.Invalid && !h.Schedule.Lacking {
		troubles = append(troubles, invalidTrouble(s, h))
	}
	return troubles
}

func invalidTrouble(s Source, h *Health) Trouble {
	words := filepath.Base(h.Schedule.File) + " is invalid, ticks run " + h.Schedule.InPlace()
	return Trouble{Kind: "schedule", Text: words, Next: "sched check" + s.Config}
}

// storeText says that the store does not answer, and how many slots wait for it; "" if neither is
// so.
func storeText(h *Health, waiting int) string {
	var words []string
	if h.Outage != nil {
		why := humanize.Line(h.Outage.Why)
		if !h.Outage.Since.IsZero() {
			why = "down since " + humanize.MinuteZone(h.Outage.Since, h.Schedule.Location) + ": " + why
		}
		words = append(words, why)
	}
	if waiting > 0 {
		words = append(words, "kept until it answers: "+humanize.Count(waiting, "slot"))
	}
	return strings.Join(words, "; ")
}

// undeliveredTrouble says of notifications since when they wait or were given up.
func undeliveredTrouble(s Source, h *Health, u state.Undelivered, became string) Trouble {
	whose := ", of "
	if u.Count > 1 {
		whose = ", the oldest of "
	}
	since := humanize.MinuteZone(u.Since, h.Schedule.Location)
	words := humanize.Count(u.Count, "notification") + became + since + whose + u.Task + ": " + u.Error
	return Trouble{Kind: "notifications", Text: words, Next: "sched history" + s.Config + " " + u.Task, Of: u.Task}
}

func shownTrouble(s Source, h *Health, t TaskTrouble) Trouble {
	trouble := Trouble{Task: t.Task, Kind: string(t.Kind), Text: t.Text, Run: t.Run.ID}
	command, argument := "why", t.Task
	switch t.Kind {
	case LastFailed:
		trouble.Kind = string(t.Run.Outcome)
		trouble.Text = fmt.Sprintf("%s %s ago", t.Run.Outcome, humanize.Age(t.Run.Ended, h.At))
		isElsewhere := t.Run.Server != "" && t.Run.Server != s.Server
		if isElsewhere {
			trouble.Text += " on " + humanize.Line(t.Run.Server)
		}
		if t.Run.Reason != "" {
			trouble.Text += " (" + t.Run.Reason + ")"
		}
		trouble.Text += failedHooks(t.Run.Notes)
		if isElsewhere {
			break
		}
		if t.Run.Output != "" {
			command, argument = "logs", humanize.ShortRun(t.Run.ID)
		}
		if t.Run.Outcome == outcome.Lost || t.Run.Outcome == outcome.Stopped {
			command, argument = "retry", humanize.ShortRun(t.Run.ID) // the output does not say why it failed
		}
	case HasMissed:
		trouble.Run = ""
		trouble.Text = missedText(t, h.Schedule.Location)
	case RunsLong, IsOverdue:
		if t.Run.ID != "" {
			command, argument = "logs", humanize.ShortRun(t.Run.ID)
		}
	}
	trouble.Next = "sched " + command + s.Config + " " + argument
	return trouble
}

// failedHooks ends a text about a run that failed with the first of its hooks that failed, too. A
// message that was not delivered is a trouble of its own.
func failedHooks(notes []string) string {
	var failed []string
	for _, note := range notes {
		name, why, _ := strings.Cut(note, ": ")
		if strings.HasPrefix(name, outcome.HookNote) {
			failed = append(failed, ", and its "+name+" failed, too: "+why)
		}
	}
	switch len(failed) {
	case 0:
		return ""
	case 1:
		return failed[0]
	}
	return failed[0] + "; so did " + humanize.Count(len(failed)-1, "other hook")
}

func missedText(t TaskTrouble, zone *time.Location) string { return slotsTextOf("missed", t, zone) }

// slotsTextOf says in which slots the task did what the verb says. Several slots of one time are
// slots of several tasks.
func slotsTextOf(verb string, t TaskTrouble, zone *time.Location) string {
	first := verb + " the slot of " + humanize.SecondZone(t.First, zone)
	switch {
	case t.Slots <= 1:
		return first
	case t.First.Equal(t.Final):
		return first + " each"
	}
	return fmt.Sprintf("%s %d slots, %s to %s",
		verb, t.Slots, humanize.SecondZone(t.First, zone), humanize.SecondZone(t.Final, zone))
}

// forgottenAfter is how old a pause without an end may be before it counts as forgotten.
const forgottenAfter = 24 * time.Hour

func forgottenPauses(s Source, h *Health, paused []TaskPause) (troubles []Trouble) {
	for _, p := range paused {
		if p.Raw.Until.IsZero() && h.At.Sub(p.Raw.Since) > forgottenAfter {
			words, next := p.Raw.Text(h.At, h.Schedule.Location), "sched resume"+s.Config
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
	return humanize.Names(slices.Compact(parts), 3)
}
