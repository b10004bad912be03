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
	tags     []string
	from     string
	duration string // --for
	until    string
	stop     bool
	reason   string
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
	addTagFlag(c, &o.tags)
	f.StringVar(&o.from, "from", "", "begin at this time: "+timeForms)
	f.StringVar(&o.duration, "for", "", "end by itself after so long (10m, 2h)")
	f.StringVar(&o.until, "until", "", "end by itself at this time")
	f.BoolVar(&o.stop, "stop", false, "stop the runs that go on when it begins, too")
	addReasonFlag(c, &o.reason)
	c.AddCommand(newPauseListCommand(a))
	return c
}

func (a pauseCommand) pause(names []string, o pauseOptions) error {
	s, err := a.loadToChange()
	if err != nil {
		return err
	}
	request, err := a.parseFlags(o, s)
	if err != nil {
		return err
	}
	if names, err = a.actor(s).ChooseTasks(nil, names, o.tags); err != nil {
		return err
	}
	newPause, earlier, err := a.actor(s).Pause(names, request)
	if err != nil {
		return failed("", "cannot pause: %w", err)
	}
	a.noteChange(s, "pause", strings.Join(names, ", "), request.LogReason(s.Location))
	for _, name := range names {
		a.sayPaused(s, name, newPause, earlier)
	}
	if !newPause.Planned {
		a.sayRunning(s, names, newPause)
	}
	return nil
}

// flagPrefix stands before the names of times in the errors of control.Actor.CheckPlanned, because
// here they are flags.
const flagPrefix = "--"

// parseFlags returns the pause that the flags ask for.
func (a pauseCommand) parseFlags(o pauseOptions, s *schedule.Schedule) (request control.PauseWish, err error) {
	request = control.PauseWish{Stop: o.stop, Reason: o.reason}
	begin := a.now()
	if o.from != "" {
		if begin, err = a.parseTime("from", o.from, s.Location); err != nil {
			return request, err
		}
		begin = begin.UTC().Truncate(time.Second)
		request.From = begin
	}
	if request.Until, err = a.parseEnd(o, begin, s.Location); err != nil {
		return request, err
	}
	if o.from != "" {
		return request, a.actor(s).CheckPlanned(request.From, request.Until, flagPrefix)
	}
	return request, nil
}

// parseEnd returns when a pause ends that begins at begin, and the zero time if it has no end.
func (a pauseCommand) parseEnd(o pauseOptions, begin time.Time, zone *time.Location) (end time.Time, err error) {
	switch {
	case o.duration != "" && o.until != "":
		return end, usage("", "--for and --until exclude each other")
	case o.duration != "":
		const hint = "write how long it lasts, as 90s, 10m, 2h or 3d"
		duration, err := yamldoc.ParseDuration(o.duration)
		if err != nil {
			return end, usage(hint, "--for %q is not a duration", o.duration)
		}
		if duration < time.Second {
			return end, usage(hint, "--for %s is too short: a pause ends after now", o.duration)
		}
		return begin.Add(duration).UTC().Truncate(time.Second), nil
	case o.until != "":
		if end, err = a.parseTime("until", o.until, zone); err != nil {
			return end, err
		}
		if now := a.now(); !end.After(now) {
			hint := "say when it ends, as --until \"tomorrow 8:00\", or how long it lasts, as --for 2h"
			return end, usage(hint, "--until %q is in the past: it is %s", o.until, humanize.MinuteZone(now, zone))
		}
		return end.UTC(), nil
	}
	return end, nil
}

// sayPaused says until when a task, or everything, is paused now, or that it will be.
func (a pauseCommand) sayPaused(s *schedule.Schedule, name string, newPause pause.Pause, earlier pause.Pauses) {
	now := a.now()
	resume := "sched resume" + a.configFlag()
	if newPause.Planned {
		resume += " --planned"
	}
	if name != pause.Everything {
		resume += " " + name
	}
	end := "`" + resume + "`"
	if !newPause.Until.IsZero() {
		end = newPause.End(now, s.Location) + ", or " + end
	}
	if newPause.Planned {
		begin := humanize.MinuteNearZone(newPause.Since, now, s.Location)
		fmt.Fprintf(a.out, "%s will be paused from %s until %s\n", pauseSubject(name), begin, end)
	} else {
		fmt.Fprintf(a.out, "%s is paused until %s\n", pauseSubject(name), end)
		if replaced, ok := earlier.InEffect(name, now); ok {
			fmt.Fprintf(a.out, "  it was %s\n", replaced.Text(now, s.Location))
		}
	}
	if name == pause.Everything {
		a.sayEvenWhenPaused(s)
	}
}

// sayEvenWhenPaused says which tasks run although everything is paused.
func (a pauseCommand) sayEvenWhenPaused(s *schedule.Schedule) {
	var names []string
	for _, t := range s.Tasks {
		if t.EvenWhenPaused && s.Active(t) {
			names = append(names, t.Name)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(a.out, "  but %s (even_when_paused)\n", strings.Join(names, ", "))
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
	s, err := a.loadToShow()
	if err != nil {
		return err
	}
	if len(s.Store.Servers) == 0 { // else the store has the pauses
		if err := view.Readable(s.StateDir); err != nil {
			return err
		}
	}
	inEffect, planned := view.PausesNow(s, a.view(s).Pauses(), view.InSchedule(s), a.now())
	pauses := append(inEffect, planned...)
	if asJSON {
		return a.printJSON(pauses)
	}
	if len(pauses) == 0 {
		fmt.Fprintln(a.out, "nothing is paused, and no pause is planned")
	}
	for _, p := range pauses {
		verb := "is"
		if p.Planned {
			verb = "will be"
		}
		fmt.Fprintln(a.out, cmp.Or(p.Task, "everything"), verb, p.Raw.Text(a.now(), s.Location))
	}
	return nil
}

// pauseSubject is the subject of a sentence about a pause of a task, or of pause.Everything.
func pauseSubject(name string) string {
	if name == pause.Everything {
		return "everything"
	}
	return name
}

// sayRunning says which runs of the paused tasks go on, or will be stopped. Servers that do not
// answer are left out: it says which.
func (a pauseCommand) sayRunning(s *schedule.Schedule, names []string, newPause pause.Pause) {
	live := a.view(s).Live()
	elsewhere, err := view.RunningElsewhere(noDeadline, a.view(s))
	if err != nil {
		a.view(s).LeftOut(err)
	}
	pausesEverything := slices.Contains(names, pause.Everything)
	thisServer := serverName(s.Server)
	var runs []string
	for _, row := range append(live, elsewhere...) {
		if row.Waits() || !pausesEverything && !slices.Contains(names, row.Task) {
			continue
		}
		run := row.Task
		if row.Server != thisServer {
			run += " on " + row.Server
		}
		runs = append(runs, run)
	}
	if len(runs) == 0 {
		return
	}
	count, list := humanize.Count(len(runs), "run"), humanize.Names(runs, 5)
	if newPause.Stop {
		fmt.Fprintf(a.out, "%s will be stopped by the next tick: %s\n", count, list)
		return
	}
	verb := "go"
	if len(runs) == 1 {
		verb = "goes"
	}
	fmt.Fprintf(a.out, "%s %s on: %s; `sched stop TASK` ends what runs on its machine\n", count, verb, list)
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
	addReasonFlag(c, &reason)
	return c
}

func (a interruptCommand) interrupt(reason string) error {
	s, err := a.loadToChange()
	if err != nil {
		return err
	}
	err = a.controls(s).Interrupt(pause.Interrupt{
		By:     personName(),
		Server: serverName(s.Server),
		At:     a.now().UTC().Round(0),
		Reason: control.Reason(reason),
	})
	if err != nil {
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
