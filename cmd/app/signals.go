package app

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// endingSignals tell sched to end. CatchSignals is for commands that run tasks or wait, and
// WorkSignals for `sched work`. They differ in the signals that may stay ignored.
var endingSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

// CatchSignals returns two contexts. The first signal that tells sched to end ends terminate, and
// the second ends kill. Their causes name the signal ("by SIGTERM"). Until release the signals do
// nothing else. An ignored SIGHUP stays ignored, as by nohup(1). SIGINT counts even if a shell
// ignores it for &, because `sched work` sends it to its ticks.
func CatchSignals() (terminate, kill context.Context, release func()) {
	terminate, cancelTerminate := context.WithCancelCause(context.Background())
	kill, cancelKill := context.WithCancelCause(context.Background())
	arrived := make(chan os.Signal, 2)
	for _, s := range endingSignals {
		if s != syscall.SIGHUP || !signal.Ignored(s) {
			signal.Notify(arrived, s)
		}
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

// WorkSignals receives the signals that end `sched work`. Every ignored signal stays ignored, also
// SIGINT: no process of sched sends it to `sched work`.
func WorkSignals() <-chan os.Signal {
	arrived := make(chan os.Signal, 4)
	for _, s := range endingSignals {
		if !signal.Ignored(s) {
			signal.Notify(arrived, s)
		}
	}
	return arrived
}
