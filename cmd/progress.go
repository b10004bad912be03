package cmd

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sched/cmd/terminal"
	"sched/schedule/history"
	"sched/schedule/humanize"
)

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
	p.read.Do(func() { go p.readUsual() })
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
