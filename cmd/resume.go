package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/pause"
	"sched/schedule/view"
)

type resumeCommand struct{ *app }

func newResumeCommand(a *app) *cobra.Command {
	var tags []string
	var reason string
	c := &cobra.Command{
		Use:   "resume [TASK...]",
		Short: "End a pause",
		Long: `resume ends the pause of everything, or those of the tasks that are named: on this machine, or with
a store on all servers of the schedule. Tasks that were paused by name stay paused until they are
resumed by name. What is not paused is told, and no failure.`,
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
