package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/notify"
	"sched/schedule/process"

	"sched/schedule/statedir"
)

// outputCopied is the mark in the run's file that says that the copy was made. It is one of those that hooks leave.
const outputCopied = "output"

// copyOutput makes the copy for the key output of the task, if it has that
// (docs/decisions.md#the-copy-of-the-output-is-made-at-the-end).
func (r *Run) copyOutput(captured string) error {
	to := r.task.Output
	if to.File == "" {
		return nil
	}
	from, err := statedir.OpenPlain(captured, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	defer from.Close()
	ctx, cancel := r.copyContext()
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
func (r *Run) copyContext() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := time.AfterFunc(copyTimeout, func() { cancel(fmt.Errorf("no end after %s", copyTimeout)) })
	ending := r.Terminate
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

// tailOf returns the end of what a run printed, and whether there was more before it. It is a few bytes
// longer than notify.OutputLimit, so that a message can begin with a whole character or line.
func tailOf(path string) (tail []byte, cut bool) {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	const most = notify.OutputLimit + 4
	info, err := file.Stat()
	if err != nil {
		return nil, false
	}
	from := max(0, info.Size()-most)
	tail, _ = io.ReadAll(io.NewSectionReader(file, from, most))
	return tail, from > 0
}

// hasOutput reports whether anything was printed into the output of the run, which is at the path.
func (r *Run) hasOutput(path string) bool {
	if r.output != nil {
		if info, err := r.output.Stat(); err == nil && info.Size() == 0 {
			return false
		}
	}
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

// createOutput makes the file that captures a run, or takes the one that recycleOutput left.
func createOutput(path string) (*os.File, error) {
	if unix.Rename(spareOutput(path), path) == nil { // os.Rename looks up the new name first
		file, err := statedir.OpenPlain(path, os.O_WRONLY|os.O_APPEND|unix.O_NOFOLLOW)
		if err == nil && isUnused(file) {
			return file, nil
		}
		if err == nil {
			file.Close()
		}
		os.Remove(path)
	}
	return openOutput(path)
}

// isUnused locks the file of an output, and reports whether nothing is in it, and no process that a command left behind may still print
// to it: one that has it open has the lock, too.
func isUnused(output *os.File) bool {
	if unix.Flock(int(output.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false
	}
	info, err := output.Stat()
	return err == nil && info.Size() == 0
}

// openOutput opens the file that captures a run. It is locked as long as a process of the run has it as its stdout or
// stderr (outputInUse).
func openOutput(path string) (*os.File, error) {
	file, err := appendTo(path)
	if err != nil {
		return nil, err
	}
	unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return file, nil
}

// recycleOutput leaves the file of a run that printed nothing for the next run of its task
// (docs/decisions.md#files-are-used-again).
func recycleOutput(path string) {
	if unix.Rename(path, spareOutput(path)) != nil {
		os.Remove(path)
	}
}

func spareOutput(path string) string { return filepath.Join(filepath.Dir(path), ".spare") }

// appendTo opens a file that only its owner can read, and makes its folder where that is missing.
func appendTo(path string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	file, err := statedir.OpenPlain(path, flags)
	if errors.Is(err, os.ErrNotExist) {
		if err = statedir.MakeDir(filepath.Dir(path)); err == nil {
			file, err = statedir.OpenPlain(path, flags)
		}
	}
	return file, err
}

// outputInUse reports whether a process of the run still has its output open.
func outputInUse(path string) bool {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}
