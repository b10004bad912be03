package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/runner"
	"sched/schedule/text"
)

// A board is what `sched run` shows on a terminal: the minute, a line for each task as it ends, a live line
// for the one that runs, and what all came to.
type board struct {
	screen
	app  *app
	tick *runner.Tick
	opts runOptions
	stop context.Context
	live *live
	run  string // of the live line

	width  int // of the longest name
	begun  time.Time
	headed bool
	counts []tally
	lines  int
}

// A tally is how many lines said the same.
type tally struct {
	word string
	tone tone
	n    int
}

// newBoard returns the board of a tick, or nil where nobody would see it. Until restore is called all that
// is printed goes around its live line.
func newBoard(a *app, tick *runner.Tick, o runOptions, stop context.Context) (b *board, restore func()) {
	s := look(a.out)
	if !s.there() || o.json || tick.Link != nil { // several ticks of `sched work` may print at once
		return nil, func() {}
	}
	b = &board{screen: s, app: a, tick: tick, opts: o, stop: stop, begun: time.Now()}
	for _, slot := range tick.Schedule.Due(tick.Minute) {
		if o.only == "" || o.only == slot.Task.Name {
			b.width = min(max(b.width, len(slot.Task.Name)), 40)
		}
	}
	restore = func() {}
	if !o.quiet {
		b.live, restore = a.newLive(0)
	}
	return b, restore
}

// head prints the minute, once.
func (b *board) head() {
	if !b.headed {
		b.headed = true
		minute := b.tick.Minute.In(b.tick.Schedule.Location).Format("Mon ") + text.MinuteZone(b.tick.Minute, b.tick.Schedule.Location)
		fmt.Fprintln(b.app.out, b.paint(faint, minute))
	}
}

// running shows the live line of a run.
func (b *board) running(record outcome.Record) {
	if b.opts.quiet {
		return
	}
	b.head()
	b.run = record.Run
	p := &progress{
		screen: b.screen, name: pad(record.Task, b.width), stop: b.stop,
		state: b.tick.State.Dir, task: record.Task, begun: time.Now(),
	}
	b.live.show(p.text)
}

// ended hides the live line of a run.
func (b *board) ended(record outcome.Record) {
	if record.Run == b.run {
		b.live.hide()
	}
}

// line prints what became of a slot. A record without an outcome went to the background.
func (b *board) line(record outcome.Record) {
	b.head()
	tone, word := toneOf(record.Outcome), string(record.Outcome)
	words := pad(b.paint(tone, word), len("succeeded")) + fmt.Sprintf("  %9s", took(record))
	if word == "" {
		tone, word, words = busy, "in the background", b.paint(busy, "started in the background")
	}
	b.count(word, tone)
	if record.Reason != "" {
		words += "  " + text.Line(record.Reason)
	}
	if more := b.more(record); more != "" {
		words += "  " + b.paint(faint, more)
	}
	fmt.Fprintf(b.app.out, "%s %s  %s\n", b.mark(tone), pad(record.Task, b.width), strings.TrimRight(words, " "))
}

// took is how long a run took, where somebody saw that.
func took(r outcome.Record) string {
	if r.Started.IsZero() || r.Outcome == outcome.Lost || r.Outcome == "" {
		return ""
	}
	return text.Duration(r.Duration())
}

// more is what is unusual about a run.
func (b *board) more(record outcome.Record) string {
	var all []string
	if record.Outcome == "" && record.Attempts > 0 { // it waited for a tick after these
		record.Attempts++
	}
	if record.Attempts > 1 {
		all = append(all, fmt.Sprintf("attempt %d", record.Attempts))
	}
	if record.Origin != "" {
		all = append(all, record.Origin)
	} else if slot := record.Slot; !slot.Equal(b.tick.Minute) {
		all = append(all, "slot "+text.SlotNear(slot, b.tick.Minute, b.tick.Schedule.Location))
	}
	if b.opts.verbose {
		all = append(all, "run "+record.Run)
	}
	return strings.Join(all, ", ")
}

func (b *board) count(word string, tone tone) {
	b.lines++
	i := slices.IndexFunc(b.counts, func(c tally) bool { return c.word == word })
	if i < 0 {
		i, b.counts = len(b.counts), append(b.counts, tally{word: word, tone: tone})
	}
	b.counts[i].n++
}

// end prints what the lines add up to, where there was more than one.
func (b *board) end() {
	if b.opts.quiet || b.lines < 2 {
		return
	}
	var parts []string
	for _, c := range b.counts {
		parts = append(parts, b.paint(c.tone, fmt.Sprintf("%d %s", c.n, c.word)))
	}
	fmt.Fprintf(b.app.out, "%s %s\n", strings.Join(parts, ", "), b.paint(faint, "in "+text.Duration(time.Since(b.begun))))
}
