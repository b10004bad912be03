package report

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sched/cmd/terminal"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
)

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
