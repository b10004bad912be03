package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/view"
)

type stopCommand struct{ *app }

func newStopCommand(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "stop TASK|RUN...",
		Short: "Stop what runs: TERM, then KILL",
		Long: `stop ends the command of a live run with all processes of its group: they get TERM and, after the
kill_after of the task, KILL. The outcome is "stopped", no further attempt is made, the hooks for a
failure fire, and the mutex is free. A tick in which the task runs goes on with the next one. A run
that waits for its next attempt ends at once. stop returns when the run has ended.

A run on another server of the store is stopped there: stop says on which.`,
		Example: `  sched stop nightly-report
  sched stop 5c2f9a1b3d4e`,
		Args: arguments(1, unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return stopCommand{a}.stop(args, reason) },
	}
	addReasonFlag(c, &reason)
	return c
}

func (a stopCommand) stop(names []string, reason string) error {
	s, err := a.loadToChange()
	if err != nil {
		return err
	}
	records, err := a.view(s).Records(noDeadline)
	if err != nil {
		return err
	}
	records.Close()
	var chosen []state.Row
	code := exitOK
	for _, name := range names {
		runs, err := a.liveRuns(s, records, name)
		if err != nil {
			code = a.reportError(err)
			continue
		}
		for _, row := range runs {
			if !slices.ContainsFunc(chosen, func(other state.Row) bool { return other.ID == row.ID }) {
				chosen = append(chosen, row)
			}
		}
	}
	if !a.stopAll(s, chosen, reason) {
		code = exitFailed
	}
	if code != exitOK {
		return &exit{code: code}
	}
	return nil
}

// liveRuns returns the live runs of a task, or the run with an id: at least one, or an error.
func (a stopCommand) liveRuns(s *schedule.Schedule, records *view.Records, name string) ([]state.Row, error) {
	live := slices.DeleteFunc(slices.Clone(records.Live), state.Row.Pending)
	isOfOther := func(row state.Row) bool { return row.Task != name }
	if ofTask := slices.DeleteFunc(slices.Clone(live), isOfOther); len(ofTask) > 0 {
		return ofTask, nil
	}
	if row, err := view.OneRow(live, name); err != nil || row.ID != "" {
		return []state.Row{row}, err
	}
	for _, row := range records.Lost {
		if id, _ := state.OneRun([]string{row.ID}, name); id != "" || row.Task == name {
			return nil, failed("", "run %s of %s: %w", humanize.ShortRun(row.ID), row.Task, run.ErrVanished)
		}
	}
	elsewhere := view.LiveElsewhere(noDeadline, a.view(s), name)
	if len(elsewhere) == 0 {
		return nil, a.actor(s).NotRunningError(noDeadline, name)
	}
	for _, r := range elsewhere[1:] {
		a.warn("%v", view.NotHere(r, "stop"))
	}
	return nil, view.NotHere(elsewhere[0], "stop")
}

// stopAll stops runs in parallel, and reports whether all were stopped.
func (a stopCommand) stopAll(s *schedule.Schedule, chosen []state.Row, reason string) (stoppedAll bool) {
	type result struct {
		stopping run.Stopping
		err      error
	}
	results := make([]result, len(chosen))
	caller, because := a.caller(s), control.Because(personName(), reason)
	var stops sync.WaitGroup
	for i, row := range chosen {
		stops.Go(func() {
			results[i].stopping, results[i].err = caller.Stop(row.ID, because)
		})
	}
	stops.Wait()
	stoppedAll = true
	for i, row := range chosen {
		if err := control.NotStoppedError(row.WithoutOutcome(), results[i].stopping, results[i].err); err != nil {
			a.warn("%v", err)
			stoppedAll = false
			continue
		}
		a.sayStopped(row, results[i].stopping)
		a.noteChange(s, "stop", row.ID, reason)
	}
	return stoppedAll
}

func (a stopCommand) sayStopped(row state.Row, s run.Stopping) {
	ending := view.Describe(s.Record)
	if s.Killed {
		ending += "; it took KILL"
	}
	if !s.Over {
		ending += "; its hooks still run"
	}
	fmt.Fprintf(a.out, "%s  run %s %s\n", row.Task, humanize.ShortRun(row.ID), ending)
	for _, note := range s.Record.Notes {
		a.warn("%s: %s", row.Task, note)
	}
}

type finishCommand struct{ *app }

func newFinishCommand(a *app) *cobra.Command {
	var runID string
	c := &cobra.Command{
		Use:   "finish MUTEX [CODE]",
		Short: "End a background run: fire its after-hooks and release its mutex",
		Long: `A background run with hooks calls finish when its command has ended. By hand it ends the newest run
of the mutex that no process watches any more. If no run of the mutex was ever recorded, it fires
the after-hooks of the task that has it. A run that is finished stays as it is.

CODE is the exit code of the command, if nobody wrote it down.`,
		Example: `  sched finish nightly-report 0`,
		Args:    arguments(1, 2),
		RunE:    func(_ *cobra.Command, args []string) error { return finishCommand{a}.finish(args, runID) },
	}
	c.Flags().StringVar(&runID, "run", "", "the id of the run")
	return c
}

// finish ends a run, and prints how it ended. The arguments are the mutex and maybe the exit code.
func (a finishCommand) finish(args []string, runID string) error {
	code, err := parseExitCode(args[1:])
	if err != nil {
		return err
	}
	s, err := a.loadToChange()
	if err != nil {
		return err
	}
	row, err := a.endRun(s, args[0], runID, code)
	if err != nil {
		return err
	}
	for _, note := range row.Notes {
		a.warn("%s: %s", row.Task, note)
	}
	fmt.Fprintf(a.out, "%s  run %s %s\n", row.Task, row.ID, view.Describe(row))
	return nil
}

// parseExitCode reads the argument CODE. It returns nil if the argument is not given.
func parseExitCode(args []string) (*int, error) {
	if len(args) == 0 {
		return nil, nil
	}
	code, err := strconv.Atoi(args[0])
	if err != nil || code < 0 || code > 255 {
		return nil, usage("write the exit code of the command: 0 is success",
			"%q is not an exit code from 0 to 255", args[0])
	}
	return &code, nil
}

// endRun ends the run with the id, or else the newest run of the mutex that no process watches.
func (a finishCommand) endRun(s *schedule.Schedule, mutex, id string, code *int) (state.Row, error) {
	var row state.Row
	var err error
	if id != "" {
		row, err = a.caller(s).FinishByHand(id, code)
	} else {
		row, err = a.caller(s).FinishNewest(mutex, code)
	}
	alive, isAlive := errors.AsType[*run.AliveError](err)
	switch {
	case id != "" && errors.Is(err, state.ErrNotFound):
		// The run has ended already, or it ran on another server: show its record.
		return view.FindRecord(noDeadline, a.view(s), id)
	case errors.Is(err, run.ErrNothing):
		return a.finishUnrecorded(s, mutex, code)
	case isAlive:
		hint := "it finishes by itself when its command ends"
		return row, failed(hint, "run %s of %s is still running", alive.Run, mutex)
	}
	return row, err
}

// finishUnrecorded fires the after-hooks of a task that never had a recorded run.
func (a finishCommand) finishUnrecorded(s *schedule.Schedule, mutex string, code *int) (state.Row, error) {
	var mutexes []string
	for _, t := range s.Tasks {
		if t.Mutex == mutex {
			return a.tick(s, a.now()).FinishUnrecorded(t, code)
		}
		mutexes = append(mutexes, t.Mutex)
	}
	return state.Row{}, failed(view.DidYouMean(mutex, mutexes), "no task has the mutex %q", mutex)
}
