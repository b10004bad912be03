package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/pause"
	"sched/schedule/view"
)

type resumeCommand struct{ *app }

func newResumeCommand(a *app) *cobra.Command {
	var tags []string
	var planned bool
	var reason string
	c := &cobra.Command{
		Use:   "resume [TASK...]",
		Short: "End a pause, or take back a planned one",
		Long: `resume ends the pause of everything, or the pauses of the tasks that are named: on this machine, or
with a store on all servers of the schedule. Tasks that were paused by name stay paused until they
are resumed by name. To resume a task that is not paused is no failure: resume says so.

With --planned it takes back the pauses that have not begun yet; without, these stay.`,
		Example: `  sched resume --reason "4.2 is out"
  sched resume nightly-report
  sched resume --planned nightly-report`,
		Args: arguments(0, unlimited),
		RunE: func(_ *cobra.Command, args []string) error {
			return resumeCommand{a}.resume(args, tags, planned, reason)
		},
	}
	tagFlag(c, &tags)
	c.Flags().BoolVar(&planned, "planned", false, "take back the pauses that have not begun yet instead")
	reasonFlag(c, &reason)
	return c
}

func (a resumeCommand) resume(names, tags []string, planned bool, reason string) error {
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
	is := a.actor(s).InEffect
	if planned {
		is, reason = a.actor(s).ToCome, control.Because(control.Planned, reason)
	}
	ended, err := a.actor(s).Resume(names, is)
	if err != nil {
		return failed("", "cannot resume: %w", err)
	}
	changed := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return len(ended[name]) == 0 })
	if len(changed) > 0 {
		a.noteChange(s, "resume", strings.Join(changed, ", "), reason)
	}
	if planned {
		a.sayTakenBack(s, names, ended)
		return nil
	}
	return a.sayResumed(s, names, ended, orders.Pauses)
}

// sayTakenBack says which planned pauses were taken back.
func (a resumeCommand) sayTakenBack(s *schedule.Schedule, names []string, ended pause.Pauses) {
	for _, name := range names {
		for _, one := range ended[name] {
			fmt.Fprintf(a.out, "%s will not be %s\n", pauseSubject(name), one.Text(a.now(), s.Location))
		}
		if len(ended[name]) == 0 {
			fmt.Fprintf(a.out, "no pause of %s is planned\n", pauseSubject(name))
		}
	}
}

// sayResumed returns an error if a named task is not paused by its name, but everything is paused.
func (a resumeCommand) sayResumed(s *schedule.Schedule, names []string, ended, before pause.Pauses) (err error) {
	now := a.now()
	all, everything := before.InEffect(pause.Everything, now)
	everything = everything && names[0] != pause.Everything
	byFile, err := a.sayFilePauses(s, names)
	for _, name := range names {
		switch {
		case len(ended[name]) > 0:
			fmt.Fprintf(a.out, "%s is resumed; it was %s\n", pauseSubject(name), ended[name][0].Text(now, s.Location))
		case slices.Contains(byFile, name):
		case name == pause.Everything && len(before.Tasks(now)) == 0:
			fmt.Fprintln(a.out, "nothing is paused")
		case name == pause.Everything:
			fmt.Fprintln(a.out, "not everything is paused")
		case everything:
			fmt.Fprintf(a.out, "%s is not paused by its name\n", name)
		default:
			fmt.Fprintf(a.out, "%s is not paused\n", name)
		}
		for _, one := range before.ToCome(name, now) {
			fmt.Fprintf(a.out, "  it will be %s\n", one.Text(now, s.Location))
		}
		t, missing := view.FindTask(s, name)
		if everything && missing == nil && !t.EvenWhenPaused && len(ended[name]) == 0 {
			err = &exit{code: exitFailed}
		}
	}
	if everything {
		a.problem("everything is %s", all.Text(now, s.Location))
		fmt.Fprintf(a.err, "hint: `sched resume%s` ends that\n", a.configFlag())
	}
	if names[0] == pause.Everything {
		for _, name := range before.Tasks(now) {
			one, _ := before.InEffect(name, now)
			fmt.Fprintf(a.out, "%s stays %s\n", name, one.Text(now, s.Location))
		}
	}
	return err
}

// sayFilePauses says which tasks are paused by the schedule, which nobody can end. It returns them,
// with an error if there are such tasks.
func (a resumeCommand) sayFilePauses(s *schedule.Schedule, names []string) (byFile []string, err error) {
	for _, p := range s.Pauses {
		from, until, ok := p.At(a.now())
		if !ok {
			continue
		}
		for _, name := range names {
			t := s.Task(name)
			if name == pause.Everything && p.Everything || t != nil && p.IsFor(t) {
				a.problem("%s is %s", pauseSubject(name), pause.OfFile(p, from, until).Text(a.now(), s.Location))
				fmt.Fprintf(a.err, "hint: change that at %s\n", p.Place)
				byFile, err = append(byFile, name), &exit{code: exitFailed}
			}
		}
	}
	return byFile, err
}
