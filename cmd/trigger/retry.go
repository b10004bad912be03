package trigger

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/schedule/view"
)

func NewRetry(a *app.App) *cobra.Command {
	var o requestOptions
	c := &cobra.Command{
		Use:   "retry [TASK|RUN...]",
		Short: "Run again what went wrong, or did not take place",
		Long: `retry runs the task of each named run once more: like sched trigger, now or later, and as the task
is defined now. A run is named by its id, or by the last part of it, as sched history shows. Runs
that were skipped or missed can be retried, too. A task stands for its last run that failed, timed
out, was stopped or lost. With several runs it retries all or, if one of them cannot be retried,
none. The params of the run are kept, but for those that --env sets.

With --wait it prints what the new run prints, and exits as sched trigger --wait does. It follows
only one run.`,
		Example: `  sched retry nightly-report
  sched retry 5c2f9a1b3d4e
  sched retry 5c2f9a1b3d4e 77d0c8a2f1b3 --in 1h`,
		Args: flags.Arguments(0, flags.Unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return retry(a, args, o) },
	}
	o.addFlags(c)
	return c
}

// retry leaves a request for each run, or none at all if one of the runs cannot be retried.
func retry(a *app.App, names []string, o requestOptions) error {
	s, err := a.LoadToChange()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		name, err := a.ChooseTask(s, "", "retry TASK|RUN...")
		if err != nil {
			return err
		}
		names = []string{name}
	}
	if o.wait && len(names) > 1 {
		return exit.Usage("name one task or run, or leave --wait out",
			"--wait follows one run, and not %d", len(names))
	}
	at, params, err := parseRequest(a, o, s.Location)
	if err != nil {
		return err
	}
	retries, err := newRetries(a, s, names, control.RetryWish{At: at, Params: params, Reason: o.reason})
	if err != nil {
		return err
	}
	actor := a.Actor(s)
	liveBefore := actor.Live()
	terminate, release := o.catchSignals()
	defer release()
	requests, err := o.submit(actor, rowsOf(retries))
	if err != nil {
		return err
	}
	for _, retry := range retries {
		reason := control.Because(schedule.WithValues("", retry.Params), o.reason)
		a.NoteChange(s, "retry", retry.Original.ID, reason)
	}
	switch {
	case o.wait && len(requests) == 0: // a retry waits already
		return &exit.Error{Code: exit.Failure}
	case o.wait:
		sayTriggered(a, a.Err, actor.Source, requests, o, liveBefore)
		return await(terminate, a, s, requests[0].row, o.json)
	case !o.json:
		sayRequests(a, a.Out, actor.Source, requests, o, liveBefore)
		return nil
	}
	answer := []view.Request{}
	for _, r := range requests {
		answer = append(answer, view.RequestOf(r.row, r.answeredAt, actor.Server))
	}
	return a.PrintJSON(answer)
}

// newRetries returns a retry for each named run, but not for a run that has a retry waiting
// already. common says what all of them have in common.
func newRetries(
	a *app.App, s *schedule.Schedule, names []string, common control.RetryWish,
) (retries []control.Retry, err error) {
	for _, name := range names {
		wish := common
		if wish.Run, err = lastFailure(a, s, name); err != nil {
			return nil, err
		}
		wish.Others = rowsOf(retries)
		retry, err := a.Actor(s).Retry(context.Background(), wish)
		if err != nil {
			return nil, err
		}
		retried := humanize.ShortRun(retry.Original.ID)
		if retry.WaitsAlready {
			a.Warn("a retry of run %s of %s waits already", retried, retry.Task)
			continue
		}
		if len(retry.Changed) > 0 {
			a.Warn("%s has changed since run %s (%s); it will run as it is now",
				retry.Task, retried, strings.Join(retry.Changed, ", "))
		}
		retries = append(retries, retry)
	}
	return retries, nil
}

func rowsOf(retries []control.Retry) (rows []state.Row) {
	for _, retry := range retries {
		rows = append(rows, retry.Row)
	}
	return rows
}

// lastFailure returns the id of the last run of a task that failed, and says which it is. A name
// without such a run is returned as it is.
func lastFailure(a *app.App, s *schedule.Schedule, name string) (string, error) {
	if _, err := view.FindTask(s, name); err != nil {
		return name, nil
	}
	q := past.Query{Task: name, Outcomes: outcome.Failures, NoTests: true, Limit: 1}
	_, _, failures, err := a.View(s).History(context.Background(), q)
	if err != nil {
		return "", err
	}
	if len(failures) == 0 {
		return name, nil
	}
	last := failures[0]
	due, ending := a.MinuteText(last.Slot, s.Location), humanize.Line(view.Describe(last))
	a.Warn("run %s of %s, of %s, %s", humanize.ShortRun(last.ID), name, due, ending)
	return last.ID, nil
}
