// Package test is the command `sched test`.
package test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/cmd/follow"
	"sched/cmd/report"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/state"
	"sched/schedule/tick"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

func New(a *app.App) *cobra.Command {
	var env []string
	var as string
	c := &cobra.Command{
		Use:   "test [TASK]",
		Short: "Run one task now, whatever its schedule, and show its output",
		Long: `test runs a task with everything that belongs to it: its environment, hooks, retries, timeout and
lock. Only its schedule and its conditions do not count. It runs in the foreground, its output is
shown as it comes, and what its hooks printed at the end, on stderr, each line behind "hook:". The
run is in the history like any other. --env sets variables that the task names under params.

Hooks fire as ever: mails and messages are sent, and tasks are triggered. With --as the
command does not run, and the hooks fire as after a run that failed or succeeded, or as when the
task is overdue, to see what arrives. Hooks before the command are left out then, and hooks that
trigger tasks.`,
		Example: `  sched test nightly-report
  sched test import --env DAY=2026-11-01
  sched test nightly-report --as failed`,
		Args: flags.Arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			return test(a, flags.Optional(args), env, as)
		},
	}
	flags.AddEnv(c, &env)
	c.Flags().StringVar(&as, "as", "", "fire the hooks alone, as of a task that failed, succeeded or is overdue")
	return c
}

func test(a *app.App, name string, env []string, as string) error {
	a.SurviveReaders()
	s, err := loadWith(a, name)
	if err != nil {
		return err
	}
	if name, err = a.ChooseTask(s, name, "test TASK"); err != nil {
		return err
	}
	t, err := view.FindTask(s, name)
	if err != nil {
		return err
	}
	if as == asOverdue {
		return testOverdue(a, s, t)
	}
	if t, err = rehearsal(t, as); err != nil {
		return err
	}
	if as == string(outcome.Succeeded) && len(t.Hooks.OnRecovery) > 0 {
		a.Warn("on_recovery fires only if the last run of %s failed", t.Name)
	}
	params, err := flags.ReadValues(env)
	if err == nil {
		err = cmp.Or(control.CheckValues(t, params), app.CheckState(s))
	}
	if err != nil {
		return err
	}
	return testTask(a, s, t, params)
}

// loadWith loads the schedule as its file says it. The mistakes of other tasks are counted, and
// keep no task from being tested.
func loadWith(a *app.App, name string) (*schedule.Schedule, error) {
	s, err := a.Load()
	invalid, ok := errors.AsType[*load.InvalidError](err)
	if !ok || invalid.Rest == nil || name == "" {
		return s, err
	}
	isOther := func(p schedule.Problem) bool { return p.Task != yamldoc.Shorten(name) }
	own := a.CountMistakes(invalid, "other task", isOther)
	if slices.Contains(invalid.Rest.Without, name) {
		return nil, &load.InvalidError{Problems: own}
	}
	a.PrintProblems(own)
	return invalid.Rest, nil
}

// rehearsal returns the task with a command that ends at once with the outcome. It leaves out hooks
// that do more than tell of the end. Without an outcome it returns the task as it is.
func rehearsal(t *schedule.Task, as string) (*schedule.Task, error) {
	if as == "" {
		return t, nil
	}
	code := t.SuccessCodes[0]
	switch outcome.Outcome(as) {
	case outcome.Succeeded:
	case outcome.Failed:
		for code = 1; slices.Contains(slices.Concat(t.SuccessCodes, t.WarnCodes), code); {
			code++
		}
	default:
		return nil, exit.Usage("it is failed, succeeded or overdue", "--as %q is not an outcome", as)
	}
	rehearsed := *t
	rehearsed.Command = schedule.Command{Line: fmt.Sprintf("exit %d", code), Shell: []string{"/bin/sh", "-c"}}
	rehearsed.Retry = schedule.Retry{Attempts: 1}
	told := func(hooks []schedule.Hook) (kept []schedule.Hook) {
		for _, hook := range hooks {
			if hook.Trigger == "" {
				hook.After = 0
				if hook.Notify != nil {
					notification := *hook.Notify
					notification.When = "" // it is to arrive, whatever the run before did
					hook.Notify = &notification
				}
				kept = append(kept, hook)
			}
		}
		return kept
	}
	h := t.Hooks
	rehearsed.Hooks = schedule.Hooks{After: told(h.After), OnSuccess: told(h.OnSuccess),
		OnFailure: told(h.OnFailure), OnRecovery: told(h.OnRecovery)}
	return &rehearsed, nil
}

// quietFor is how long a command under test must have printed nothing before the live line is
// drawn.
const quietFor = time.Second

// testTask runs the task. Its output goes to stdout, and everything else to stderr, with what its
// hooks printed after the end of the run.
func testTask(a *app.App, s *schedule.Schedule, t *schedule.Task, params map[string]string) error {
	ticking := a.Tick(s, a.Now())
	ticking.Report.Started, ticking.Report.Done = func(state.Row) {}, func(state.Row) {}
	ticking.Report.Detail = a.Warn // says who was notified
	terminate, kill, release := app.CatchSignals()
	defer release()
	live, restore := a.LiveLine(quietFor)
	defer restore()
	if live != nil {
		ticking.Report.Begun = func(row state.Row) {
			live.Show(report.NewProgress(a.Stdout(), row, s.StateDir, terminate).Text)
		}
	}
	printed, printedByHooks := a.Out, a.Err
	if a.IsForeign(s, t.Name) {
		printed = console.Harmless(printed, humanize.Plain)
		printedByHooks = console.Harmless(printedByHooks, humanize.Plain)
	}
	process.AdoptOrphans()
	row, err := ticking.Test(terminate, kill, tick.TestRun{
		Task:   t,
		Params: params,
		Origin: schedule.WithValues("test by "+app.PersonName(), params),
		Output: printed,
	})
	if err != nil {
		return exit.Failed("", "%s: %w", t.Name, err)
	}
	live.Hide()
	live.EndLine()
	follow.Hooks(printedByHooks, view.OutputOf(s.StateDir, row))
	for _, note := range row.Notes {
		a.Warn("%s: %s", t.Name, note)
	}
	printEnd(a, row)
	switch {
	case terminate.Err() != nil:
		return &exit.Error{Code: exit.Stopped, Err: fmt.Errorf("stopped %v", context.Cause(terminate))}
	case row.Outcome != outcome.Succeeded:
		return &exit.Error{Code: exit.Failure}
	}
	return nil
}

func printEnd(a *app.App, row state.Row) {
	row.Origin = "" // the person who reads this has asked for the run
	ending := view.Describe(row)
	out, tone := a.Stderr(), console.ToneOf(row.Result)
	if !out.IsTerminal() {
		fmt.Fprintf(a.Err, "sched: %s %s\n", row.Task, ending)
		return
	}
	fmt.Fprintf(a.Err, "%s %s %s\n", out.Mark(tone), row.Task, out.Paint(tone, humanize.Line(ending)))
}
