package cmd

import (
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/history"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/runfile"
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

What runs on another server of the store is stopped there: stop says on which.`,
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
	live, lost, _, err := runfile.Survey(s.StateDir)
	if err != nil {
		a.problem("%v", err)
	}
	var chosen []runfile.State
	code := exitOK
	for _, name := range names {
		found, err := a.liveRuns(s, live, lost, name)
		if err != nil {
			code = a.exitCode(err)
		}
		chosen = append(chosen, found...)
	}
	if !a.stopAll(s, once(chosen), reason) {
		code = exitFailed
	}
	if code != exitOK {
		return &exit{code: code}
	}
	return nil
}

func once(all []runfile.State) (runs []runfile.State) {
	for _, state := range all {
		if !slices.ContainsFunc(runs, func(l runfile.State) bool { return l.Begin.Run == state.Begin.Run }) {
			runs = append(runs, state)
		}
	}
	return runs
}

// liveRuns returns the live runs of a task or the run with an id: at least one, or an error.
func (a stopCommand) liveRuns(s *schedule.Schedule, live, lost []runfile.State, name string) ([]runfile.State, error) {
	another := func(state runfile.State) bool { return state.Begin.Task != name }
	if found := slices.DeleteFunc(slices.Clone(live), another); len(found) > 0 {
		return found, nil
	}
	var ids []string
	for _, state := range live {
		ids = append(ids, state.Begin.Run)
	}
	id, err := history.OneRun(ids, name)
	if err != nil {
		return nil, err
	}
	if id != "" {
		return slices.DeleteFunc(slices.Clone(live), func(state runfile.State) bool { return state.Begin.Run != id }), nil
	}
	for _, state := range lost {
		if one, _ := history.OneRun([]string{state.Begin.Run}, name); one != "" || state.Begin.Task == name {
			return nil, failed("", "run %s of %s: %w", humanize.ShortRun(state.Begin.Run), state.Begin.Task, run.ErrVanished)
		}
	}
	elsewhere := a.view(s).LiveElsewhere(ctx, name)
	if len(elsewhere) == 0 {
		return nil, a.actor(s).NotRunning(ctx, name)
	}
	for _, r := range elsewhere[1:] {
		a.problem("%v", view.NotHere(r, "stop"))
	}
	return nil, view.NotHere(elsewhere[0], "stop")
}

// stopAll stops runs in parallel, and reports whether all were stopped.
func (a stopCommand) stopAll(s *schedule.Schedule, chosen []runfile.State, reason string) bool {
	type result struct {
		run.Stopping
		err error
	}
	results := make([]result, len(chosen))
	var all sync.WaitGroup
	actor, runs := a.actor(s), a.runs(s)
	for i, state := range chosen {
		all.Go(func() {
			results[i].Stopping, results[i].err = actor.Stop(runs, state.Begin.Run, reason)
		})
	}
	all.Wait()
	stopped := true
	for i, state := range chosen {
		if !a.sayStopped(state.Begin, results[i].Stopping, results[i].err) {
			stopped = false
			continue
		}
		a.noteChange(s, "stop", state.Begin.Run, reason)
	}
	return stopped
}

func (a stopCommand) sayStopped(r outcome.Record, s run.Stopping, err error) bool {
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
	fmt.Fprintf(a.out, "%s  run %s %s\n", r.Task, humanize.ShortRun(r.Run), words)
	for _, note := range s.Record.Notes {
		a.problem("%s: %s", r.Task, note)
	}
	return true
}
