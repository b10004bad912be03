package cmd

import (
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/actions"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/runfile"
	"sched/schedule/text"
	"sched/schedule/view"
)

// A stopCommand is `sched stop`.
type stopCommand struct{ *app }

func newStopCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stop TASK|RUN...",
		Short: "Stop what runs: TERM, then KILL",
		Long: `stop ends the command of a live run with all processes of its group: they get TERM and, after the
kill_after of the task, KILL. The outcome is "stopped", no further attempt is made, the hooks for a
failure fire, and the mutex is free. A tick in which the task runs goes on with the next one. A run
that waits for its next attempt ends at once. stop returns when the run has ended.`,
		Example: `  sched stop nightly-report
  sched stop 5c2f9a1b3d4e`,
		Args: arguments(1, unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return stopCommand{a}.stop(args) },
	}
}

// stop stops the runs that the names stand for, all at the same time.
func (a stopCommand) stop(names []string) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	live, lost, _, err := run.Survey(s.StateDir)
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
		for _, state := range found {
			if !slices.ContainsFunc(chosen, func(l runfile.State) bool { return l.Begin.Run == state.Begin.Run }) {
				chosen = append(chosen, state)
			}
		}
	}
	if !a.stopAll(s, chosen) {
		code = exitFailed
	}
	if code != exitOK {
		return &exit{code: code}
	}
	return nil
}

// liveRuns returns the live runs of the task of that name, or the one with that id. There is at least one unless there is
// an error.
func (a stopCommand) liveRuns(s *schedule.Schedule, live, lost []runfile.State, name string) ([]runfile.State, error) {
	another := func(state runfile.State) bool { return state.Begin.Task != name }
	if found := slices.DeleteFunc(slices.Clone(live), another); len(found) > 0 {
		return found, nil
	}
	var ids []string
	for _, state := range live {
		ids = append(ids, state.Begin.Run)
	}
	id, err := view.OneRun(ids, name)
	if err != nil {
		return nil, err
	}
	if id != "" {
		return slices.DeleteFunc(slices.Clone(live), func(state runfile.State) bool { return state.Begin.Run != id }), nil
	}
	for _, state := range lost {
		if one, _ := view.OneRun([]string{state.Begin.Run}, name); one != "" || state.Begin.Task == name {
			return nil, failed("", "run %s of %s: %w", text.ShortRun(state.Begin.Run), state.Begin.Task, run.ErrVanished)
		}
	}
	return nil, a.actor(s).NotRunning(ctx, name)
}

// stopAll stops the runs at the same time, prints what became of each, and reports whether all were stopped.
func (a stopCommand) stopAll(s *schedule.Schedule, chosen []runfile.State) bool {
	type result struct {
		run.Stopping
		err error
	}
	results := make([]result, len(chosen))
	var all sync.WaitGroup
	actor, runs := a.actor(s), a.runs(s)
	for i, state := range chosen {
		all.Go(func() {
			results[i].Stopping, results[i].err = actor.Stop(runs, state.Begin.Run, "")
		})
	}
	all.Wait()
	stopped := true
	for i, state := range chosen {
		stopped = a.sayStopped(state.Begin, results[i].Stopping, results[i].err) && stopped
	}
	return stopped
}

// sayStopped prints what became of one run, and reports whether it was stopped.
func (a stopCommand) sayStopped(r outcome.Record, s run.Stopping, err error) bool {
	if err := actions.Cannot(r, s, err); err != nil {
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
	fmt.Fprintf(a.out, "%s  run %s %s\n", r.Task, text.ShortRun(r.Run), words)
	for _, note := range s.Record.Notes {
		a.problem("%s: %s", r.Task, note)
	}
	return true
}
