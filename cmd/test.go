package cmd

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/state"
	"sched/schedule/tick"
	"sched/schedule/view"
)

type testCommand struct{ *app }

func newTestCommand(a *app) *cobra.Command {
	var env []string
	c := &cobra.Command{
		Use:   "test [TASK]",
		Short: "Run one task now, whatever its schedule, and show its output",
		Long: `test runs a task with everything that belongs to it: its environment, hooks, retries, timeout and
lock. Only its schedule and its conditions do not count. It runs in the foreground, its output is
shown as it comes, and the run is in the history like any other. --env sets variables that the task
names under params.`,
		Example: `  sched test nightly-report
  sched test import --env DAY=2026-11-01`,
		Args: arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			return testCommand{a}.test(optionalArgument(args), env)
		},
	}
	addEnvFlag(c, &env)
	return c
}

func (a testCommand) test(name string, env []string) error {
	a.surviveReaders()
	s, err := a.load()
	if err != nil {
		return err
	}
	if name, err = a.chooseTask(s, name, "test TASK"); err != nil {
		return err
	}
	t, err := view.FindTask(s, name)
	if err != nil {
		return err
	}
	params, err := readValues(env)
	if err == nil {
		err = cmp.Or(control.CheckValues(t, params), checkState(s))
	}
	if err != nil {
		return err
	}
	return a.testTask(s, t, params)
}

// quietFor is how long a command under test must have printed nothing before the live line is
// drawn.
const quietFor = time.Second

// testTask runs the task. Its output goes to stdout, and everything else to stderr.
func (a testCommand) testTask(s *schedule.Schedule, t *schedule.Task, params map[string]string) error {
	ticking := a.tick(s, a.now())
	ticking.Report.Started, ticking.Report.Done = func(state.Row) {}, func(state.Row) {}
	ticking.Report.Detail = a.warn // says who was notified
	terminate, kill, release := catchSignals()
	defer release()
	live, restore := a.liveLine(quietFor)
	defer restore()
	if live != nil {
		ticking.Report.Begun = func(row state.Row) {
			live.Show(newProgress(a.stdout(), row, s.StateDir, terminate).text)
		}
	}
	printed := a.out
	if a.isForeign(s, t.Name) {
		printed = harmlessOn(printed, humanize.Plain)
	}
	process.AdoptOrphans()
	row, err := ticking.Test(terminate, kill, tick.TestRun{
		Task:   t,
		Params: params,
		Origin: schedule.WithValues("test by "+personName(), params),
		Output: printed,
	})
	if err != nil {
		return failed("", "%s: %w", t.Name, err)
	}
	live.Hide()
	live.EndLine()
	for _, note := range row.Notes {
		a.warn("%s: %s", t.Name, note)
	}
	a.printEnd(row)
	switch {
	case terminate.Err() != nil:
		return &exit{code: exitStopped, err: fmt.Errorf("stopped %v", context.Cause(terminate))}
	case row.Outcome != outcome.Succeeded:
		return &exit{code: exitFailed}
	}
	return nil
}

// printEnd says how the run ended.
func (a testCommand) printEnd(row state.Row) {
	row.Origin = "" // the person who reads this has asked for the run
	ending := view.Describe(row)
	out, tone := a.stderr(), toneOf(row.Result)
	if !out.IsTerminal() {
		fmt.Fprintf(a.err, "sched: %s %s\n", row.Task, ending)
		return
	}
	fmt.Fprintf(a.err, "%s %s %s\n", out.Mark(tone), row.Task, out.Paint(tone, humanize.Line(ending)))
}
