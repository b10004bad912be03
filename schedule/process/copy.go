package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sched/schedule"
)

// CopyTo makes the copy for the key output, with the rights of this process. It returns when ctx is
// done, with the cause of ctx, even if the file is a named pipe without a reader, or is on a file
// system that does not answer.
func CopyTo(ctx context.Context, to schedule.Output, from io.Reader) error {
	done := make(chan error, 1) // what hangs in the kernel is left behind
	go func() { done <- copyTo(ctx, to, from) }()
	select {
	case err := <-done:
		if errors.Is(err, os.ErrDeadlineExceeded) { // of the write, which the end of ctx brings about
			return context.Cause(ctx)
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func copyTo(ctx context.Context, to schedule.Output, from io.Reader) error {
	file, err := openCopy(ctx, to)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { file.SetWriteDeadline(time.Now()) })() // of a pipe; files have none
	_, err = io.Copy(file, from)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}

// openCopy opens the file of a copy, and makes the folders that are missing. It waits for the
// reader of a named pipe until ctx is done.
func openCopy(ctx context.Context, to schedule.Output) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC | syscall.O_NONBLOCK
	if to.Append {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND | syscall.O_NONBLOCK
	}
	open := func() (*os.File, error) { return openAsRoot(to.File, flags, 0o644) }
	if os.Geteuid() != 0 {
		if err := os.MkdirAll(filepath.Dir(to.File), 0o755); err != nil {
			return nil, err
		}
		open = func() (*os.File, error) { return os.OpenFile(to.File, flags, 0o644) }
	}
	for {
		file, err := open()
		if info, serr := os.Stat(to.File); !errors.Is(err, syscall.ENXIO) || serr != nil || info.Mode()&fs.ModeNamedPipe == 0 {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// CopyOutput makes the copy as the user of the task, because root would follow the links of anybody
// who can write in that folder
// (docs/internals/decisions.md#the-copy-of-the-output-is-made-as-the-user). It returns when ctx is
// done, with the cause of ctx.
func (spec Spec) CopyOutput(ctx context.Context, to schedule.Output, captured *os.File) error {
	p, err := spec.startAs(setup{Copy: to}, captured)
	if err != nil {
		return err
	}
	select {
	case <-p.Done:
	case <-ctx.Done():
		syscall.Kill(-p.PID, syscall.SIGKILL)
		return context.Cause(ctx)
	}
	switch {
	case p.Refusal != "":
		return errors.New(p.Refusal)
	case p.ExitCode() != 0:
		return fmt.Errorf("exit code %d", p.ExitCode())
	}
	return nil
}
