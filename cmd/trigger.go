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

Only the user of the ticks, with the variables of the ticks, can start it now. For others the next
tick does, as it does with --next-tick; there a task without background: true has its turn.

It is this server that runs the task.

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
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	if name, err = a.chooseTask(s, name, "trigger TASK"); err != nil {
		return err
	}
	at, err := a.parseRequestTime(o, s.Location)
	if err != nil {
		return err
	}
	params, err := readValues(o.env)
	if err != nil {
		return err
	}
	request, err := a.actor(s).Trigger(name, at, params, o.reason)
	if err != nil {
		return err
	}
	stored, err := a.storeRequests(s, []state.Row{request}, o)
	if err != nil {
		return err
	}
	a.noteChange(s, "trigger", name, control.Because(schedule.WithValues("", params), o.reason))
	if o.json {
		return a.printJSON(stored[0])
	}
	return nil
}

// cancel takes back the runs that wait, of a task or by the id of a run.
func (a triggerCommand) cancel(names []string, o requestOptions) error {
	if o.hasTime() || o.nextTick || o.noChain || o.json || len(o.env) > 0 {
		return usage("name a task, or one run of those that `sched history` shows",
			"--cancel goes with no other flag but --reason")
	}
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	var requests []state.Row
	for _, name := range names {
		found, err := a.requestsOf(s, name)
		if err != nil {
			return err
		}
		requests = append(requests, found...)
	}
	var lastErr error
	for _, request := range requests {
		cancelled, err := a.actor(s).Cancel(request, o.reason)
		if err != nil {
			return failed("", "%s: %w", request.Task, err)
		}
		if !cancelled {
			a.problem("%v", control.Begun(request))
			lastErr = &exit{code: exitFailed}
			continue
		}
		a.noteChange(s, "cancel", request.Task, o.reason)
		tick := request.Slot.Add(time.Minute - 1).Truncate(time.Minute) // rounded up: ticks begin full minutes
		fmt.Fprintf(a.out, "%s will not run at %s (run %s)\n",
			request.Task, a.minuteText(tick, s.Location), humanize.ShortRun(request.ID))
	}
	return lastErr
}

// requestsOf returns the runs of a task, or the run with an id, that wait and have not begun: at
// least one, or an error.
func (a triggerCommand) requestsOf(s *schedule.Schedule, name string) ([]state.Row, error) {
	records, err := a.view(s).Records(ctx)
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
		return nil, failed("`sched stop "+name+"` ends a run that goes on", "no run of %s waits", name)
	}
	row, err := view.FindRun(ctx, a.view(s), name)
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
	retries, err := a.retries(s, names, at, params, o.reason)
	if err != nil {
		return err
	}
	var requests []state.Row
	for _, retry := range retries {
		requests = append(requests, retry.Row)
	}
	stored, err := a.storeRequests(s, requests, o)
	if err != nil {
		return err
	}
	for _, retry := range retries {
		reason := control.Because(schedule.WithValues("", retry.Params), o.reason)
		a.noteChange(s, "retry", retry.Of.ID, reason)
	}
	if o.json {
		return a.printJSON(stored)
	}
	return nil
}

// retries returns a retry for each named run, but not for a run that has a retry waiting already.
func (a retryCommand) retries(
	s *schedule.Schedule, names []string, at time.Time, params map[string]string, reason string,
) (retries []control.Retry, err error) {
	var requests []state.Row
	for _, name := range names {
		run, err := a.lastFailure(s, name)
		if err != nil {
			return nil, err
		}
		retry, err := a.actor(s).Retry(ctx, control.RetryWish{
			Run:    run,
			At:     at,
			Params: params,
			Reason: reason,
			Asked:  requests,
		})
		if err != nil {
			return nil, err
		}
		retried := humanize.ShortRun(retry.Of.ID)
		if retry.Waits {
			a.problem("a retry of run %s of %s waits already", retried, retry.Task)
			continue
		}
		if len(retry.Changed) > 0 {
			a.problem("%s has changed since run %s (%s); it will run as it is now",
				retry.Task, retried, strings.Join(retry.Changed, ", "))
		}
		requests, retries = append(requests, retry.Row), append(retries, retry)
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

// storeRequests writes the requests into the state folder and returns them. Without --json it
// prints what becomes of each.
func (a *app) storeRequests(s *schedule.Schedule, requests []state.Row, o requestOptions) ([]view.Request, error) {
	actor := a.actor(s)
	liveBefore := actor.Live()
	stored := []view.Request{}
	for _, r := range requests {
		task, err := view.FindTask(s, r.Task)
		if err != nil {
			return nil, err
		}
		r.NoChain = o.noChain
		if !o.hasTime() && !o.nextTick {
			r = actor.AtOnce(r)
		}
		tick, err := actor.Leave(r)
		if err != nil {
			return nil, err
		}
		stored = append(stored, view.RequestOf(r, tick, actor.Server))
		if o.json {
			continue
		}
		if started := a.awaitStart(s, r); started != "" {
			fmt.Fprintf(a.out, "%s %s (run %s)\n", r.Task, started, humanize.ShortRun(r.ID))
			continue
		}
		when := "the next tick, at " + humanize.SlotOfDayZone(tick, s.Location)
		if o.hasTime() {
			when = "the tick at " + a.minuteText(tick, s.Location)
		}
		if obstacle := requestObstacle(actor.Source, task, r, liveBefore); obstacle != "" {
			when += " or " + obstacle
		}
		fmt.Fprintf(a.out, "%s will run with %s (run %s)\n", r.Task, when, humanize.ShortRun(r.ID))
	}
	return stored, nil
}

// requestObstacle says for what else a requested run may have to wait; "" if nothing is known. live
// are the runs from before the request.
func requestObstacle(source view.Source, task *schedule.Task, r state.Row, live []state.Row) string {
	now := source.Now()
	if paused := view.PauseOf(source.Pauses(), task, humanize.Later(r.Slot, now)); paused != nil {
		return "when it is resumed: it is " + paused.Raw.Text(now, source.Schedule.Location)
	}
	if maintenance := source.Maintenance(); maintenance != "" && !task.EvenInMaintenance {
		return "when that is over: " + maintenance
	}
	if full := source.Pool(ctx, live, task.Pool).Full(); full != "" {
		return "when a seat is free: " + full
	}
	if holder := view.HolderOf(live, task); holder != "" {
		return "when its mutex is free: it is held " + holder
	}
	return ""
}

// startWithin is how long a command waits to see what starts at once.
const startWithin = 3 * time.Second

// awaitStart waits for a run that was asked to start at once, until it has begun, and returns what
// became of it. It returns "" if the run waits for a tick, or for a mutex or a seat.
func (a *app) awaitStart(s *schedule.Schedule, r state.Row) (started string) {
	if !r.Wait.NotBefore.IsZero() {
		return "" // it waits for a tick
	}
	db, err := state.OpenRead(s.StateDir, state.Patience)
	if err != nil {
		return ""
	}
	defer db.Close()
	for end := time.Now().Add(startWithin); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		row, err := db.Runs().Row(ctx, r.ID)
		switch {
		case err != nil:
			return ""
		case row.Phase == state.Ended:
			return view.Describe(row)
		case !row.Waits():
			return "has started"
		case !row.Wait.Since.IsZero():
			return "" // other runs have its mutex or its seat
		}
	}
	return ""
}
