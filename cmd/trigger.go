package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

type triggerCommand struct{ *app }

func newTriggerCommand(a *app) *cobra.Command {
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

With --cancel it takes back what waits: all of a task, or the runs that are named.`,
		Example: `  sched trigger nightly-report
  sched trigger nightly-report --in 10m
  sched trigger nightly-report --at "2026-11-22 02:30"
  sched trigger import --no-chain --env DAY=2026-11-01
  sched trigger --cancel nightly-report`,
		Args: func(c *cobra.Command, args []string) error {
			if cancel {
				return arguments(1, unlimited)(c, args)
			}
			return arguments(0, 1)(c, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if cancel {
				return triggerCommand{a}.cancel(args, o)
			}
			return triggerCommand{a}.trigger(optionalArgument(args), o)
		},
	}
	o.addFlags(c)
	c.Flags().BoolVar(&cancel, "cancel", false, "take back what waits, by task or run")
	return c
}

func (a triggerCommand) trigger(name string, o requestOptions) error {
	s, err := a.loadToChange()
	if err != nil {
		return err
	}
	if name, err = a.chooseTask(s, name, "trigger TASK"); err != nil {
		return err
	}
	at, params, err := parseRequest(a.app, o, s.Location)
	if err != nil {
		return err
	}
	actor := a.actor(s)
	row, err := actor.Trigger(name, at, params, o.reason)
	if err != nil {
		return err
	}
	liveBefore := actor.Live()
	requests, err := o.submit(actor, []state.Row{row})
	if err != nil {
		return err
	}
	a.noteChange(s, "trigger", name, control.Because(schedule.WithValues("", params), o.reason))
	if o.json {
		return a.printJSON(view.RequestOf(requests[0].row, requests[0].answeredAt, actor.Server))
	}
	sayRequests(a.app, actor.Source, requests, o, liveBefore)
	return nil
}

// cancel takes back the runs that wait, of a task or by the id of a run.
func (a triggerCommand) cancel(names []string, o requestOptions) error {
	if o.hasTime() || o.nextTick || o.noChain || o.json || len(o.env) > 0 {
		return usage("name a task, or one run of those that `sched history` shows",
			"--cancel goes with no other flag but --reason")
	}
	s, err := a.loadToChange()
	if err != nil {
		return err
	}
	rows, err := a.chosenRows(s, names)
	if err != nil {
		return err
	}
	cancelledAll := true
	for _, row := range rows {
		cancelled, err := a.actor(s).Cancel(row, o.reason)
		if err != nil {
			return failed("", "%s: %w", row.Task, err)
		}
		if !cancelled {
			a.warn("%v", control.NotCancelledError(row))
			cancelledAll = false
			continue
		}
		a.noteChange(s, "cancel", row.Task, o.reason)
		due := row.Slot.Add(time.Minute - 1).Truncate(time.Minute) // rounded up: ticks begin full minutes
		fmt.Fprintf(a.out, "%s will not run at %s (run %s)\n",
			row.Task, a.minuteText(due, s.Location), humanize.ShortRun(row.ID))
	}
	if !cancelledAll {
		return &exit{code: exitFailed}
	}
	return nil
}

// chosenRows returns the waiting runs that the names stand for. A run that is named by its task and
// by its id comes once.
func (a triggerCommand) chosenRows(s *schedule.Schedule, names []string) (rows []state.Row, err error) {
	for _, name := range names {
		waiting, err := a.waitingRows(s, name)
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
func (a triggerCommand) waitingRows(s *schedule.Schedule, name string) ([]state.Row, error) {
	records, err := a.view(s).Records(noDeadline)
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
		hint := "`sched stop" + a.configFlag() + " " + name + "` ends a run that goes on"
		return nil, failed(hint, "no run of %s waits", name)
	}
	row, err := view.FindRecord(noDeadline, a.view(s), name)
	if err != nil {
		return nil, err
	}
	return nil, failed("", "run %s of %s does not wait: it %s",
		humanize.ShortRun(row.ID), row.Task, view.Describe(row))
}

type retryCommand struct{ *app }

func newRetryCommand(a *app) *cobra.Command {
	var o requestOptions
	c := &cobra.Command{
		Use:   "retry [TASK|RUN...]",
		Short: "Run again what went wrong, or did not take place",
		Long: `retry runs the task of each named run once more: like sched trigger, now or later, and as the task
is defined now. A run is named by its id, or by the last part of it, as sched history shows. Runs
that were skipped or missed can be retried, too. A task stands for its last run that failed, timed
out, was stopped or lost. With several runs it retries all or, if one of them cannot be retried,
none. The params of the run are kept, but for those that --env sets.`,
		Example: `  sched retry nightly-report
  sched retry 5c2f9a1b3d4e
  sched retry 5c2f9a1b3d4e 77d0c8a2f1b3 --in 1h`,
		Args: arguments(0, unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return retryCommand{a}.retry(args, o) },
	}
	o.addFlags(c)
	return c
}

// retry leaves a request for each run, or none at all if one of the runs cannot be retried.
func (a retryCommand) retry(names []string, o requestOptions) error {
	s, err := a.loadToChange()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		name, err := a.chooseTask(s, "", "retry TASK|RUN...")
		if err != nil {
			return err
		}
		names = []string{name}
	}
	at, params, err := parseRequest(a.app, o, s.Location)
	if err != nil {
		return err
	}
	retries, err := a.retries(s, names, control.RetryWish{At: at, Params: params, Reason: o.reason})
	if err != nil {
		return err
	}
	actor := a.actor(s)
	liveBefore := actor.Live()
	requests, err := o.submit(actor, rowsOf(retries))
	if err != nil {
		return err
	}
	for _, retry := range retries {
		reason := control.Because(schedule.WithValues("", retry.Params), o.reason)
		a.noteChange(s, "retry", retry.Original.ID, reason)
	}
	if !o.json {
		sayRequests(a.app, actor.Source, requests, o, liveBefore)
		return nil
	}
	answer := []view.Request{}
	for _, r := range requests {
		answer = append(answer, view.RequestOf(r.row, r.answeredAt, actor.Server))
	}
	return a.printJSON(answer)
}

// retries returns a retry for each named run, but not for a run that has a retry waiting already.
// common says what all of them have in common.
func (a retryCommand) retries(
	s *schedule.Schedule, names []string, common control.RetryWish,
) (retries []control.Retry, err error) {
	for _, name := range names {
		wish := common
		if wish.Run, err = a.lastFailure(s, name); err != nil {
			return nil, err
		}
		wish.Others = rowsOf(retries)
		retry, err := a.actor(s).Retry(noDeadline, wish)
		if err != nil {
			return nil, err
		}
		retried := humanize.ShortRun(retry.Original.ID)
		if retry.WaitsAlready {
			a.warn("a retry of run %s of %s waits already", retried, retry.Task)
			continue
		}
		if len(retry.Changed) > 0 {
			a.warn("%s has changed since run %s (%s); it will run as it is now",
				retry.Task, retried, strings.Join(retry.Changed, ", "))
		}
		retries = append(retries, retry)
	}
	return retries, nil
}

// rowsOf returns the requests of the retries.
func rowsOf(retries []control.Retry) (rows []state.Row) {
	for _, retry := range retries {
		rows = append(rows, retry.Row)
	}
	return rows
}

// lastFailure returns the id of the last run of a task that failed, and says which it is. A name
// without such a run is returned as it is.
func (a retryCommand) lastFailure(s *schedule.Schedule, name string) (string, error) {
	if _, err := view.FindTask(s, name); err != nil {
		return name, nil
	}
	_, _, failures, err := a.view(s).History(noDeadline, state.Query{Task: name, Outcomes: outcome.Failures, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(failures) == 0 {
		return name, nil
	}
	last := failures[0]
	due, ending := a.minuteText(last.Slot, s.Location), humanize.Line(view.Describe(last))
	a.warn("run %s of %s, of %s, %s", humanize.ShortRun(last.ID), name, due, ending)
	return last.ID, nil
}
