// Package stop is the command `sched stop`.
package stop

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/past"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/view"
)

func New(a *app.App) *cobra.Command {
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
		Args: flags.Arguments(1, flags.Unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return stop(a, args, reason) },
	}
	flags.AddReason(c, &reason)
	return c
}

func stop(a *app.App, names []string, reason string) error {
	s, err := a.LoadToChange()
	if err != nil {
		return err
	}
	records, err := a.View(s).Records(context.Background())
	if err != nil {
		return err
	}
	records.Close()
	var chosen []state.Row
	code := exit.OK
	for _, name := range names {
		runs, err := liveRuns(a, s, records, name)
		if err != nil {
			code = a.Report(err)
			continue
		}
		for _, row := range runs {
			if !slices.ContainsFunc(chosen, func(other state.Row) bool { return other.ID == row.ID }) {
				chosen = append(chosen, row)
			}
		}
	}
	if !stopAll(a, s, chosen, reason) {
		code = exit.Failure
	}
	if code != exit.OK {
		return &exit.Error{Code: code}
	}
	return nil
}

// liveRuns returns the live runs of a task, or the run with an id: at least one, or an error.
func liveRuns(a *app.App, s *schedule.Schedule, records *view.Records, name string) ([]state.Row, error) {
	live := slices.DeleteFunc(slices.Clone(records.Live), state.Row.Pending)
	isOfOther := func(row state.Row) bool { return row.Task != name }
	if ofTask := slices.DeleteFunc(slices.Clone(live), isOfOther); len(ofTask) > 0 {
		return ofTask, nil
	}
	if row, err := view.OneRow(live, name); err != nil || row.ID != "" {
		return []state.Row{row}, err
	}
	for _, row := range records.Lost {
		id, _ := past.OneRun([]string{row.ID}, name)
		switch isNamed := id != "" || row.Task == name; {
		case isNamed && view.IsUnwatched(row):
			return []state.Row{row}, nil
		case isNamed:
			return nil, exit.Failed("", "run %s of %s: %s", humanize.ShortRun(row.ID), row.Task, view.LostText(row))
		}
	}
	elsewhere := view.LiveElsewhere(context.Background(), a.View(s), name)
	if len(elsewhere) == 0 {
		return nil, a.Actor(s).NotRunningError(context.Background(), name)
	}
	for _, r := range elsewhere[1:] {
		a.Warn("%v", view.NotHere(r, "stop"))
	}
	return nil, view.NotHere(elsewhere[0], "stop")
}

// stopAll stops runs in parallel, and reports whether all were stopped.
func stopAll(a *app.App, s *schedule.Schedule, chosen []state.Row, reason string) (stoppedAll bool) {
	type result struct {
		stopping run.Stopping
		err      error
	}
	results := make([]result, len(chosen))
	caller, because := a.Caller(s), control.Because(app.PersonName(), reason)
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
			a.Warn("%v", err)
			stoppedAll = false
			continue
		}
		sayStopped(a, row, results[i].stopping)
		a.NoteChange(s, "stop", row.ID, reason)
	}
	return stoppedAll
}

func sayStopped(a *app.App, row state.Row, s run.Stopping) {
	ending := view.Describe(s.Record)
	if s.Killed {
		ending += "; it took KILL"
	}
	if !s.Over {
		ending += "; its hooks still run"
	}
	fmt.Fprintf(a.Out, "%s  run %s %s\n", row.Task, humanize.ShortRun(row.ID), ending)
	for _, note := range s.Record.Notes {
		a.Warn("%s: %s", row.Task, note)
	}
}
