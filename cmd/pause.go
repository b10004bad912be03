package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/pause"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

type pauseOptions struct {
	tags                       []string
	begin, during, end, reason string // --from, --for, --until, --reason
	stop                       bool
}

type pauseCommand struct{ *app }

func newPauseCommand(a *app) *cobra.Command {
	var o pauseOptions
	c := &cobra.Command{
		Use:   "pause [TASK...]",
		Short: "Start nothing more, or none of some tasks, until sched resume",
		Long: `pause keeps all tasks from starting, or those that are named: on this machine, or with a store on
all servers of the schedule. Slots that are due meanwhile are recorded as skipped, with who paused
them and why; a run that trigger or retry asks for waits. Runs go on to their ends, unless --stop
ends them. Tasks with even_when_paused start all the same, unless they are paused by their own name.
To pause again replaces the pause.

With --from the pause is planned: it begins then, and needs an end. Pauses that are planned for
different times are kept beside each other, and resume --planned takes them back. Pauses of the
schedule itself are under pauses: in the file.

A tag stands for the tasks that have it now: these are paused, one by one, and resumed so.`,
		Example: `  sched pause --reason "deploying 4.2" --for 10m
  sched pause nightly-report
  sched pause --tag warehouse --from "sun 2:00" --for 4h --stop
  sched pause list`,
		Args: arguments(0, unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return pauseCommand{a}.pause(args, o) },
	}
	f := c.Flags()
	tagFlag(c, &o.tags)
	f.StringVar(&o.begin, "from", "", "begin at this time: "+timeForms)
	f.StringVar(&o.during, "for", "", "end by itself after so long (10m, 2h)")
	f.StringVar(&o.end, "until", "", "end by itself at this time")
	f.BoolVar(&o.stop, "stop", false, "stop the runs that go on when it begins, too")
	reasonFlag(c, &o.reason)
	c.AddCommand(newPauseListCommand(a))
	return c
}

func (a pauseCommand) pause(names []string, o pauseOptions) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	p, err := a.pausing(o, s)
	if err != nil {
		return err
	}
	if names, err = a.actor(s).Chosen(nil, names, o.tags); err != nil {
		return err
	}
	pause, before, err := a.actor(s).Pause(names, p)
	if err != nil {
		return failed("", "cannot pause: %w", err)
	}
	a.noteChange(s, "pause", strings.Join(names, ", "), p.Because(s.Location))
	for _, name := range names {
		a.sayPaused(s, name, pause, before)
	}
	a.sayRunning(s, names, pause)
	return nil
}

// pausing returns the pause that the flags ask for.
func (a pauseCommand) pausing(o pauseOptions, s *schedule.Schedule) (p control.Pausing, err error) {
	p = control.Pausing{Stop: o.stop, Reason: o.reason}
	begin := a.now()
	if o.begin != "" {
		if begin, err = a.parseTime("from", o.begin, s.Location); err != nil {
			return p, err
		}
		begin = begin.UTC().Truncate(time.Second)
		p.From = begin
	}
	if p.Until, err = a.pauseEnd(o, begin, s.Location); err == nil && o.begin != "" {
		err = a.actor(s).CheckPlanned(p.From, p.Until, "--")
	}
	return p, err
}

// pauseEnd returns the zero time for a pause without an end.
func (a pauseCommand) pauseEnd(o pauseOptions, begin time.Time, zone *time.Location) (time.Time, error) {
	now := a.now()
	switch {
	case o.during != "" && o.end != "":
		return now, usage("", "--for and --until exclude each other")
	case o.during != "":
		d, err := yamldoc.ParseDuration(o.during)
		switch {
		case err != nil:
			return now, usage("write how long it lasts, as 90s, 10m, 2h or 3d", "--for %q is not a duration", o.during)
		case d < time.Second:
			return now, usage("write how long it lasts, as 90s, 10m, 2h or 3d", "--for %s is too short: a pause ends after now", o.during)
		}
		return begin.Add(d).UTC().Truncate(time.Second), nil
	case o.end != "":
		at, err := a.parseTime("until", o.end, zone)
		if err == nil && !at.After(now) {
			err = usage("", "--until %q is in the past: it is %s", o.end, humanize.MinuteZone(now, zone))
		}
		return at.UTC(), err
	}
	return time.Time{}, nil
}

func (a pauseCommand) sayPaused(s *schedule.Schedule, name string, made pause.Pause, before pause.Pauses) {
	resume := "sched resume" + a.configFlag()
	if made.Planned {
		resume += " --planned"
	}
	if name != pause.Everything {
		resume += " " + name
	}
	end := "`" + resume + "`"
	if !made.Until.IsZero() {
		end = made.End(a.now(), s.Location) + ", or " + end
	}
	if made.Planned {
		fmt.Fprintf(a.out, "%s will be paused from %s until %s\n", pauseSubject(name), humanize.MinuteNear(made.Since, a.now(), s.Location), end)
	} else {
		fmt.Fprintf(a.out, "%s is paused until %s\n", pauseSubject(name), end)
	}
	if was, paused := before.InEffect(name, a.now()); paused && !made.Planned {
		fmt.Fprintf(a.out, "  it was %s\n", was.Text(a.now(), s.Location))
	}
	var even []string
	for _, t := range s.Tasks {
		if t.EvenWhenPaused && s.Active(t) {
			even = append(even, t.Name)
		}
	}
	if name == pause.Everything && len(even) > 0 {
		fmt.Fprintf(a.out, "  but %s (even_when_paused)\n", strings.Join(even, ", "))
	}
}

func newPauseListCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "Show the pauses that are in effect, and those that are planned",
		Long: `list shows the pauses that are in effect, and those that are planned, by people and by pauses: in
the schedule. Of a pause that comes again it shows the next one.

A task that is called list is paused by sched pause -- list.`,
		Example: `  sched pause list`,
		Args:    arguments(0, 0),
		RunE:    func(*cobra.Command, []string) error { return pauseCommand{a}.list(asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

func (a pauseCommand) list(asJSON bool) error {
	a.look()
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	paused, planned := view.PausesNow(s, a.view(s).Pauses(), view.InSchedule(s), a.now())
	all := append(paused, planned...)
	if asJSON {
		return a.printJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(a.out, "nothing is paused, and no pause is planned")
	}
	for _, one := range all {
		name, is := cmp.Or(one.Task, "everything"), " is "
		if one.Planned {
			is = " will be "
		}
		fmt.Fprintln(a.out, name+is+one.Raw.Text(a.now(), s.Location))
	}
	return nil
}

func pauseSubject(name string) string {
	if name == pause.Everything {
		return "everything"
	}
	return name
}

// sayRunning says which runs go on.
func (a pauseCommand) sayRunning(s *schedule.Schedule, names []string, made pause.Pause) {
	if made.Planned {
		return
	}
	live := a.view(s).Live()
	elsewhere, err := view.RunningElsewhere(ctx, a.view(s))
	if err != nil {
		a.view(s).LeftOut(err)
	}
	live = append(live, elsewhere...)
	here := serverName(s.Server)
	var runs []string
	for _, row := range live {
		if row.Waits() || names[0] != pause.Everything && !slices.Contains(names, row.Task) {
			continue
		}
		run := row.Task
		if row.Server != here {
			run += " on " + row.Server
		}
		runs = append(runs, run)
	}
	if len(runs) > 0 {
		if made.Stop {
			fmt.Fprintf(a.out, "%s will be stopped by the next tick: %s\n", humanize.Count(len(runs), "run"), humanize.Names(runs, 5))
			return
		}
		goOn := "go on"
		if len(runs) == 1 {
			goOn = "goes on"
		}
		fmt.Fprintf(a.out, "%s %s: %s; `sched stop TASK` ends what runs on its machine\n", humanize.Count(len(runs), "run"), goOn, humanize.Names(runs, 5))
	}
}

type interruptCommand struct{ *app }

func newInterruptCommand(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "interrupt",
		Short: "End the ticks that wait for later seconds of their minute (after a deploy)",
		Long: `interrupt ends the ticks that stay for tasks which are due every few seconds: on this machine, or
with a store on all servers of the schedule. Within a second they start no further slot; these are
recorded as skipped. Runs go on to their ends, and a task that was due at the full minute still
takes its turn. The tick of the next minute has the new schedule and the new sched.`,
		Example: `  sched interrupt --reason "deploying 4.2"`,
		Args:    arguments(0, 0),
		RunE:    func(*cobra.Command, []string) error { return interruptCommand{a}.interrupt(reason) },
	}
	reasonFlag(c, &reason)
	return c
}

func (a interruptCommand) interrupt(reason string) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	i := pause.Interrupt{By: callerName(), Server: serverName(s.Server), At: a.now().UTC().Round(0), Reason: control.Reason(reason)}
	if err := a.controls(s).Interrupt(i); err != nil {
		return failed("", "cannot interrupt: %w", err)
	}
	a.noteChange(s, "interrupt", pause.Everything, reason)
	where := "on this machine"
	if a.store(s) != nil {
		where = "on all servers"
	}
	fmt.Fprintf(a.out, "ticks that run %s start no further slot of their minute\n", where)
	return nil
}
