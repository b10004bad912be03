package cmd

import (
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/pause"
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
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	records, err := a.view(s).Records(ctx)
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
		if err := control.NotStopped(row.WithoutOutcome(), results[i].stopping, results[i].err); err != nil {
			a.problem("%v", err)
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
		a.problem("%s: %s", row.Task, note)
	}
}

type interruptCommand struct{ *app }

func newInterruptCommand(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "interrupt",
		Short: "End the ticks that wait for later seconds of their minute (after a deploy)",
		Long: `interrupt ends the ticks that stay for tasks which are due every few seconds: on this machine, or
with a store on all servers of the schedule. Within a second they start no further slot; these are
recorded as skipped. Runs go on to their ends, and a task that was due at the full minute still
takes its turn. The tick of the next minute has the new schedule and the new sched.`,
		Example: `  sched interrupt --reason "deploying 4.2"`,
		Args:    arguments(0, 0),
		RunE:    func(*cobra.Command, []string) error { return interruptCommand{a}.interrupt(reason) },
	}
	addReasonFlag(c, &reason)
	return c
}

func (a interruptCommand) interrupt(reason string) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	err = a.controls(s).Interrupt(pause.Interrupt{
		By:     personName(),
		Server: serverName(s.Server),
		At:     a.now().UTC().Round(0),
		Reason: control.Reason(reason),
	})
	if err != nil {
		return failed("", "cannot interrupt: %w", err)
	}
	a.noteChange(s, "interrupt", pause.Everything, reason)
	where := "on this machine"
	if a.store(s) != nil {
		where = "on all servers"
	}
	fmt.Fprintf(a.out, "ticks that run %s start no further slot of their minute\n", where)
	return nil
}
