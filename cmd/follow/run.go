package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"sched/schedule/mask"
	"sched/schedule/output"
	"sched/schedule/redact"
	"sched/schedule/state"
	"sched/schedule/view"
)

// Run copies to out the bytes that a run prints which waits or lives, from the last lines on (lines
// 0: from the beginning), until the run ends. It returns the row as it ended; the row has no
// outcome if no process supervised the run to its end. When ctx is done it follows no more, and
// returns why.
func Run(ctx context.Context, source view.Source, out io.Writer, begun state.Row, lines int) (state.Row, error) {
	dir := source.Schedule.StateDir
	tail := NewReader(view.OutputOf(dir, begun), redact.Live(dir, begun.ID, source.Environ))
	defer tail.Close()
	if err := tail.Open(lines); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, redact.ErrEarly) {
		return begun, err
	}
	for buffer := make([]byte, 64<<10); ; {
		// Poll first: then all that was printed before the end is read.
		row, wait, err := view.Poll(ctx, source, begun)
		if err != nil {
			return begun, err
		}
		n, err := tail.CopyTo(out, buffer)
		switch {
		case err != nil:
			return begun, err
		case wait == 0 && n == 0:
			_, err := out.Write(tail.Rest())
			return row, err
		case n > 0:
			continue
		}
		select {
		case <-ctx.Done():
			return begun, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// Hooks prints what the hooks of a run that has ended printed, each line with "hook: " in front.
// The path names the output of the run (view.OutputOf).
func Hooks(out io.Writer, path string) {
	masked := func() (*mask.Set, error) { return nil, nil }
	file := newFollowedFile(output.HooksPath(path), "", "", ofHooks, masked)
	print := func(line outputLine) { fmt.Fprintf(out, "hook: %s\n", line.Text) }
	file.printWritten(print)
	file.end(print)
}
