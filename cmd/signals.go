package cmd

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// signals returns two contexts: the first is done at the first signal that asks sched to end, the
// second at the second one, for those who cannot wait.
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
