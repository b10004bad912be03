package cmd

import (
	"strings"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
)

type retryCommand struct{ *app }

func newRetryCommand(a *app) *cobra.Command {
	var o whenOptions
	c := &cobra.Command{
		Use:   "retry [TASK|RUN...]",
		Short: "Run again what went wrong, or did not take place",
		Long: `retry runs the task of each run that is named once more, by its id or the last part of it that sched
history shows: like sched trigger, now or later, and as the task is defined now. Runs that were
skipped or missed can be retried, too. A task stands for its last run that failed, timed out, was
stopped or lost. With several runs it retries all or, if one of them cannot be retried, none.`,
		Example: `  sched retry nightly-report
  sched retry 5c2f9a1b3d4e
  sched retry 5c2f9a1b3d4e 77d0c8a2f1b3 --in 1h`,
		Args: arguments(0, unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return retryCommand{a}.retry(args, o) },
	}
	o.flags(c)
	return c
}

// retry requests another run for each run, or none at all if one cannot be retried.
func (a retryCommand) retry(names []string, o whenOptions) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		name, err := a.chooseTask(s, "retry TASK|RUN...")
		if err != nil {
			return err
		}
		names = []string{name}
	}
	at, err := a.requestTime(o, s.Location)
	if err != nil {
		return err
	}
	actor := a.actor(s)
	var requests []state.Row
	var runs []string // that are asked for again
	for _, name := range names {
		if name, err = a.lastFailure(s, name); err != nil {
			return err
		}
		retry, err := actor.Retry(ctx, name, at, o.reason, requests)
		if err != nil {
			return err
		}
		if retry.Waits {
			a.problem("a retry of run %s of %s waits already", humanize.ShortRun(retry.Of.Run), retry.Task)
			continue
		}
		if len(retry.Changed) > 0 {
			a.problem("%s has changed since run %s (%s); it will run as it is now", retry.Task, humanize.ShortRun(retry.Of.Run), strings.Join(retry.Changed, ", "))
		}
		requests = append(requests, retry.Row)
		runs = append(runs, retry.Of.Run)
	}
	if err := a.leaveRequests(s, requests, o, func(all []view.Request) any { return all }); err != nil {
		return err
	}
	for _, run := range runs {
		a.noteChange(s, "retry", run, o.reason)
	}
	return nil
}

// lastFailure returns the id of the last run of a task that failed, and says which it is. A name
// without such a run is returned as it is.
func (a retryCommand) lastFailure(s *schedule.Schedule, name string) (string, error) {
	if _, err := view.FindTask(s, name); err != nil {
		return name, nil
	}
	_, _, failures, err := a.view(s).History(ctx, state.Query{Task: name, Outcomes: failures(), Limit: 1})
	if err != nil {
		return "", err
	}
	if len(failures) == 0 {
		return name, nil
	}
	a.problem("run %s of %s, of %s, %s", humanize.ShortRun(failures[0].Run), name, a.clock(failures[0].Slot, s.Location), humanize.Line(view.Describe(failures[0])))
	return failures[0].Run, nil
}
