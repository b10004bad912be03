package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"sched/cmd/terminal"
)

// A logStream prints what runs print, for --logs. It writes in a goroutine of its own: a reader
// that hangs stops it alone.
type logStream struct {
	follower *follower
	end      context.CancelFunc
	ended    chan struct{}
	slow     bool // its reader took longer than printHurry
}

type logLine struct {
	Task   string `json:"task"`
	Run    string `json:"run"`
	Stream string `json:"stream"` // output or hooks
	Time   string `json:"time"`   // when it was read
	Text   string `json:"text"`
}

// newLogStream prints the runs that are added, and the runs that discover finds, if it is not nil.
func (c *console) newLogStream(width int, asJSON bool, discover func(*follower)) *logStream {
	out := c.out
	if aside, ok := out.(printerStream); ok {
		out = aside.to // text that cannot be written yet stays in the files of its runs
	}
	ctx, end := context.WithCancel(context.Background())
	l := &logStream{end: end, ended: make(chan struct{})}
	l.follower = newFollower(func(line outputLine) error {
		if asJSON {
			return printJSONLog(out, line)
		}
		return printPlainLog(out, c.stdout(), width, line)
	})
	go func() {
		defer close(l.ended)
		l.follower.Follow(ctx, discover)
	}()
	return l
}

// printPlainLog prints "task | text", and "task ! text" for the output of hooks.
func printPlainLog(out io.Writer, shown terminal.Stream, width int, line outputLine) error {
	mark, tone := "|", terminal.Active
	if line.Hooks {
		mark, tone = "!", terminal.Faint
	}
	_, err := fmt.Fprintf(out, "%s %s\n", shown.Paint(tone, fmt.Sprintf("%-*s %s", width, line.Task, mark)), line.Text)
	return err
}

func printJSONLog(out io.Writer, line outputLine) error {
	row := logLine{line.Task, line.Run, "output", line.Time.UTC().Format(time.RFC3339Nano), line.Text}
	if line.Hooks {
		row.Stream = "hooks"
	}
	return printJSONLine(out, row)
}

func printJSONLine(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// catchUp lets the output of an ended run come before its outcome, unless the reader is slow.
func (l *logStream) catchUp(run string) {
	if l != nil && !l.slow {
		l.slow = !l.follower.CatchUp(run, printHurry)
	}
}

// close prints what is left, as long as the reader takes any of it.
func (l *logStream) close() {
	if l == nil {
		return
	}
	l.end()
	for printed := -1; printed != l.follower.Printed(); {
		printed = l.follower.Printed()
		select {
		case <-l.ended:
			return
		case <-time.After(printPatience):
		}
	}
}
