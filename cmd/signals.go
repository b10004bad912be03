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

// signals returns two contexts: terminate is done at the first signal that tells sched to end, kill at the second one,
// for those who cannot wait. Their causes name the signal ("by SIGTERM"). Until release is called signals do nothing else.
// A SIGHUP that the caller ignores, as nohup(1) does, stays ignored. SIGINT counts also where a shell ignores it for what it
// starts with &: `sched work` sends it to its ticks.
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
			cancel(errors.New("by " + signalName(s)))
		}
	}()
	return terminate, kill, func() {
		signal.Stop(arrived)
		close(arrived)
	}
}

// surviveReaders has writes to a pipe that nobody reads any more fail, where SIGPIPE would end this process: a logger that
// died costs a tick its report, and no task. Go ends a process only for what it writes to the descriptors 1 and 2 (package os/signal),
// so these writes go to copies of them. The signal is not ignored, since what is ignored stays so in the
// commands (execve(2)), which are to have the default.
func (c *console) surviveReaders() {
	c.results.Writer = copyOf(c.results.Writer)
	c.err = copyOf(c.err)
}

// copyOf returns the writer with another descriptor for the same file. Where there is no room for one it is the same.
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

// signalName is the name of a signal in signal(7), where it is one that ends sched.
func signalName(s os.Signal) string {
	switch s {
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGHUP:
		return "SIGHUP"
	case syscall.SIGQUIT:
		return "SIGQUIT"
	}
	return s.String()
}
