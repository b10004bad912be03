package report

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/terminal"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/tick"
)

// A Terminal shows a tick on a terminal. The reporter calls its methods one at a time. For
// nil showRunning, hideIfShown, count and printTallies do nothing.
type Terminal struct {
	app      *app.App
	out      terminal.Stream
	tick     *tick.Tick
	opts     Options
	stopping context.Context // done when a signal has told sched to end
	live     *terminal.LiveLine
	shownRun string // the run that the live line shows

	nameWidth     int // of the longest name of a task that is due; at most MaxNameWidth
	begun         time.Time
	minutePrinted bool
	rows          int // how many were printed
	tallies       []tally
}

// printMinute prints the minute of the tick above the first line.
func (r *Terminal) printMinute() {
	if r.minutePrinted {
		return
	}
	r.minutePrinted = true
	minute, zone := r.tick.Minute, r.tick.Schedule.Location
	text := minute.In(zone).Format("Mon ") + humanize.MinuteZone(minute, zone)
	fmt.Fprintln(r.out, r.out.Paint(terminal.Faint, text))
}

// showRunning shows in the live line that a run goes on, unless --quiet is given.
func (r *Terminal) showRunning(row state.Row) {
	if r == nil || r.opts.Quiet {
		return
	}
	r.printMinute()
	r.shownRun = row.ID
	p := NewProgress(r.out, row, r.tick.Storage.Dir, r.stopping)
	p.name = terminal.Pad(row.Task, r.nameWidth)
	r.live.Show(p.Text)
}

// hideIfShown hides the live line if it shows the run.
func (r *Terminal) hideIfShown(row state.Row) {
	if r != nil && row.ID == r.shownRun {
		r.live.Hide()
	}
}

// printRow prints what became of a slot.
func (r *Terminal) printRow(row state.Row) {
	r.printMinute()
	tone, word, text := r.outcomeOf(row)
	r.rows++
	r.count(word, tone, 1)
	if row.Reason != "" {
		text += "  " + humanize.Line(row.Reason)
	}
	if details := r.details(row); details != "" {
		text += "  " + r.out.Paint(terminal.Faint, details)
	}
	name := terminal.Pad(row.Task, r.nameWidth)
	fmt.Fprintf(r.out, "%s %s  %s\n", r.out.Mark(tone), name, strings.TrimRight(text, " "))
}

// outcomeOf returns what became of a slot: the word for its tally, and a text for its row. A row
// without an outcome went to the background.
func (r *Terminal) outcomeOf(row state.Row) (tone terminal.Tone, word, text string) {
	word = row.OutcomeText()
	if word == "" {
		return terminal.Active, "in the background", r.out.Paint(terminal.Active, inBackground(row))
	}
	tone = console.ToneOf(row.Result)
	text = terminal.Pad(r.out.Paint(tone, word), len("succeeded")) + fmt.Sprintf("  %9s", took(row))
	return tone, word, text
}

// details returns what is special about a run: a second or later attempt, who asked for it, or a
// slot of another minute. With -v it also has the id.
func (r *Terminal) details(row state.Row) string {
	var parts []string
	attempt := row.Attempt.Number
	if row.Outcome == "" && attempt > 0 { // a deferred retry: the next attempt goes to the background
		attempt++
	}
	if attempt > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", attempt))
	}
	if row.Origin != "" {
		parts = append(parts, row.Origin)
	} else if slot := row.Slot; !slot.Equal(r.tick.Minute) {
		parts = append(parts, "slot "+humanize.SlotNear(slot, r.tick.Minute, r.tick.Schedule.Location))
	}
	if r.opts.Verbose {
		parts = append(parts, "run "+row.ID)
	}
	return strings.Join(parts, ", ")
}

// count adds slots to the tally of a word.
func (r *Terminal) count(word string, tone terminal.Tone, slots int) {
	if r == nil {
		return
	}
	i := slices.IndexFunc(r.tallies, func(t tally) bool { return t.word == word })
	if i < 0 {
		i, r.tallies = len(r.tallies), append(r.tallies, tally{word: word, tone: tone})
	}
	r.tallies[i].n += slots
}

// printTallies prints how many slots ended in which way, if it printed more than one row.
func (r *Terminal) printTallies() {
	if r == nil || r.opts.Quiet || r.rows < 2 {
		return
	}
	var parts []string
	for _, t := range r.tallies {
		parts = append(parts, r.out.Paint(t.tone, fmt.Sprintf("%d %s", t.n, t.word)))
	}
	duration := r.out.Paint(terminal.Faint, "in "+humanize.Duration(time.Since(r.begun)))
	fmt.Fprintf(r.out, "%s %s\n", strings.Join(parts, ", "), duration)
}

// NewTerminal returns nil if the report of a tick is not for a terminal. Until restore is
// called, all that the app prints goes around its live line.
func NewTerminal(
	a *app.App, t *tick.Tick, o Options, stopping context.Context,
) (r *Terminal, restore func()) {
	besideOthers := t.Work != nil // several ticks of `sched work` may print at once
	if !terminal.Is(a.Out) || o.JSON || o.Logs || besideOthers {
		return nil, func() {}
	}
	r = &Terminal{app: a, tick: t, opts: o, stopping: stopping, begun: time.Now()}
	for _, slot := range t.Schedule.Due(t.Minute) {
		if o.Only == "" || o.Only == slot.Task.Name {
			r.nameWidth = min(max(r.nameWidth, len(slot.Task.Name)), MaxNameWidth)
		}
	}
	restore = func() {}
	if !o.Quiet {
		r.live, restore = a.LiveLine(0)
	}
	r.out = a.Stdout()
	return r, restore
}

// A tally counts slots that ended in the same way.
type tally struct {
	word string
	tone terminal.Tone
	n    int
}

// inBackground says of a run that it started in the background, or waits there.
func inBackground(row state.Row) string {
	if wait := row.Wait; !wait.Until.IsZero() {
		return "waits in the background, " + humanize.Duration(wait.Until.Sub(wait.Since)) + " at most"
	}
	return "started in the background"
}

// took says how long a run took; "" if it has no end, or an unknown one.
func took(row state.Row) string {
	if row.Started.IsZero() || row.Outcome == outcome.Lost || row.Outcome == "" {
		return ""
	}
	return humanize.Duration(row.Duration())
}
