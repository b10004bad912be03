package report

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/terminal"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/tick"
	"sched/schedule/view"
)

// A terminalReport shows a tick on a terminal. The reporter calls its methods one at a time. For
// nil showRunning, hideIfShown, count and printTallies do nothing.
type terminalReport struct {
	app      *app.App
	out      terminal.Stream
	tick     *tick.Tick
	opts     Options
	stopping context.Context // done when a signal has told sched to end
	live     *terminal.LiveLine
	shownRun string // the run that the live line shows

	nameWidth     int // of the longest name of a task that is due; at most maxNameWidth
	begun         time.Time
	minutePrinted bool
	rows          int // how many were printed
	tallies       []tally
}

// A tally counts slots that ended in the same way.
type tally struct {
	word string
	tone terminal.Tone
	n    int
}

// newTerminalReport returns nil if the report of a tick is not for a terminal. For the rest see
// Attach.
func newTerminalReport(
	a *app.App, t *tick.Tick, o Options, stopping context.Context,
) (r *terminalReport, restore func()) {
	besideOthers := t.Work != nil // several ticks of `sched work` may print at once
	if !terminal.Is(a.Out) || o.JSON || o.Logs || besideOthers {
		return nil, func() {}
	}
	r = &terminalReport{app: a, tick: t, opts: o, stopping: stopping, begun: time.Now()}
	for _, slot := range t.Schedule.Due(t.Minute) {
		if o.Only == "" || o.Only == slot.Task.Name {
			r.nameWidth = min(max(r.nameWidth, len(slot.Task.Name)), maxNameWidth)
		}
	}
	restore = func() {}
	if !o.Quiet {
		r.live, restore = a.LiveLine(0)
	}
	r.out = a.Stdout()
	return r, restore
}

func (r *terminalReport) printMinute() {
	if r.minutePrinted {
		return
	}
	r.minutePrinted = true
	minute, zone := r.tick.Minute, r.tick.Schedule.Location
	text := minute.In(zone).Format("Mon ") + humanize.MinuteZone(minute, zone)
	fmt.Fprintln(r.out, r.out.Paint(terminal.Faint, text))
}

// showRunning shows in the live line that a run goes on, unless --quiet is given.
func (r *terminalReport) showRunning(row state.Row) {
	if r == nil || r.opts.Quiet {
		return
	}
	r.printMinute()
	r.shownRun = row.ID
	p := NewProgress(r.out, row, r.tick.Storage.Dir, r.stopping)
	p.name = terminal.Pad(row.Task, r.nameWidth)
	r.live.Show(p.Text)
}

func (r *terminalReport) hideIfShown(row state.Row) {
	if r != nil && row.ID == r.shownRun {
		r.live.Hide()
	}
}

func (r *terminalReport) printRow(row state.Row) {
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
func (r *terminalReport) outcomeOf(row state.Row) (tone terminal.Tone, word, text string) {
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
func (r *terminalReport) details(row state.Row) string {
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

func (r *terminalReport) count(word string, tone terminal.Tone, slots int) {
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
func (r *terminalReport) printTallies() {
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

// A Progress writes the live line of a run: how long it has been running, and how long that usually
// takes.
type Progress struct {
	out      terminal.Stream // what can be shown there
	name     string          // of the task; it may be padded
	stopping context.Context // done when a signal has told sched to end

	stateDir  string
	task      string
	begun     time.Time
	readUsual sync.Once
	usual     atomic.Int64 // a time.Duration; 0 until it was read, and for a task without a success
}

// NewProgress returns the progress of a run that begins now.
func NewProgress(out terminal.Stream, row state.Row, stateDir string, stopping context.Context) *Progress {
	return &Progress{
		out:      out,
		name:     row.Task,
		stopping: stopping,
		stateDir: stateDir,
		task:     row.Task,
		begun:    time.Now(),
	}
}

// Text writes the line. Its first call starts to read the history: runs that end before need no
// database.
func (p *Progress) Text(width int) string {
	p.readUsual.Do(func() {
		go func() {
			usual := view.Usual(p.stateDir, []string{p.task})[p.task]
			p.usual.Store(int64(usual))
		}()
	})
	line := p.out.Mark(terminal.Active) + " " + p.name + "  "
	elapsed := time.Since(p.begun)
	if p.stopping.Err() != nil {
		return line + elapsedText(elapsed) + ", stopping; once more kills it"
	}
	text, part := pace(elapsed, time.Duration(p.usual.Load()))
	line += text
	if room := width - terminal.Width(line) - terminal.Gap; part >= 0 && room >= terminal.BarWidth {
		line += terminal.Blanks(terminal.Gap) + p.out.Bar(part)
	}
	return line
}

// pace compares how long a run has been running with how long it usually takes; usual is 0 if that
// is not known. part is from 0 to 1, or -1 if usual is 0.
func pace(elapsed, usual time.Duration) (text string, part float64) {
	switch {
	case usual <= 0:
		return elapsedText(elapsed), -1
	case elapsed > usual:
		return elapsedText(elapsed) + ", usually " + humanize.Duration(usual), 1
	}
	return elapsedText(elapsed) + " of usually " + humanize.Duration(usual), float64(elapsed) / float64(usual)
}

// elapsedText writes a duration that goes on, in steps that can be read: not below a tenth of a
// second.
func elapsedText(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return humanize.Duration(d)
}
