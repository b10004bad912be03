package cmd

import (
	"fmt"
	"slices"
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
	reasonFlag(c, &reason)
	return c
}

func (a stopCommand) stop(names []string, reason string) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	all, err := a.view(s).Records(ctx)
	if err != nil {
		return err
	}
	all.Close()
	var chosen []state.Row
	code := exitOK
	for _, name := range names {
		found, err := a.liveRuns(s, all.Live, all.Lost, name)
		if err != nil {
			code = a.exitCode(err)
			continue
		}
		for _, row := range found {
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

// liveRuns returns the live runs of a task or the run with an id: at least one, or an error.
func (a stopCommand) liveRuns(s *schedule.Schedule, live, lost []state.Row, name string) ([]state.Row, error) {
	live = slices.DeleteFunc(slices.Clone(live), state.Row.Pending)
	another := func(row state.Row) bool { return row.Task != name }
	if found := slices.DeleteFunc(slices.Clone(live), another); len(found) > 0 {
		return found, nil
	}
	if row, err := view.OneRow(live, name); err != nil || row.ID != "" {
		return []state.Row{row}, err
	}
	for _, row := range lost {
		if one, _ := state.OneRun([]string{row.ID}, name); one != "" || row.Task == name {
			return nil, failed("", "run %s of %s: %w", humanize.ShortRun(row.ID), row.Task, run.ErrVanished)
		}
	}
	elsewhere := view.LiveElsewhere(ctx, a.view(s), name)
	if len(elsewhere) == 0 {
		return nil, a.actor(s).NotRunning(ctx, name)
	}
	for _, r := range elsewhere[1:] {
		a.problem("%v", view.NotHere(r, "stop"))
	}
	return nil, view.NotHere(elsewhere[0], "stop")
}

// stopAll stops runs in parallel, and reports whether all were stopped.
func (a stopCommand) stopAll(s *schedule.Schedule, chosen []state.Row, reason string) bool {
	type result struct {
		run.Stopping
		err error
	}
	results := make([]result, len(chosen))
	var all sync.WaitGroup
	because, runs := control.Because(callerName(), reason), a.caller(s)
	for i, row := range chosen {
		all.Go(func() {
			results[i].Stopping, results[i].err = runs.Stop(row.ID, because)
		})
	}
	all.Wait()
	stopped := true
	for i, row := range chosen {
		if !a.sayStopped(row.WithoutOutcome(), results[i].Stopping, results[i].err) {
			stopped = false
			continue
		}
		a.noteChange(s, "stop", row.ID, reason)
	}
	return stopped
}

func (a stopCommand) sayStopped(r state.Row, s run.Stopping, err error) bool {
	if err := control.Cannot(r, s, err); err != nil {
		a.problem("%v", err)
		return false
	}
	words := view.Describe(s.Record)
	if s.Killed {
		words += "; it took KILL"
	}
	if !s.Over {
		words += "; its hooks still run"
	}
	fmt.Fprintf(a.out, "%s  run %s %s\n", r.Task, humanize.ShortRun(r.ID), words)
	for _, note := range s.Record.Notes {
		a.problem("%s: %s", r.Task, note)
	}
	return true
}
