package cmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"sched/schedule"
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
	if !a.stopAll(a.runs(s), chosen) {
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
	return nil, a.notRunning(s, name)
}

// notRunning is the error for a task or run that does not live here: why there is nothing to stop.
func (a stopCommand) notRunning(s *schedule.Schedule, name string) error {
	requests, _ := runfile.Requests(s.StateDir)
	for _, r := range requests {
		if r.Task == name {
			return a.view(s).NotBegun(r)
		}
	}
	if server := a.view(s).WhereElse(ctx, name); server != "" {
		return failed("call it there: a server stops only its own runs", "%s runs on %s", name, server)
	}
	if _, err := view.FindTask(s, name); err == nil {
		return failed("", "%s is not running", name)
	}
	record, err := a.view(s).FindRun(ctx, name)
	if err != nil {
		return err
	}
	return failed("", "run %s of %s is not running: it %s", text.ShortRun(record.Run), record.Task, view.Describe(record))
}

// stopAll stops the runs at the same time, prints what became of each, and reports whether all were stopped.
func (a stopCommand) stopAll(runs run.Caller, chosen []runfile.State) bool {
	type result struct {
		run.Stopping
		err error
	}
	results := make([]result, len(chosen))
	var all sync.WaitGroup
	by := caller()
	for i, state := range chosen {
		all.Go(func() {
			results[i].Stopping, results[i].err = runs.Stop(state.Begin.Run, by)
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
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && s.Record.Outcome == "":
		a.problem("run %s of %s had ended", text.ShortRun(r.Run), r.Task)
		return false
	case errors.Is(err, run.ErrNotRunning) || err == nil && s.Record.Outcome != outcome.Stopped:
		a.problem("run %s of %s was not stopped: it %s", text.ShortRun(r.Run), r.Task, view.Describe(s.Record))
		return false
	case err != nil:
		a.problem("run %s of %s: %v", text.ShortRun(r.Run), r.Task, err)
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
