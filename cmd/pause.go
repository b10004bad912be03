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
	"sched/schedule/pause"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

type pauseOptions struct {
	tags                []string
	during, end, reason string // --for, --until, --reason
}

type pauseCommand struct{ *app }

func newPauseCommand(a *app) *cobra.Command {
	var o pauseOptions
	c := &cobra.Command{
		Use:   "pause [TASK...]",
		Short: "Start nothing more, or none of some tasks, until sched resume",
		Long: `pause keeps all tasks from starting, or those that are named: on this machine, or with a store on
all servers of the schedule. Slots that are due meanwhile are recorded as skipped, with who paused
them and why; a run that trigger or retry asks for waits. Runs go on to their ends. Tasks with
even_when_paused start all the same, unless they are paused by their own name. To pause again
replaces the pause.

A tag stands for the tasks that have it now: these are paused, one by one, and resumed so.`,
		Example: `  sched pause --reason "deploying 4.2" --for 10m
  sched pause nightly-report
  sched pause --tag warehouse --until "2026-11-23 08:00"`,
		Args: arguments(0, unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return pauseCommand{a}.pause(args, o) },
	}
	f := c.Flags()
	tagFlag(c, &o.tags)
	f.StringVar(&o.during, "for", "", "end by itself after so long (10m, 2h)")
	f.StringVar(&o.end, "until", "", "end by itself at this time: "+timeForms)
	reasonFlag(c, &o.reason)
	return c
}

func (a pauseCommand) pause(names []string, o pauseOptions) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	until, err := a.pauseEnd(o, s.Location)
	if err != nil {
		return err
	}
	if names, err = a.actor(s).Chosen(nil, names, o.tags); err != nil {
		return err
	}
	pause, before, err := a.actor(s).Pause(names, until, o.reason)
	if err != nil {
		return failed("", "cannot pause: %w", err)
	}
	a.noteChange(s, "pause", strings.Join(names, ", "), o.reason)
	for _, name := range names {
		a.sayPaused(s, name, pause, before[name])
	}
	a.sayRunning(s, names)
	return nil
}

// pauseEnd returns the zero time for a pause without an end.
func (a pauseCommand) pauseEnd(o pauseOptions, zone *time.Location) (time.Time, error) {
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
		return now.Add(d).UTC().Truncate(time.Second), nil
	case o.end != "":
		at, err := a.parseTime("until", o.end, zone)
		if err == nil && !at.After(now) {
			err = usage("", "--until %q is in the past: it is %s", o.end, humanize.MinuteZone(now, zone))
		}
		return at.UTC(), err
	}
	return time.Time{}, nil
}

func (a pauseCommand) sayPaused(s *schedule.Schedule, name string, made, before pause.Pause) {
	end := "`sched resume" + a.configFlag() + " " + name + "`"
	if name == pause.Everything {
		end = "`sched resume" + a.configFlag() + "`"
	}
	if !made.Until.IsZero() {
		end = made.End(a.now(), s.Location) + ", or " + end
	}
	fmt.Fprintf(a.out, "%s is paused until %s\n", pauseSubject(name), end)
	if before.InEffect(a.now()) {
		fmt.Fprintf(a.out, "  it was %s\n", before.Text(a.now(), s.Location))
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

func pauseSubject(name string) string {
	if name == pause.Everything {
		return "everything"
	}
	return name
}

func (a pauseCommand) sayRunning(s *schedule.Schedule, names []string) {
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
		goOn := map[bool]string{true: "goes on", false: "go on"}[len(runs) == 1]
		fmt.Fprintf(a.out, "%s %s: %s; `sched stop TASK` ends what runs on its machine\n", humanize.Count(len(runs), "run"), goOn, humanize.Names(runs, 5))
	}
}

type resumeCommand struct{ *app }

func newResumeCommand(a *app) *cobra.Command {
	var tags []string
	var reason string
	c := &cobra.Command{
		Use:   "resume [TASK...]",
		Short: "End a pause",
		Long: `resume ends the pause of everything, or the pauses of the tasks that are named: on this machine, or
with a store on all servers of the schedule. Tasks that were paused by name stay paused until they
are resumed by name. To resume a task that is not paused is no failure: resume says so.`,
		Example: `  sched resume --reason "4.2 is out"
  sched resume nightly-report`,
		Args: arguments(0, unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return resumeCommand{a}.resume(args, tags, reason) },
	}
	tagFlag(c, &tags)
	reasonFlag(c, &reason)
	return c
}

func (a resumeCommand) resume(names, tags []string, reason string) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	orders, err := a.controls(s).Read()
	if err == nil {
		names, err = a.actor(s).Chosen(orders.Pauses, names, tags)
	} else {
		err = failed("", "cannot resume: %w", err)
	}
	if err != nil {
		return err
	}
	before, err := a.actor(s).Resume(names)
	if err != nil {
		return failed("", "cannot resume: %w", err)
	}
	ended := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !before[name].InEffect(a.now()) })
	if len(ended) > 0 {
		a.noteChange(s, "resume", strings.Join(ended, ", "), reason)
	}
	return a.sayResumed(s, names, before)
}

// sayResumed returns an error if a named task is not paused by its name, but everything is paused.
func (a resumeCommand) sayResumed(s *schedule.Schedule, names []string, before pause.Pauses) (err error) {
	now := a.now()
	all := before[pause.Everything]
	everything := all.InEffect(now) && names[0] != pause.Everything
	for _, name := range names {
		was := before[name]
		switch {
		case was.InEffect(now):
			fmt.Fprintf(a.out, "%s is resumed; it was %s\n", pauseSubject(name), was.Text(now, s.Location))
		case name == pause.Everything && len(before.Tasks(now)) == 0:
			fmt.Fprintln(a.out, "nothing is paused")
		case name == pause.Everything:
			fmt.Fprintln(a.out, "not everything is paused")
		case everything:
			fmt.Fprintf(a.out, "%s is not paused by its name\n", name)
		default:
			fmt.Fprintf(a.out, "%s is not paused\n", name)
		}
		t, missing := view.FindTask(s, name)
		if everything && missing == nil && !t.EvenWhenPaused && !was.InEffect(now) {
			err = &exit{code: exitFailed}
		}
	}
	if everything {
		a.problem("everything is %s", all.Text(now, s.Location))
		fmt.Fprintf(a.err, "hint: `sched resume%s` ends that\n", a.configFlag())
	}
	if names[0] == pause.Everything {
		for _, name := range before.Tasks(now) {
			fmt.Fprintf(a.out, "%s stays %s\n", name, before[name].Text(now, s.Location))
		}
	}
	return err
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
	i := pause.Interrupt{By: caller(), Server: serverName(s.Server), At: a.now().UTC().Round(0), Reason: control.Reason(reason)}
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
