package cmd

import (
	"errors"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"sched/schedule/runner"
)

// background runs the two commands of a background run, `start RUN` and
// `finish MUTEX CODE --run RUN`, as their witness calls them. They come before everything that
// they do not need: no cobra, no YAML. A thousand of them may start in one second.
func (a *app) background(args []string) (code int, ok bool) {
	state, ours, err := runner.StateFrom(os.Getenv)
	a.remote = state.Remote
	switch {
	case !ours:
		return 0, false
	case err != nil:
		return a.exitCode(failed("", "%w", err)), true
	case len(args) == 2 && args[0] == "start":
		return a.start(state, args[1]), true
	case len(args) == 5 && args[0] == "finish" && args[3] == "--run":
		seen, err := strconv.Atoi(args[2])
		if err != nil {
			return 0, false
		}
		if _, err := runner.Finish(state, args[4], &seen, os.Environ()); err != nil {
			return a.exitCode(failed("", "%w", err)), true
		}
		return exitOK, true
	}
	return 0, false
}

func (a *app) start(state runner.State, run string) int {
	stop, hurry, release := signals()
	defer release()
	code, err := runner.Start(stop, hurry, state, run, os.Environ())
	if err != nil {
		return a.exitCode(failed("", "%w", err))
	}
	return code
}

func (a *app) startCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "start RUN",
		Short:  "Supervise a background run (used by sched run)",
		Hidden: true,
		Args:   arguments(1, 1),
		RunE: func(*cobra.Command, []string) error {
			return &exit{exitUsage, errors.New("start is what sched run calls for background tasks"), "run a task by hand with `sched test TASK`"}
		},
	}
}
