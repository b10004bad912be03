// Package trigger has the commands `sched trigger` and `sched retry`. Both ask for runs, which
// start at once or later.
package trigger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
)

func New(a *app.App) *cobra.Command {
	var o requestOptions
	var cancel bool
	c := &cobra.Command{
		Use:   "trigger [TASK]",
		Short: "Run a task once more, now or later",
		Long: `trigger starts one more run of a task in the background, or with --in and --at leaves a request
that a later tick answers: also after a reboot. The run is one like any other, with the task as it
is defined then; its conditions and one_server do not count. While its mutex is held it waits, for
24 hours at most. sched list and sched history show what waits. With --no-chain the hooks of the
task trigger no other task, when this run has ended. --env sets variables that the task names under
params.

Only the user of the ticks, with the variables of the ticks, can start a run at once. Otherwise the
next tick starts it, as with --next-tick; a foreground task then waits for its turn in that tick.

The task runs on this server.

With --wait it prints what the run prints, and exits with the exit code of the command when the run
has ended: 0 for a success, 1 if it has no code. With --json the last line is the record of the run.
A signal ends the waiting, and not the run. If no ticks come, it waits for three minutes, and exits
with 1.

With --cancel it takes back what waits: all of a task, or the runs that are named.`,
		Example: `  sched trigger nightly-report
  sched trigger nightly-report --in 10m
  sched trigger nightly-report --at "2026-11-22 02:30"
  sched trigger import --env DAY=2026-11-01 --wait
  sched trigger --cancel nightly-report`,
		Args: func(c *cobra.Command, args []string) error {
			if cancel {
				return flags.Arguments(1, flags.Unlimited)(c, args)
			}
			return flags.Arguments(0, 1)(c, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if cancel {
				return cancelWaiting(a, args, o)
			}
			return trigger(a, flags.Optional(args), o)
		},
	}
	o.addFlags(c)
	c.Flags().BoolVar(&cancel, "cancel", false, "take back what waits, by task or run")
	return c
}

func trigger(a *app.App, name string, o requestOptions) error {
	s, err := a.LoadToChange()
	if err != nil {
		return err
	}
	if name, err = a.ChooseTask(s, name, "trigger TASK"); err != nil {
		return err
	}
	at, params, err := parseRequest(a, o, s.Location)
	if err != nil {
		return err
	}
	actor := a.Actor(s)
	row, err := actor.Trigger(name, at, params, o.reason)
	if err != nil {
		return err
	}
	liveBefore := actor.Live()
	terminate, release := o.catchSignals()
	defer release()
	requests, err := o.submit(actor, []state.Row{row})
	if err != nil {
		return err
	}
	a.NoteChange(s, "trigger", name, control.Because(schedule.WithValues("", params), o.reason))
	if o.wait {
		sayTriggered(a, a.Err, actor.Source, requests, o, liveBefore)
		return await(terminate, a, s, requests[0].row, o.json)
	}
	if o.json {
		return a.PrintJSON(view.RequestOf(requests[0].row, requests[0].answeredAt, actor.Server))
	}
	sayTriggered(a, a.Out, actor.Source, requests, o, liveBefore)
	return nil
}

// cancelWaiting takes back the runs that wait, of a task or by the id of a run.
func cancelWaiting(a *app.App, names []string, o requestOptions) error {
	if o.hasTime() || o.nextTick || o.wait || o.noChain || o.json || len(o.env) > 0 {
		return exit.Usage("name a task, or one run of those that `sched history` shows",
			"--cancel goes with no other flag but --reason")
	}
	s, err := a.LoadToChange()
	if err != nil {
		return err
	}
	rows, err := chosenRows(a, s, names)
	if err != nil {
		return err
	}
	cancelledAll := true
	for _, row := range rows {
		cancelled, err := a.Actor(s).Cancel(row, o.reason)
		if err != nil {
			return exit.Failed("", "%s: %w", row.Task, err)
		}
		if !cancelled {
			a.Warn("%v", control.NotCancelledError(row))
			cancelledAll = false
			continue
		}
		a.NoteChange(s, "cancel", row.Task, o.reason)
		due := row.Slot.Add(time.Minute - 1).Truncate(time.Minute) // rounded up: ticks begin full minutes
		fmt.Fprintf(a.Out, "%s will not run at %s (run %s)\n",
			row.Task, a.MinuteText(due, s.Location), humanize.ShortRun(row.ID))
	}
	if !cancelledAll {
		return &exit.Error{Code: exit.Failure}
	}
	return nil
}

// chosenRows returns the waiting runs that the names stand for. A run that is named by its task and
// by its id comes once.
func chosenRows(a *app.App, s *schedule.Schedule, names []string) (rows []state.Row, err error) {
	for _, name := range names {
		waiting, err := waitingRows(a, s, name)
		if err != nil {
			return nil, err
		}
		isChosen := func(r state.Row) bool {
			return slices.ContainsFunc(rows, func(other state.Row) bool { return other.ID == r.ID })
		}
		rows = append(rows, slices.DeleteFunc(waiting, isChosen)...)
	}
	return rows, nil
}

// waitingRows returns the runs of a task, or the run with an id, that wait and have not begun: at
// least one, or an error.
func waitingRows(a *app.App, s *schedule.Schedule, name string) ([]state.Row, error) {
	records, err := a.View(s).Records(context.Background())
	if err != nil {
		return nil, err
	}
	defer records.Close()
	pending := records.Pending()
	ofTask := slices.DeleteFunc(slices.Clone(pending), func(r state.Row) bool { return r.Task != name })
	if len(ofTask) > 0 {
		return ofTask, nil
	}
	if r, err := view.OneRow(pending, name); err != nil || r.ID != "" {
		return []state.Row{r}, err
	}
	if s.Task(name) != nil {
		hint := "`sched stop" + a.ConfigFlag() + " " + name + "` ends a run that goes on"
		return nil, exit.Failed(hint, "no run of %s waits", name)
	}
	row, err := view.FindRecord(context.Background(), a.View(s), name)
	if err != nil {
		return nil, err
	}
	return nil, exit.Failed("", "run %s of %s does not wait: it %s",
		humanize.ShortRun(row.ID), row.Task, view.Describe(row))
}
