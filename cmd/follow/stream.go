// Package follow shows what runs print while they print it, from the files that they print to: a
// slow follower delays no run and loses nothing.
package follow

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"sched/cmd/console"
	"sched/cmd/terminal"
	"sched/schedule/humanize"
	"sched/schedule/state"
)

// A Stream prints what runs print, for --logs. It writes in a goroutine of its own: a reader
// that hangs stops this goroutine and nothing else. For nil its methods do nothing.
type Stream struct {
	follower *follower
	cancel   context.CancelFunc
	ended    chan struct{}
	slow     bool // its reader took longer than WriteWait
}

// AddRun prints what the run prints from now on. It is safe for concurrent use.
func (l *Stream) AddRun(row state.Row) {
	if l != nil {
		l.follower.addRun(row)
	}
}

// CatchUp lets the output of an ended run come before its outcome, unless the reader is slow. Only
// one goroutine may call it.
func (l *Stream) CatchUp(run string) {
	if l != nil && !l.slow {
		l.slow = !l.follower.catchUp(run, console.WriteWait)
	}
}

// Close prints what is left. It gives up when the reader took no line during DrainWait.
func (l *Stream) Close() {
	if l == nil {
		return
	}
	l.cancel()
	for printed := int64(-1); printed != l.follower.printed.Load(); {
		printed = l.follower.printed.Load()
		select {
		case <-l.ended:
			return
		case <-time.After(console.DrainWait):
		}
	}
}

// NewStream prints the runs of a state folder that are added, and the runs that the discovery
// finds, if it is not nil. Names of tasks take width columns. IsForeign tells of which tasks the
// output must not reach a terminal as it is.
func NewStream(
	c *console.Console, stateDir string, width int, asJSON bool, d *discovery, isForeign func(task string) bool,
) *Stream {
	out := c.Unqueued() // text that cannot be written yet stays in the files of its runs
	ctx, cancel := context.WithCancel(context.Background())
	l := &Stream{cancel: cancel, ended: make(chan struct{})}
	l.follower = newFollower(stateDir, d, func(line outputLine) error {
		if asJSON {
			return console.PrintJSONLine(out, line)
		}
		if c.Stdout().IsTerminal() && isForeign(line.Task) {
			line.Text = Shown(line.Text)
		}
		return printPlainLog(out, c.Stdout(), width, line)
	})
	go func() {
		defer close(l.ended)
		l.follower.follow(ctx)
	}()
	return l
}

// printPlainLog prints "task | text", and "task ! text" for the output of hooks.
func printPlainLog(out io.Writer, style terminal.Stream, width int, line outputLine) error {
	mark, tone := "|", terminal.Active
	if line.Stream == ofHooks {
		mark, tone = "!", terminal.Faint
	}
	head := fmt.Sprintf("%-*s %s", width, line.Task, mark)
	_, err := fmt.Fprintf(out, "%s %s\n", style.Paint(tone, head), line.Text)
	return err
}

// Shown is a line of a log without colours. If a program drew over the line, as for a progress
// bar, it has all versions.
func Shown(line string) string {
	return humanize.Line(strings.TrimRight(humanize.Plain(line), "\n"))
}
