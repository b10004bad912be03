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
	"sched/schedule/yamldoc"
)

type triggerCommand struct{ *app }

func newTriggerCommand(a *app) *cobra.Command {
	var o whenOptions
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
			return triggerCommand{a}.trigger(strings.Join(args, ""), o)
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&cancel, "cancel", false, "take back what waits, by task or run")
	return c
}

func (a triggerCommand) trigger(name string, o whenOptions) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	if name, err = a.chooseTask(s, name, "trigger TASK"); err != nil {
		return err
	}
	at, err := a.requestTime(o, s.Location)
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
	left, err := a.leaveRequests(s, []state.Row{request}, o)
	if err != nil {
		return err
	}
	a.noteChange(s, "trigger", name, control.Because(schedule.WithValues("", params), o.reason))
	if o.json {
		return a.printJSON(left[0])
	}
	return nil
}

func (a triggerCommand) cancel(names []string, o whenOptions) error {
	if o.later() || o.nextTick || o.noChain || o.json || len(o.env) > 0 {
		return usage("name a task, or one run of those that `sched history` shows", "--cancel goes with no other flag but --reason")
	}
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	var chosen []state.Row
	for _, name := range names {
		found, err := a.requestsOf(s, name)
		if err != nil {
			return err
		}
		chosen = append(chosen, found...)
	}
	var result error
	for _, r := range chosen {
		cancelled, err := a.actor(s).Cancel(r, o.reason)
		switch {
		case err != nil:
			return failed("", "%s: %w", r.Task, err)
		case !cancelled:
			result = &exit{code: exitFailed}
			a.problem("%v", control.Begun(r))
		default:
			a.noteChange(s, "cancel", r.Task, o.reason)
			fmt.Fprintf(a.out, "%s will not run at %s (run %s)\n", r.Task, a.minuteText(view.FirstTick(r.Slot, r.Slot.Add(-1)), s.Location), humanize.ShortRun(r.ID))
		}
	}
	return result
}

type retryCommand struct{ *app }

func newRetryCommand(a *app) *cobra.Command {
	var o whenOptions
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
	o.flags(c)
	return c
}

// retry leaves a request for each run, or none at all if one of the runs cannot be retried.
func (a retryCommand) retry(names []string, o whenOptions) error {
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
	at, err := a.requestTime(o, s.Location)
	if err != nil {
		return err
	}
	params, err := readValues(o.env)
	if err != nil {
		return err
	}
	requests, runs, err := a.retries(s, names, at, params, o.reason)
	if err != nil {
		return err
	}
	left, err := a.leaveRequests(s, requests, o)
	if err != nil {
		return err
	}
	for i, run := range runs {
		a.noteChange(s, "retry", run, control.Because(schedule.WithValues("", requests[i].Params), o.reason))
	}
	if o.json {
		return a.printJSON(left)
	}
	return nil
}

// retries returns a request for each named run, and the ids of these runs. It leaves out a run of
// which a retry waits already.
func (a retryCommand) retries(s *schedule.Schedule, names []string, at time.Time, params map[string]string, reason string) (requests []state.Row, runs []string, err error) {
	for _, name := range names {
		if name, err = a.lastFailure(s, name); err != nil {
			return nil, nil, err
		}
		retry, err := a.actor(s).Retry(ctx, name, at, params, reason, requests)
		if err != nil {
			return nil, nil, err
		}
		if retry.Waits {
			a.problem("a retry of run %s of %s waits already", humanize.ShortRun(retry.Of.ID), retry.Task)
			continue
		}
		if len(retry.Changed) > 0 {
			a.problem("%s has changed since run %s (%s); it will run as it is now", retry.Task, humanize.ShortRun(retry.Of.ID), strings.Join(retry.Changed, ", "))
		}
		requests, runs = append(requests, retry.Row), append(runs, retry.Of.ID)
	}
	return requests, runs, nil
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
	a.problem("run %s of %s, of %s, %s", humanize.ShortRun(failures[0].ID), name, a.minuteText(failures[0].Slot, s.Location), humanize.Line(view.Describe(failures[0])))
	return failures[0].ID, nil
}

// whenOptions say when a requested run starts: after --in, at --at, with the next tick, or else at
// once.
type whenOptions struct {
	in, at, reason string
	env            []string
	nextTick       bool
	noChain        bool
	json           bool
}

// later reports whether the flags name a time.
func (o *whenOptions) later() bool { return o.in != "" || o.at != "" }

func (o *whenOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.in, "in", "", "with the first tick after so long (10m, 2h)")
	f.StringVar(&o.at, "at", "", "with the tick at this time: "+timeForms)
	f.BoolVar(&o.nextTick, "next-tick", false, "with the next tick, and not at once")
	envFlag(c, &o.env)
	f.BoolVar(&o.noChain, "no-chain", false, "trigger no other task when it has ended")
	reasonFlag(c, &o.reason)
	f.BoolVar(&o.json, "json", false, "print JSON")
}

// requestTime reads --in and --at. Without both it returns the present time.
func (c *console) requestTime(o whenOptions, zone *time.Location) (time.Time, error) {
	now := c.now()
	at := now
	switch {
	case o.in != "" && o.at != "":
		return at, usage("", "--in and --at exclude each other")
	case o.nextTick && o.later():
		return at, usage("", "--next-tick goes with neither --in nor --at")
	case o.in != "":
		d, err := yamldoc.ParseDuration(o.in)
		if err != nil || d <= 0 {
			return at, usage("write it as 90s, 10m, 2h or 1d", "--in %q is not a time to wait", o.in)
		}
		at = now.Add(d)
	case o.at != "":
		var err error
		if at, err = c.parseAt(o.at, zone); err != nil {
			return at, err
		}
		if !at.After(now) {
			return at, usage("leave --at out to run it now", "--at %q is in the past: it is %s", o.at, humanize.MinuteZone(now, zone))
		}
	}
	return at.UTC().Round(0).Truncate(time.Microsecond), nil // the precision of the history
}

// leaveRequests writes the requests into the state folder and returns them. Without --json it
// prints what becomes of each.
func (a *app) leaveRequests(s *schedule.Schedule, requests []state.Row, o whenOptions) ([]view.Request, error) {
	left := []view.Request{}
	live := a.view(s).Live()
	for _, r := range requests {
		r.NoChain = o.noChain
		if !o.later() && !o.nextTick {
			r = a.actor(s).AtOnce(r)
		}
		tick, err := a.actor(s).Leave(r)
		if err != nil {
			return nil, err
		}
		left = append(left, view.RequestOf(r, tick, a.view(s).Server))
		if !o.json {
			a.sayRequested(s, r, o, tick, live)
		}
	}
	return left, nil
}

// sayRequested prints that a run has started or, if it waits, which tick will start it and for what
// else it may have to wait. Live are the runs from before the request.
func (a *app) sayRequested(s *schedule.Schedule, r state.Row, o whenOptions, tick time.Time, live []state.Row) {
	if started := a.awaitStart(s, r); started != "" {
		fmt.Fprintf(a.out, "%s %s (run %s)\n", r.Task, started, humanize.ShortRun(r.ID))
		return
	}
	when := "the next tick, at " + humanize.SlotOfDayZone(tick, s.Location)
	if o.later() {
		when = "the tick at " + a.minuteText(tick, s.Location)
	}
	t, _ := view.FindTask(s, r.Task)
	if paused := view.PauseOf(a.view(s).Pauses(), t, humanize.Later(r.Slot, a.now())); paused != nil {
		when += " or when it is resumed: it is " + paused.Raw.Text(a.now(), s.Location)
	} else if down := a.view(s).Maintenance(); down != "" && !t.EvenInMaintenance {
		when += " or when that is over: " + down
	} else if full := a.view(s).Pool(ctx, live, t.Pool).Full(); full != "" {
		when += " or when a seat is free: " + full
	} else if holder := view.HolderOf(live, t); holder != "" {
		when += " or when its mutex is free: it is held " + holder
	}
	fmt.Fprintf(a.out, "%s will run with %s (run %s)\n", r.Task, when, humanize.ShortRun(r.ID))
}

// startWithin is how long a command waits to see what starts at once.
const startWithin = 3 * time.Second

// awaitStart waits until a run has begun that is to start at once, and returns what became of it.
// It returns "" if the run waits, for a tick or for a mutex or a seat that others have.
func (a *app) awaitStart(s *schedule.Schedule, r state.Row) (started string) {
	if !r.Wait.NotBefore.IsZero() {
		return ""
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
			return "" // others have what it needs
		}
	}
	return ""
}

// requestsOf returns the runs that wait and have not begun, of a task or by a run's id: at least
// one, or an error.
func (a *app) requestsOf(s *schedule.Schedule, name string) ([]state.Row, error) {
	all, err := a.view(s).Records(ctx)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	ofTask := slices.DeleteFunc(all.Pending(), func(r state.Row) bool { return r.Task != name })
	if len(ofTask) > 0 {
		return ofTask, nil
	}
	if r, err := view.OneRow(all.Pending(), name); err != nil || r.ID != "" {
		return []state.Row{r}, err
	}
	if slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.Name == name }) {
		return nil, failed("what runs is ended by `sched stop "+name+"`", "no run of %s waits", name)
	}
	row, err := view.FindRun(ctx, a.view(s), name)
	if err != nil {
		return nil, err
	}
	return nil, failed("", "run %s of %s does not wait: it %s", humanize.ShortRun(row.ID), row.Task, view.Describe(row))
}
