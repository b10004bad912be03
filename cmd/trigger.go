package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
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
24 hours at most. sched list and sched history show what waits.

Only the user of the ticks, with the variables of the ticks, can start it now. For others the next
tick does, as it does with --next-tick; there a task without background: true has its turn.

It is this server that runs the task.

With --cancel it takes back what waits: all of a task, or the runs that are named.`,
		Example: `  sched trigger nightly-report
  sched trigger nightly-report --in 10m
  sched trigger nightly-report --at "2026-11-22 02:30"
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
	if name == "" {
		if name, err = a.chooseTask(s, "trigger TASK"); err != nil {
			return err
		}
	}
	t, err := view.FindTask(s, name)
	if err == nil {
		err = control.Runnable(s, t)
	}
	if err != nil {
		return err
	}
	at, err := a.requestTime(o, s.Location)
	if err != nil {
		return err
	}
	request, err := a.actor(s).Trigger(t.Name, at, o.reason)
	if err != nil {
		return err
	}
	err = a.leaveRequests(s, []state.Row{request}, o, func(all []view.Request) any { return all[0] })
	if err == nil {
		a.noteChange(s, "trigger", t.Name, o.reason)
	}
	return err
}

func (a triggerCommand) cancel(names []string, o whenOptions) error {
	if o.in != "" || o.at != "" || o.nextTick || o.json {
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
	tick := a.tick(s, a.now(), runOptions{})
	missed := false
	for _, r := range chosen {
		done, err := tick.Cancel(r, control.Because("cancelled by "+caller(), o.reason))
		switch {
		case err != nil:
			return failed("", "%s: %w", r.Task, err)
		case !done:
			missed = true
			a.problem("%v", failed("`sched stop "+humanize.ShortRun(r.ID)+"` stops it", "a tick has begun run %s of %s just now", humanize.ShortRun(r.ID), r.Task))
		default:
			a.noteChange(s, "cancel", r.Task, o.reason)
			fmt.Fprintf(a.out, "%s will not run at %s (run %s)\n", r.Task, a.clock(view.FirstTick(r.Slot, r.Slot.Add(-1)), s.Location), humanize.ShortRun(r.ID))
		}
	}
	if missed {
		return &exit{code: exitFailed}
	}
	return nil
}
