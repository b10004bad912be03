package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// signals returns two contexts. The first signal that tells sched to end ends terminate, and the
// second ends kill. Their causes name the signal ("by SIGTERM"). Until release the signals do
// nothing else. Ignored SIGHUPs stay ignored, as by nohup(1). SIGINT counts even if a shell ignores
// it for &: `sched work` uses it.
func signals() (terminate, kill context.Context, release func()) {
	terminate, cancelTerminate := context.WithCancelCause(context.Background())
	kill, cancelKill := context.WithCancelCause(context.Background())
	arrived := make(chan os.Signal, 2)
	signal.Notify(arrived, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(arrived, syscall.SIGHUP)
	}
	go func() {
		for _, cancel := range []context.CancelCauseFunc{cancelTerminate, cancelKill} {
			s, ok := <-arrived
			if !ok {
				return
			}
			cancel(errors.New("by " + unix.SignalName(s.(syscall.Signal))))
		}
	}()
	return terminate, kill, func() {
		signal.Stop(arrived)
		close(arrived)
	}
}

// surviveReaders lets writes to a closed pipe fail without a SIGPIPE: a dead logger costs a tick
// its report, and no task. Go ends a process only for descriptors 1 and 2 (package os/signal), so
// writes go to copies. The signal is not ignored: commands would inherit that (execve(2)).
func (c *console) surviveReaders() {
	c.results.Writer = copyOf(c.results.Writer)
	c.err = copyOf(c.err)
}

// copyOf duplicates the descriptor of a writer. It returns the same writer if there is no room.
func copyOf(w io.Writer) io.Writer {
	file, ok := w.(*os.File)
	if !ok {
		return w
	}
	copied, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return w
	}
	return os.NewFile(uintptr(copied), file.Name())
}
