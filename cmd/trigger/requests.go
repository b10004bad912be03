package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/cmd/follow"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

// This file has what trigger and retry share: both ask for runs, which start at once or later.

// requestOptions are the flags of trigger and retry. A requested run starts after --in, at --at,
// with the next tick, or else at once.
type requestOptions struct {
	in, at   string
	nextTick bool
	env      []string
	noChain  bool
	reason   string
	json     bool
	wait     bool // follow the run to its end
}

// hasTime reports whether the flags name a time.
func (o *requestOptions) hasTime() bool { return o.in != "" || o.at != "" }

func (o *requestOptions) check() error {
	switch {
	case o.in != "" && o.at != "":
		return exit.Usage("", "--in and --at exclude each other")
	case o.nextTick && o.hasTime():
		return exit.Usage("", "--next-tick goes with neither --in nor --at")
	}
	return nil
}

func (o *requestOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.in, "in", "", "with the first tick after so long (10m, 2h)")
	f.StringVar(&o.at, "at", "", "with the tick at this time: "+console.TimeForms)
	f.BoolVar(&o.nextTick, "next-tick", false, "with the next tick, and not at once")
	flags.AddEnv(c, &o.env)
	f.BoolVar(&o.noChain, "no-chain", false, "trigger no other task when it has ended")
	flags.AddReason(c, &o.reason)
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.wait, "wait", false, "follow the run to its end, and exit with its exit code")
	flags.Seldom(f, "next-tick", "no-chain")
}

// catchSignals returns a context that a signal ends, if the command is to wait for its run: then a
// signal must end only the waiting. release ends the catching.
func (o *requestOptions) catchSignals() (terminate context.Context, release func()) {
	if !o.wait {
		return context.Background(), func() {}
	}
	terminate, _, release = app.CatchSignals()
	return terminate, release
}

// parseRequest reads --env, and --in or --at. Without both it returns the present time. The time
// has the precision of the history.
func parseRequest(
	a *app.App, o requestOptions, zone *time.Location,
) (at time.Time, params map[string]string, err error) {
	if err := o.check(); err != nil {
		return at, nil, err
	}
	if params, err = flags.ReadValues(o.env); err != nil {
		return at, nil, err
	}
	now := a.Now()
	at = now
	switch {
	case o.in != "":
		wait, err := yamldoc.ParseDuration(o.in)
		if err != nil || wait <= 0 {
			return at, nil, exit.Usage("write it as 90s, 10m, 2h or 1d", "--in %q is not a time to wait", o.in)
		}
		at = now.Add(wait)
	case o.at != "":
		if at, err = a.ParseTime("at", o.at, zone); err != nil {
			return at, nil, err
		}
		if !at.After(now) {
			return at, nil, exit.Usage("leave --at out to run it now",
				"--at %q is in the past: it is %s", o.at, humanize.MinuteZone(now, zone))
		}
	}
	// As the history keeps it: without the monotonic clock, to the microsecond.
	return at.UTC().Round(0).Truncate(time.Microsecond), params, nil
}

// A request is a run that trigger or retry has asked for.
type request struct {
	row        state.Row
	answeredAt time.Time // the minute of the tick that answers it, unless the run starts at once
	onlyTicks  string    // why it does not start at once, if this process cannot start it
}

// submit stores requests with the flags that trigger and retry share: all, or after an error none.
func (o requestOptions) submit(actor control.Actor, rows []state.Row) (requests []request, err error) {
	for i := range rows {
		rows[i].NoChain = rows[i].NoChain || o.noChain
		if !o.hasTime() && !o.nextTick {
			rows[i] = actor.AtOnce(rows[i])
		}
	}
	if err := actor.Submit(rows...); err != nil {
		return nil, err
	}
	for _, row := range rows {
		r := request{row: row, answeredAt: actor.TickOf(row)}
		if !o.hasTime() && !o.nextTick {
			r.onlyTicks = actor.OnlyTicks
		}
		requests = append(requests, r)
	}
	return requests, nil
}

// sayRequests prints a line for each request: that its run has started; or which tick will start
// it, and what it may have to wait for besides that tick. liveBefore are the runs from before the
// requests. It reports whether all have started.
func sayRequests(
	a *app.App, out io.Writer, source view.Source, requests []request, o requestOptions, liveBefore []state.Row,
) (allStarted bool) {
	s := source.Schedule
	allStarted = true
	for _, r := range requests {
		task, run := r.row.Task, humanize.ShortRun(r.row.ID)
		if started := awaitStart(s, r.row); started != "" {
			fmt.Fprintf(out, "%s %s (run %s)\n", task, started, run)
			continue
		}
		allStarted = false
		when := "the next tick, at " + humanize.SlotOfDayZone(r.answeredAt, s.Location)
		if o.hasTime() {
			when = "the tick at " + a.MinuteText(r.answeredAt, s.Location)
		}
		if obstacle := requestObstacle(source, r.row, liveBefore); obstacle != "" {
			when += " or " + obstacle
		} else if r.onlyTicks != "" {
			when += ", because " + r.onlyTicks
		}
		this := " (run " + run + ")"
		if strings.Contains(when, "(run ") {
			this = "; this is run " + run
		}
		fmt.Fprintf(out, "%s will run with %s%s\n", task, when, this)
	}
	return allStarted
}

// requestObstacle says for what a requested run may have to wait besides its tick; "" if nothing is
// known.
func requestObstacle(source view.Source, row state.Row, live []state.Row) string {
	task, now := source.Schedule.Task(row.Task), source.Now()
	if paused := view.PauseOf(source.Pauses(), task, humanize.Later(row.Slot, now)); paused != nil {
		return "when it is resumed: it is " + paused.Raw.Text(now, source.Schedule.Location)
	}
	if maintenance := source.Maintenance(); maintenance != "" && !task.EvenInMaintenance {
		return "when that is over: " + maintenance
	}
	holder, pool := view.HoldersOf(context.Background(), source, live, task)
	if full := pool.Full(source.Schedule.Location); full != "" {
		return "when a seat is free: " + full
	}
	if holder != nil {
		return "when its mutex is free: it is held " + view.HeldText(holder, source.Schedule.Location)
	}
	return ""
}

// startWithin is how long a command waits to see what starts at once.
const startWithin = 3 * time.Second

// awaitStart waits for a run that was asked to start at once, until it has begun, and returns what
// became of it. It returns "" if the run waits for a tick, or for a mutex or a seat.
func awaitStart(s *schedule.Schedule, requested state.Row) (started string) {
	if !requested.Wait.NotBefore.IsZero() {
		return "" // it waits for a tick
	}
	db, err := state.OpenRead(s.StateDir, state.Patience)
	if err != nil {
		return ""
	}
	defer db.Close()
	for end := time.Now().Add(startWithin); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		row, err := db.Runs().Row(context.Background(), requested.ID)
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

// sayTriggered is sayRequests that warns if no tick is to be expected which would start the run.
func sayTriggered(
	a *app.App, out io.Writer, source view.Source, requests []request, o requestOptions, liveBefore []state.Row,
) {
	if sayRequests(a, out, source, requests, o, liveBefore) {
		return
	}
	if missing := source.TicksMissing(); missing != "" {
		waits := "it waits until one comes"
		if o.wait {
			waits = "--wait waits for one for up to " + humanize.Count(int(maxTickWait.Minutes()), "minute")
		}
		a.WarnWithHint(a.TicksHint(), "%s, so %s", missing, waits)
	}
}

// await prints what a run prints until it has ended, or terminate is done. Its error has the exit
// code of the command.
func await(
	terminate context.Context, a *app.App, s *schedule.Schedule, requested state.Row, asJSON bool,
) error {
	ctx, release := untilNoTick(terminate, a.View(s), requested)
	defer release()
	row, err := follow.Run(ctx, a.View(s), a.Out, requested, 0)
	run := humanize.ShortRun(requested.ID)
	switch {
	case errors.Is(context.Cause(ctx), errNoTick) && err != nil:
		hint := fmt.Sprintf("it still waits: `sched trigger%s --cancel %s` takes it back; %s",
			a.ConfigFlag(), run, a.TicksHint())
		return exit.Failed(hint, "stopped waiting for run %s of %s: %w", run, requested.Task, errNoTick)
	case terminate.Err() != nil:
		hint := fmt.Sprintf("it goes on: `sched logs%s %[2]s -f` follows it, `sched stop%[1]s %[2]s` ends it",
			a.ConfigFlag(), run)
		now, findErr := view.FindRun(context.Background(), a.View(s), requested.ID)
		if findErr == nil && now.State == view.RunWaiting {
			hint = fmt.Sprintf("it still waits: `sched trigger%s --cancel %s` takes it back", a.ConfigFlag(), run)
		}
		return &exit.Error{Code: exit.Stopped, Hint: hint,
			Err: fmt.Errorf("stopped waiting for run %s of %s: %w", run, requested.Task, context.Cause(terminate))}
	case err != nil:
		return exit.Failed("", "run %s of %s: %w", run, requested.Task, err)
	case row.Outcome == "":
		return exit.Failed("the next tick finishes it", "run %s of %s vanished", run, requested.Task)
	}
	if asJSON {
		record, err := json.Marshal(view.RecordOf(row))
		if err != nil {
			return err
		}
		fmt.Fprintln(a.Out, string(record))
	} else {
		a.Warn("%s %s", row.Task, humanize.Line(view.Describe(row)))
	}
	switch {
	case row.Outcome == outcome.Succeeded:
		return nil
	case row.Outcome == outcome.Failed && row.ExitCode != nil && *row.ExitCode != 0:
		return &exit.Error{Code: *row.ExitCode}
	}
	return &exit.Error{Code: exit.Failure}
}
