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
func signals() (terminate, kill context.Context, release func()) {
	terminate, cancelTerminate := context.WithCancelCause(context.Background())
	kill, cancelKill := context.WithCancelCause(context.Background())
	arrived := make(chan os.Signal, 2)
	signal.Notify(arrived, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
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

// signalName is the name of a signal in signal(7), where it is one that ends sched.
func signalName(s os.Signal) string {
	switch s {
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return s.String()
}
