package cmd

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sched/cmd/terminal"
	"sched/schedule/history"
	"sched/schedule/text"
)

// A progress is what the live line says of a run: how long it takes, of how long it usually does.
type progress struct {
	out  terminal.Stream // what can be shown there
	name string          // as wide as the names around it
	stop context.Context // done when somebody asked sched to end

	state string // where the history is
	task  string
	begun time.Time
	ask   sync.Once
	usual atomic.Int64 // a time.Duration; 0 until it is known, and for a task without a success
}

// text is the line. The first time it asks the history, beside everything else: what ends before there is
// a line never opens it.
func (p *progress) text(width int) string {
	p.ask.Do(func() { go p.readUsual() })
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

// pace says how long something has taken, of how long it usually does, and which part of that is over; -1
// where that is not known.
func pace(now, usual time.Duration) (words string, part float64) {
	switch {
	case usual <= 0:
		return elapsed(now), -1
	case now > usual:
		return elapsed(now) + ", usually " + text.Duration(usual), 1
	}
	return elapsed(now) + " of usually " + text.Duration(usual), float64(now) / float64(usual)
}

// elapsed is a duration that goes on, and changes no faster than the eye reads.
func elapsed(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return text.Duration(d)
}

// recall reads how long the task usually takes. Without that the line says less.
func (p *progress) readUsual() {
	db, err := history.OpenRead(p.state)
	if err != nil {
		return
	}
	defer db.Close()
	if usual, err := db.Usual(ctx, []string{p.task}); err == nil {
		p.usual.Store(int64(usual[p.task].Duration))
	}
}
