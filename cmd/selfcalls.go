package cmd

import (
	"errors"
	"os"
	"strconv"

	"sched/schedule/process"
	"sched/schedule/run"
)

// become replaces this process by a command that runs as another user, where sched itself called it for that; else it
// returns false.
func become(args []string) (code int, ok bool) {
	if len(args) != 2 || args[0] != process.BecomeArgument {
		return 0, false
	}
	return process.Become(args[1], os.Environ())
}

// background runs the two commands of a background run, `start RUN` and `finish MUTEX CODE --run RUN`, where its witness
// called them; else it returns false. It comes before cobra and YAML, which they do not need: a thousand of
// them may start in one second.
func (a *app) background(args []string) (code int, ok bool) {
	storage, ours, err := run.StorageFrom(os.Getenv)
	a.remote = storage.Store
	runs := run.Caller{Storage: storage, Environ: os.Environ()}
	switch {
	case !ours:
		return 0, false
	}
	surviveReaders()
	switch {
	case err != nil:
		return a.exitCode(failed("", "%w", err)), true
	case len(args) == 2 && args[0] == "start":
		return a.start(runs, args[1]), true
	case len(args) == 5 && args[0] == "finish" && args[3] == "--run":
		seen, err := strconv.Atoi(args[2])
		if err != nil {
			return 0, false
		}
		if err := runs.FinishInherited(args[4], seen); err != nil && !errors.Is(err, os.ErrNotExist) {
			return a.exitCode(failed("", "%w", err)), true
		}
		return exitOK, true
	}
	return 0, false
}

// start supervises a background run, and returns the exit code for its witness.
func (a *app) start(runs run.Caller, id string) int {
	terminate, kill, release := signals()
	defer release()
	code, err := runs.SuperviseInherited(terminate, kill, id)
	if err != nil {
		return a.exitCode(failed("", "%w", err))
	}
	return code
}
