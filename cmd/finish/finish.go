// Package finish has the commands `sched start` and `sched finish` as people call them. For the
// calls that sched makes of itself see superviseOrFinish in package cmd.
package finish

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/view"
)

func New(a *app.App) *cobra.Command {
	var runID string
	c := &cobra.Command{
		Use:   "finish MUTEX [CODE]",
		Short: "End a background run: fire its after-hooks and release its mutex",
		Long: `A background run with hooks calls finish when its command has ended. By hand it ends the newest run
of the mutex that no process watches any more. If no run of the mutex was ever recorded, it fires
the after-hooks of the task that has it. A run that is finished stays as it is.

CODE is the exit code of the command, if nobody wrote it down.`,
		Example: `  sched finish nightly-report 0`,
		Args:    flags.Arguments(1, 2),
		RunE:    func(_ *cobra.Command, args []string) error { return finish(a, args, runID) },
	}
	c.Flags().StringVar(&runID, "run", "", "the id of the run")
	return c
}

// finish ends a run, and prints how it ended. The arguments are the mutex and maybe the exit code.
func finish(a *app.App, args []string, runID string) error {
	code, err := parseExitCode(args[1:])
	if err != nil {
		return err
	}
	s, err := a.LoadToChange()
	if err != nil {
		return err
	}
	row, err := endRun(a, s, args[0], runID, code)
	if err != nil {
		return err
	}
	for _, note := range row.Notes {
		a.Warn("%s: %s", row.Task, note)
	}
	fmt.Fprintf(a.Out, "%s  run %s %s\n", row.Task, row.ID, view.Describe(row))
	return nil
}

// parseExitCode reads the argument CODE. It returns nil if the argument is not given.
func parseExitCode(args []string) (*int, error) {
	if len(args) == 0 {
		return nil, nil
	}
	code, err := strconv.Atoi(args[0])
	if err != nil || code < 0 || code > 255 {
		return nil, exit.Usage("write the exit code of the command: 0 is success",
			"%q is not an exit code from 0 to 255", args[0])
	}
	return &code, nil
}

// endRun ends the run with the id, or else the newest run of the mutex that no process watches.
func endRun(a *app.App, s *schedule.Schedule, mutex, id string, code *int) (state.Row, error) {
	var row state.Row
	var err error
	if id != "" {
		row, err = a.Caller(s).FinishByHand(id, code)
	} else {
		row, err = a.Caller(s).FinishNewest(mutex, code)
	}
	alive, isAlive := errors.AsType[*run.AliveError](err)
	switch {
	case id != "" && errors.Is(err, state.ErrNotFound):
		// The run has ended already, or it ran on another server: show its record.
		return view.FindRecord(context.Background(), a.View(s), id)
	case errors.Is(err, run.ErrNothing):
		return finishUnrecorded(a, s, mutex, code)
	case isAlive:
		hint := "it finishes by itself when its command ends"
		return row, exit.Failed(hint, "run %s of %s is still running", alive.Run, mutex)
	}
	return row, err
}

// finishUnrecorded fires the after-hooks of a task that never had a recorded run.
func finishUnrecorded(a *app.App, s *schedule.Schedule, mutex string, code *int) (state.Row, error) {
	var mutexes []string
	for _, t := range s.Tasks {
		if t.Mutex == mutex {
			return a.Tick(s, a.Now()).FinishUnrecorded(t, code)
		}
		mutexes = append(mutexes, t.Mutex)
	}
	return state.Row{}, exit.Failed(view.DidYouMean(mutex, mutexes), "no task has the mutex %q", mutex)
}

// NewStart is for people who call start by hand: superviseOrFinish runs the other calls.
func NewStart() *cobra.Command {
	return &cobra.Command{
		Use:    "start TICK",
		Short:  "Supervise the background runs of a tick (used by sched run)",
		Hidden: true,
		Args:   flags.Arguments(1, 1),
		RunE: func(*cobra.Command, []string) error {
			return exit.Usage("run a task by hand with `sched test TASK`",
				"start is what sched run calls for background tasks")
		},
	}
}
