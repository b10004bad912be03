package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/view"
)

type finishCommand struct{ *app }

func newFinishCommand(a *app) *cobra.Command {
	var run string
	c := &cobra.Command{
		Use:   "finish MUTEX [CODE]",
		Short: "End a background run: fire its after-hooks and release its mutex",
		Long: `finish is what every background run calls when its command has ended. By hand it ends the newest
run of the mutex that no process watches any more. If no run of the mutex was ever recorded, it
fires the after-hooks of the task that has it. A run that is finished stays as it is.

CODE is the exit code of the command, if nobody wrote it down.`,
		Example: `  sched finish nightly-report 0`,
		Args:    arguments(1, 2),
		RunE:    func(_ *cobra.Command, args []string) error { return finishCommand{a}.finish(args, run) },
	}
	c.Flags().StringVar(&run, "run", "", "the id of the run")
	return c
}

func (a finishCommand) finish(args []string, run string) error {
	var code *int
	if len(args) == 2 {
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 0 || n > 255 {
			return usage("write the exit code of the command: 0 is success", "%q is not an exit code from 0 to 255", args[1])
		}
		code = &n
	}
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	row, err := a.finishRun(s, args[0], run, code)
	if err != nil {
		return err
	}
	for _, note := range row.Notes {
		a.problem("%s: %s", row.Task, note)
	}
	fmt.Fprintf(a.out, "%s  run %s %s\n", row.Task, row.ID, view.Describe(row))
	return nil
}

// finishRun ends the run with the id, or else the newest of the mutex that no process watches.
func (a finishCommand) finishRun(s *schedule.Schedule, mutex, id string, code *int) (state.Row, error) {
	var row state.Row
	var err error
	if id != "" {
		row, err = a.caller(s).FinishByHand(id, code)
		if errors.Is(err, state.ErrNotFound) {
			return view.FindRun(ctx, a.view(s), id)
		}
	} else {
		row, err = a.caller(s).FinishNewest(mutex, code)
	}
	if errors.Is(err, run.ErrNothing) {
		return a.finishUnrecorded(s, mutex, code)
	}
	if alive, is := errors.AsType[*run.AliveError](err); is {
		return row, failed("it finishes by itself when its command ends", "run %s of %s is still running", alive.Run, mutex)
	}
	return row, err
}

// finishUnrecorded fires the after-hooks of a task that never had a recorded run.
func (a finishCommand) finishUnrecorded(s *schedule.Schedule, mutex string, code *int) (state.Row, error) {
	var mutexes []string
	for _, t := range s.Tasks {
		if t.Mutex == mutex {
			tick := a.tick(s, a.now(), runOptions{})
			return tick.FinishUnrecorded(t, code)
		}
		mutexes = append(mutexes, t.Mutex)
	}
	return state.Row{}, failed(view.DidYouMean(mutex, mutexes), "no task has the mutex %q", mutex)
}

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

func newStartCommand() *cobra.Command {
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
