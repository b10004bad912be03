package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sched/cmd/terminal"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/tick"
	"sched/schedule/view"
)

// A terminalReport shows a tick on a terminal. Its methods are called one at a time.
type terminalReport struct {
	app  *app
	out  terminal.Stream
	tick *tick.Tick
	opts runOptions
	stop context.Context // done when a signal has told sched to end
	live *terminal.LiveLine
	run  string // of the live line

	width  int // of the longest name
	begun  time.Time
	headed bool // the minute was printed
	counts []tally
	lines  int
}

// A tally counts lines with the same words.
type tally struct {
	word string
	tone terminal.Tone
	n    int
}

// newTerminalReport returns nil if the report of a tick is not for a terminal. Until restore is
// called, all that the app prints goes around its live line.
func newTerminalReport(a *app, tick *tick.Tick, o runOptions, stop context.Context) (r *terminalReport, restore func()) {
	if !terminal.Is(a.out) || o.json || o.logs || tick.Work != nil { // several ticks of `sched work` may print at once
		return nil, func() {}
	}
	r = &terminalReport{app: a, tick: tick, opts: o, stop: stop, begun: time.Now()}
	for _, slot := range tick.Schedule.Due(tick.Minute) {
		if o.only == "" || o.only == slot.Task.Name {
			r.width = min(max(r.width, len(slot.Task.Name)), longestName)
		}
	}
	restore = func() {}
	if !o.quiet {
		r.live, restore = a.liveLine(0)
	}
	r.out = a.stdout()
	return r, restore
}

func (r *terminalReport) head() {
	if !r.headed {
		r.headed = true
		minute := r.tick.Minute.In(r.tick.Schedule.Location).Format("Mon ") + humanize.MinuteZone(r.tick.Minute, r.tick.Schedule.Location)
		fmt.Fprintln(r.out, r.out.Paint(terminal.Faint, minute))
	}
}

func (r *terminalReport) running(row state.Row) {
	if r.opts.quiet {
		return
	}
	r.head()
	r.run = row.ID
	p := &progress{
		out: r.out, name: terminal.Pad(row.Task, r.width), stop: r.stop,
		state: r.tick.Storage.Dir, task: row.Task, begun: time.Now(),
	}
	r.live.Show(p.text)
}

func (r *terminalReport) ended(row state.Row) {
	if row.ID == r.run {
		r.live.Hide()
	}
}

// line prints what became of a slot; without an outcome the run went to the background.
func (r *terminalReport) line(row state.Row) {
	r.head()
	tone, word := toneOf(row.Result), row.OutcomeText()
	words := terminal.Pad(r.out.Paint(tone, word), len("succeeded")) + fmt.Sprintf("  %9s", took(row))
	if word == "" {
		tone, word, words = terminal.Active, "in the background", r.out.Paint(terminal.Active, inBackground(row))
	}
	r.lines++
	r.count(word, tone, 1)
	if row.Reason != "" {
		words += "  " + humanize.Line(row.Reason)
	}
	if more := r.more(row); more != "" {
		words += "  " + r.out.Paint(terminal.Faint, more)
	}
	fmt.Fprintf(r.out, "%s %s  %s\n", r.out.Mark(tone), terminal.Pad(row.Task, r.width), strings.TrimRight(words, " "))
}

// took is how long a run took; "" for an unknown end, or none yet.
func took(row state.Row) string {
	if row.Started.IsZero() || row.Outcome == outcome.Lost || row.Outcome == "" {
		return ""
	}
	return humanize.Duration(row.Duration())
}

func (r *terminalReport) more(row state.Row) string {
	var all []string
	if row.Outcome == "" && row.Attempt.Number > 0 { // a deferred retry: the next attempt
		row.Attempt.Number++
	}
	if row.Attempt.Number > 1 {
		all = append(all, fmt.Sprintf("attempt %d", row.Attempt.Number))
	}
	if row.Origin != "" {
		all = append(all, row.Origin)
	} else if slot := row.Slot; !slot.Equal(r.tick.Minute) {
		all = append(all, "slot "+humanize.SlotNear(slot, r.tick.Minute, r.tick.Schedule.Location))
	}
	if r.opts.verbose {
		all = append(all, "run "+row.ID)
	}
	return strings.Join(all, ", ")
}

func (r *terminalReport) count(word string, tone terminal.Tone, slots int) {
	i := slices.IndexFunc(r.counts, func(c tally) bool { return c.word == word })
	if i < 0 {
		i, r.counts = len(r.counts), append(r.counts, tally{word: word, tone: tone})
	}
	r.counts[i].n += slots
}

func (r *terminalReport) end() {
	if r.opts.quiet || r.lines < 2 {
		return
	}
	var parts []string
	for _, c := range r.counts {
		parts = append(parts, r.out.Paint(c.tone, fmt.Sprintf("%d %s", c.n, c.word)))
	}
	fmt.Fprintf(r.out, "%s %s\n", strings.Join(parts, ", "), r.out.Paint(terminal.Faint, "in "+humanize.Duration(time.Since(r.begun))))
}

// A progress writes the live line of a run: how long it has been running, and how long that usually
// takes.
type progress struct {
	out  terminal.Stream // what can be shown there
	name string          // padded to the width of the names above it
	stop context.Context // done when a signal has told sched to end

	state string // the state folder
	task  string
	begun time.Time
	read  sync.Once
	usual atomic.Int64 // a time.Duration; 0 until it was read, and for a task without a success
}

// text starts to read the history at its first call: runs that end before need no database.
func (p *progress) text(width int) string {
	p.read.Do(func() {
		go func() { p.usual.Store(int64(view.Usual(p.state, []string{p.task})[p.task])) }()
	})
	line := p.out.Mark(terminal.Active) + " " + p.name + "  "
	if p.stop.Err() != nil {
		return line + elapsed(time.Since(p.begun)) + ", stopping; once more kills it"
	}
	words, part := pace(time.Since(p.begun), time.Duration(p.usual.Load()))
	line += words
	if room := width - terminal.Width(line) - terminal.Gap; part >= 0 && room >= terminal.BarWidth {
		line += terminal.Blanks(terminal.Gap) + p.out.Bar(part)
	}
	return line
}

// pace compares a run with usual; part is from 0 to 1, or -1 if usual is 0 (unknown).
func pace(now, usual time.Duration) (words string, part float64) {
	switch {
	case usual <= 0:
		return elapsed(now), -1
	case now > usual:
		return elapsed(now) + ", usually " + humanize.Duration(usual), 1
	}
	return elapsed(now) + " of usually " + humanize.Duration(usual), float64(now) / float64(usual)
}

// elapsed writes a duration that goes on, in steps that can be read: not below a tenth of a second.
func elapsed(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return humanize.Duration(d)
}
