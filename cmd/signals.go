package cmd

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
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
	return terminate, kill, func() { signal.Stop(arrived); close(arrived) }
}

// surviveReaders has writes to a pipe that nobody reads any more fail, where SIGPIPE would end this process: a logger that
// died costs a tick its report, and no task. The signal is caught and not ignored, since what is ignored stays so in the
// commands (execve(2)), which are to have the default.
func surviveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

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
