package cmd

import (
	"strings"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

type retryCommand struct{ *app }

func newRetryCommand(a *app) *cobra.Command {
	var o requestOptions
	c := &cobra.Command{
		Use:   "retry [TASK|RUN...]",
		Short: "Run again what went wrong, or did not take place",
		Long: `retry runs the task of each run that is named once more, by its id or the last part of it that sched
history shows: like sched trigger, now or later, and as the task is defined now. Runs that were
skipped or missed can be retried, too. A task stands for its last run that failed, timed out, was
stopped or lost. With several runs it retries all or, if one of them cannot be retried, none. The
params of the run are kept, but for those that --env sets.`,
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
	s, err := a.loadTrusted()
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
	at, err := a.parseRequestTime(o, s.Location)
	if err != nil {
		return err
	}
	params, err := readValues(o.env)
	if err != nil {
		return err
	}
	retries, err := a.retries(s, names, control.RetryWish{At: at, Params: params, Reason: o.reason})
	if err != nil {
		return err
	}
	var rows []state.Row
	for _, retry := range retries {
		rows = append(rows, retry.Row)
	}
	actor := a.actor(s)
	liveBefore := actor.Live()
	requests, err := o.submit(actor, rows)
	if err != nil {
		return err
	}
	for _, retry := range retries {
		reason := control.Because(schedule.WithValues("", retry.Params), o.reason)
		a.noteChange(s, "retry", retry.Original.ID, reason)
	}
	if !o.json {
		a.sayRequests(actor.Source, requests, o, liveBefore)
		return nil
	}
	answer := []view.Request{}
	for _, r := range requests {
		answer = append(answer, view.RequestOf(r.row, r.tick, actor.Server))
	}
	return a.printJSON(answer)
}

// retries returns a retry for each named run, but not for a run that has a retry waiting already.
// The wish says what all of them have in common.
func (a retryCommand) retries(
	s *schedule.Schedule, names []string, wish control.RetryWish,
) (retries []control.Retry, err error) {
	for _, name := range names {
		if wish.Run, err = a.lastFailure(s, name); err != nil {
			return nil, err
		}
		retry, err := a.actor(s).Retry(ctx, wish)
		if err != nil {
			return nil, err
		}
		retried := humanize.ShortRun(retry.Original.ID)
		if retry.WaitsAlready {
			a.problem("a retry of run %s of %s waits already", retried, retry.Task)
			continue
		}
		if len(retry.Changed) > 0 {
			a.problem("%s has changed since run %s (%s); it will run as it is now",
				retry.Task, retried, strings.Join(retry.Changed, ", "))
		}
		wish.Others, retries = append(wish.Others, retry.Row), append(retries, retry)
	}
	return retries, nil
}

// lastFailure returns the id of the last run of a task that failed, and says which it is. A name
// without such a run is returned as it is.
func (a retryCommand) lastFailure(s *schedule.Schedule, name string) (string, error) {
	if _, err := view.FindTask(s, name); err != nil {
		return name, nil
	}
	_, _, failures, err := a.view(s).History(ctx, state.Query{Task: name, Outcomes: outcome.Failures, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(failures) == 0 {
		return name, nil
	}
	last := failures[0]
	due, ending := a.minuteText(last.Slot, s.Location), humanize.Line(view.Describe(last))
	a.problem("run %s of %s, of %s, %s", humanize.ShortRun(last.ID), name, due, ending)
	return last.ID, nil
}
