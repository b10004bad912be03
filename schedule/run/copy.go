package run

import (
	"context"
	"fmt"
	"os"
	"time"

	"sched/schedule"
	"sched/schedule/process"
	"sched/schedule/statedir"
)

// outputCopied is the name under which the copy is noted among the hooks of the run.
const outputCopied = "output"

// copyOutput makes the copy for the key output of the task
// (docs/internals/decisions.md#the-copy-of-the-output-is-made-at-the-end).
func (f *finisher) copyOutput() error {
	r, to := f.run, f.run.task.Output
	from, err := statedir.OpenPlain(f.result.Output, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	defer from.Close()
	ctx, cancel := f.copyContext()
	defer cancel()
	if r.task.As == (schedule.As{}) {
		err = process.CopyTo(ctx, to, from)
	} else {
		err = process.Spec{Task: &r.task, Caller: r.Environ}.CopyOutput(ctx, to, from)
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

const (
	// copyTimeout is how long the copy may take: it may go to a named pipe without a reader.
	copyTimeout = 30 * time.Second
	// stoppedCopyTimeout is how long it may take once this process was asked to end.
	stoppedCopyTimeout = 2 * time.Second
)

// copyContext bounds the copy.
func (f *finisher) copyContext() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := time.AfterFunc(copyTimeout, func() { cancel(fmt.Errorf("no end after %s", copyTimeout)) })
	ending := f.run.Terminate
	if ending == nil {
		ending = context.Background()
	}
	release := context.AfterFunc(ending, func() {
		time.AfterFunc(stoppedCopyTimeout, func() { cancel(fmt.Errorf("stopped (%w)", context.Cause(ending))) })
	})
	return ctx, func() {
		timer.Stop()
		release()
		cancel(nil)
	}
}
