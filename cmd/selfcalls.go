package cmd

import (
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"sched/schedule/process"
	"sched/schedule/run"
)

// become replaces this process by a command for another user, if sched called itself for that.
func become(args []string) (code int, ok bool) {
	if len(args) != 1 || args[0] != process.BecomeArgument {
		return 0, false
	}
	return process.Become(os.Environ())
}

// background runs the calls that background runs make; for other arguments it returns false:
//
//   - `start ID`
//   - `finish --tick ID`, in the place of a supervisor that was killed
//   - `finish MUTEX CODE --run RUN`, with all after finish once for each run that it finishes
//
// It comes before cobra and YAML, because these calls need neither, and many of the last may start
// in one second.
func (a *app) background(args []string) (code int, ok bool) {
	storage, ours, err := run.StorageFrom(os.Getenv)
	a.remote = storage.Store
	if !ours || len(args) < 2 {
		return 0, false
	}
	runs := run.Caller{Storage: storage, Environ: os.Environ()}
	defer storage.DB.Close()
	switch {
	case err != nil:
	case len(args) == 2 && args[0] == "start":
		terminate, kill, release := signals()
		defer release()
		err = run.SuperviseAll(terminate, kill, runs, self(), args[1])
	case len(args) == 3 && args[0] == "finish" && args[1] == "--tick":
		terminate, kill, release := signals()
		defer release()
		err = run.SuperviseOn(terminate, kill, runs, self(), args[2])
	case len(args) >= 5 && args[0] == "finish" && args[3] == "--run":
		// The kernel sends SIGHUP to a stopped process when its parent ends (setpgid(2)), and a
		// finish must go on. To ignore the signal would not do: hooks inherit that. No other signal
		// is caught, because the output of this process is a file and no pipe.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		var ids []string
		for call := range slices.Chunk(args[1:], 4) {
			ids = append(ids, call[len(call)-1])
		}
		err = runs.FinishInherited(ids)
	default:
		return 0, false
	}
	if err != nil {
		return a.exitCode(failed("", "%w", err)), true
	}
	return exitOK, true
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

func newStartCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "start TICK",
		Short:  "Supervise the background runs of a tick (used by sched run)",
		Hidden: true,
		Args:   arguments(1, 1),
		RunE: func(*cobra.Command, []string) error {
			return &exit{exitUsage, errors.New("start is what sched run calls for background tasks"), "run a task by hand with `sched test TASK`"}
		},
	}
}
