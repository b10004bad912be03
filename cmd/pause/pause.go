// Package pause has the commands `sched pause`, `sched resume` and `sched interrupt`: what package
// schedule/pause keeps for the ticks.
package pause

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/mutex"
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

func New(a *app.App) *cobra.Command {
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
		Args: flags.Arguments(0, flags.Unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return pauseTasks(a, args, o) },
	}
	f := c.Flags()
	flags.AddTag(c, &o.tags)
	f.StringVar(&o.from, "from", "", "begin at this time: "+console.TimeForms)
	f.StringVar(&o.duration, "for", "", "end by itself after so long (10m, 2h)")
	f.StringVar(&o.until, "until", "", "end by itself at this time")
	f.BoolVar(&o.stop, "stop", false, "stop the runs that go on when it begins, too")
	flags.AddReason(c, &o.reason)
	c.AddCommand(newList(a))
	return c
}

func pauseTasks(a *app.App, names []string, o pauseOptions) error {
	s, err := a.LoadToChange()
	if err != nil {
		return err
	}
	request, err := parseFlags(a, o, s)
	if err != nil {
		return err
	}
	typed := names
	if names, err = a.Actor(s).ChooseTasks(nil, names, o.tags); err != nil {
		isFlag := func(name string) bool { return slices.Contains([]string{"for", "from", "until"}, name) }
		if i := slices.IndexFunc(typed, isFlag); i >= 0 {
			return exit.Usage("did you mean `--"+strings.Join(typed[i:], " ")+"`?", "%v", err)
		}
		return err
	}
	newPause, earlier, err := a.Actor(s).Pause(names, request)
	if err != nil {
		return errorOf(s, err)
	}
	a.NoteChange(s, "pause", strings.Join(names, ", "), request.LogReason(s.Location))
	for _, name := range names {
		sayPaused(a, s, name, newPause, earlier)
	}
	if !newPause.Planned {
		sayRunning(a, s, names, newPause)
	}
	isBare := slices.Contains(names, pause.Everything) && newPause.Until.IsZero() && o.reason == ""
	if isBare && a.Stderr().IsTerminal() {
		fmt.Fprintf(a.Err, "hint: `sched pause%s TASK` pauses one task; --for 1h ends a pause by itself\n",
			a.ConfigFlag())
	}
	return nil
}

// errorOf is the error of a pause that was not made. If the store does not answer, its hint also
// says what stops tasks of this machine alone.
func errorOf(s *schedule.Schedule, err error) error {
	store, isStore := errors.AsType[*mutex.StoreError](err)
	if !isStore {
		return exit.Failed("", "cannot pause: %w", err)
	}
	alone := "a `maintenance_file` at the top of the schedule stops them while it is there"
	if s.Maintenance != "" {
		alone = "`touch " + humanize.ShellWord(s.Maintenance) + "` stops them"
	}
	hint := "tasks that need no lock of the store go on: on this machine alone " + alone
	if store.Hint != "" {
		hint = store.Hint + "; " + hint
	}
	return exit.Failed(hint, "cannot pause: %v", err)
}

// flagPrefix stands before the names of times in the errors of control.Actor.CheckPlanned, because
// here they are flags.
const flagPrefix = "--"

func parseFlags(a *app.App, o pauseOptions, s *schedule.Schedule) (request control.PauseWish, err error) {
	request = control.PauseWish{Stop: o.stop, Reason: o.reason}
	begin := a.Now()
	if o.from != "" {
		if begin, err = a.ParseTime("from", o.from, s.Location); err != nil {
			return request, err
		}
		begin = begin.UTC().Truncate(time.Second)
		request.From = begin
	}
	if request.Until, err = parseEnd(a, o, begin, s.Location); err != nil {
		return request, err
	}
	if o.from != "" {
		return request, a.Actor(s).CheckPlanned(request.From, request.Until, flagPrefix)
	}
	return request, nil
}

// parseEnd returns when a pause ends that begins at begin, and the zero time if it has no end.
func parseEnd(a *app.App, o pauseOptions, begin time.Time, zone *time.Location) (end time.Time, err error) {
	switch {
	case o.duration != "" && o.until != "":
		return end, exit.Usage("", "--for and --until exclude each other")
	case o.duration != "":
		const hint = "write how long it lasts, as 90s, 10m, 2h or 3d"
		duration, err := yamldoc.ParseDuration(o.duration)
		if err != nil {
			return end, exit.Usage(hint, "--for %q is not a duration", o.duration)
		}
		if duration < time.Second {
			return end, exit.Usage(hint, "--for %s is too short: a pause ends after now", o.duration)
		}
		return begin.Add(duration).UTC().Truncate(time.Second), nil
	case o.until != "":
		if end, err = a.ParseTime("until", o.until, zone); err != nil {
			return end, err
		}
		if now := a.Now(); !end.After(now) {
			hint := "say when it ends, as --until \"tomorrow 8:00\", or how long it lasts, as --for 2h"
			return end, exit.Usage(hint, "--until %q is in the past: it is %s", o.until, humanize.MinuteZone(now, zone))
		}
		return end.UTC(), nil
	}
	return end, nil
}

// sayPaused says until when a task, or everything, is paused now, or that it will be.
func sayPaused(a *app.App, s *schedule.Schedule, name string, newPause pause.Pause, earlier pause.Pauses) {
	now := a.Now()
	resume := "sched resume" + a.ConfigFlag()
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
		fmt.Fprintf(a.Out, "%s will be paused from %s until %s\n", subject(name), begin, end)
	} else {
		fmt.Fprintf(a.Out, "%s is paused until %s\n", subject(name), end)
		if replaced, ok := earlier.InEffect(name, now); ok {
			fmt.Fprintf(a.Out, "  it was %s\n", replaced.Text(now, s.Location))
		}
	}
	if name == pause.Everything {
		sayEvenWhenPaused(a, s)
	}
}

func sayEvenWhenPaused(a *app.App, s *schedule.Schedule) {
	var names []string
	for _, t := range s.Tasks {
		if t.EvenWhenPaused && s.Active(t) {
			names = append(names, t.Name)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(a.Out, "  but %s (even_when_paused)\n", strings.Join(names, ", "))
	}
}

// subject is the subject of a sentence about a pause of a task, or of pause.Everything.
func subject(name string) string {
	if name == pause.Everything {
		return "everything"
	}
	return name
}

// sayRunning says which runs of the paused tasks go on or will be stopped, and which may have ended
// since their servers reported them. Servers that do not answer are left out: it says which.
func sayRunning(a *app.App, s *schedule.Schedule, names []string, newPause pause.Pause) {
	live := a.View(s).Live()
	elsewhere, err := view.RunningElsewhere(context.Background(), a.View(s))
	if err != nil {
		a.View(s).LeftOut(err)
	}
	pausesEverything := slices.Contains(names, pause.Everything)
	thisServer := a.ServerName(s.Server)
	var runs, uncertain []string
	for _, row := range append(live, elsewhere...) {
		switch {
		case row.Waits() || !pausesEverything && !slices.Contains(names, row.Task):
		case !row.LastReported.IsZero():
			uncertain = append(uncertain,
				fmt.Sprintf("%s was running on %s %s ago", row.Task, row.Server, a.Ago(row.LastReported)))
		case row.Server != thisServer:
			runs = append(runs, row.Task+" on "+row.Server)
		default:
			runs = append(runs, row.Task)
		}
	}
	goOn, stopped := "go on", ""
	if len(runs) == 1 {
		goOn = "goes on"
	}
	end := "; `sched stop TASK` ends what runs on its machine"
	if newPause.Stop {
		goOn, end, stopped = "will be stopped by the next tick", "", "; the next tick stops what has not"
	}
	saySome(a, runs, goOn, end)
	saySome(a, uncertain, "may have ended", stopped)
}

// saySome says of some runs what they do, and names them; of none it says nothing.
func saySome(a *app.App, runs []string, do, end string) {
	if len(runs) > 0 {
		fmt.Fprintf(a.Out, "%s %s: %s%s\n", humanize.Count(len(runs), "run"), do, humanize.Names(runs, 5), end)
	}
}

func newList(a *app.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "Show the pauses that are in effect, and those that are planned",
		Long: `list shows the pauses that are in effect, and those that are planned, by people and by pauses: in
the schedule. Of a pause that comes again it shows the next one.

A task that is called list is paused by sched pause -- list.`,
		Example: `  sched pause list`,
		Args:    flags.Arguments(0, 0),
		RunE:    func(*cobra.Command, []string) error { return listPauses(a, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

func listPauses(a *app.App, asJSON bool) error {
	s, err := a.LoadToShow()
	if err != nil {
		return err
	}
	if len(s.Store.Servers) == 0 { // else the store has the pauses
		if err := view.Readable(s.StateDir); err != nil {
			return err
		}
	}
	inEffect, planned := view.PausesNow(s, a.View(s).Pauses(), view.InSchedule(s), a.Now())
	pauses := append(inEffect, planned...)
	if asJSON {
		return a.PrintJSON(pauses)
	}
	if len(pauses) == 0 {
		fmt.Fprintln(a.Out, "nothing is paused, and no pause is planned")
	}
	for _, p := range pauses {
		verb := "is"
		if p.Planned {
			verb = "will be"
		}
		fmt.Fprintln(a.Out, cmp.Or(p.Task, "everything"), verb, p.Raw.Text(a.Now(), s.Location))
	}
	return nil
}

func NewInterrupt(a *app.App) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "interrupt",
		Short: "End the ticks that wait for later seconds of their minute (after a deploy)",
		Long: `interrupt ends the ticks that stay for tasks which are due every few seconds: on this machine, or
with a store on all servers of the schedule. Within a second they start no further slot; these are
recorded as skipped. Runs go on to their ends, and a task that was due at the full minute still
takes its turn. The tick of the next minute has the new schedule and the new sched.`,
		Example: `  sched interrupt --reason "deploying 4.2"`,
		RunE:    func(*cobra.Command, []string) error { return interrupt(a, reason) },
	}
	flags.AddReason(c, &reason)
	return c
}

func interrupt(a *app.App, reason string) error {
	s, err := a.LoadToChange()
	if err != nil {
		return err
	}
	err = a.Controls(s).Interrupt(pause.Interrupt{
		By:     app.PersonName(),
		Server: a.ServerName(s.Server),
		At:     a.Now().UTC().Round(0),
		Reason: control.Reason(reason),
	})
	if err != nil {
		return exit.Failed("", "cannot interrupt: %w", err)
	}
	a.NoteChange(s, "interrupt", pause.Everything, reason)
	where := "on this machine"
	if a.Store(s) != nil {
		where = "on all servers"
	}
	fmt.Fprintf(a.Out, "ticks that run %s start no further slot of their minute\n", where)
	return nil
}
