package process

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sched/schedule"
	"sched/schedule/statedir"
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
	if closeErr := file.Close(); err == nil {
		err = closeErr
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
	open := func() (*os.File, error) { return statedir.OpenAsRoot(to.File, flags, 0o644) }
	if os.Geteuid() != 0 {
		if err := os.MkdirAll(filepath.Dir(to.File), 0o755); err != nil {
			return nil, err
		}
		open = func() (*os.File, error) { return os.OpenFile(to.File, flags, 0o644) }
	}
	for {
		file, err := open()
		if !errors.Is(err, syscall.ENXIO) || !isNamedPipe(to.File) {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func isNamedPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}
