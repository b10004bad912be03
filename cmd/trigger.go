package cmd

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"sched/schedule/actions"
	"sched/schedule/runfile"
	"sched/schedule/text"
	"sched/schedule/view"
)

// A triggerCommand is `sched trigger`.
type triggerCommand struct{ *app }

func newTriggerCommand(a *app) *cobra.Command {
	var o whenOptions
	var there askOptions
	var cancel bool
	c := &cobra.Command{
		Use:   "trigger TASK",
		Short: "Ask for one more run of a task, by the next tick or later",
		Long: `trigger leaves a request that the next tick answers, or with --in and --at a later one: also after
a reboot. The run is one like any other, with the task as it is defined then; its conditions and
one_server do not count. While its mutex is held it waits, for 24 hours at most. sched list and
sched history show what waits.

It is this server that runs the task, unless --server names another one of the store. That one is
asked: its next tick begins the run, within a minute. A request that nobody has begun after --wait,
or at ^C, is taken back.

With --cancel it takes back what waits: all of a task, or the runs that are named.`,
		Example: `  sched trigger nightly-report
  sched trigger nightly-report --in 10m
  sched trigger nightly-report --at "2026-11-22 02:30"
  sched trigger nightly-report --server web-2
  sched trigger --cancel nightly-report`,
		Args: func(c *cobra.Command, args []string) error {
			if cancel {
				return arguments(1, unlimited)(c, args)
			}
			return arguments(1, 1)(c, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			elsewhere := there.server != "" && there.elsewhere(a.ownName())
			switch {
			case cancel && elsewhere:
				return usage("call it there", "--cancel takes back what waits on this server")
			case cancel:
				return triggerCommand{a}.cancel(args, o)
			case elsewhere:
				return triggerCommand{a}.triggerThere(args[0], o, there)
			}
			return triggerCommand{a}.trigger(args[0], o)
		},
	}
	o.flags(c)
	there.flags(c, "the server that is to run it: this one unless given")
	c.Flags().BoolVar(&cancel, "cancel", false, "take back what waits, by task or run")
	return c
}

// trigger requests a run of the task.
func (a triggerCommand) trigger(name string, o whenOptions) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	t, err := view.FindTask(s, name)
	if err == nil {
		err = actions.Runnable(s, t)
	}
	if err != nil {
		return err
	}
	at, err := a.requestTime(o, s.Location)
	if err != nil {
		return err
	}
	request, err := a.actor(s).Trigger(t.Name, at, "")
	if err != nil {
		return err
	}
	return a.leaveRequests(s, []runfile.Request{request}, o, func(all []view.Request) any { return all[0] })
}

// triggerThere asks another server for a run of the task. Whether it may run there is for that server to say: environments differ.
func (a triggerCommand) triggerThere(name string, o whenOptions, there askOptions) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	t, err := view.FindTask(s, name)
	if err != nil {
		return err
	}
	at, err := a.requestTime(o, s.Location)
	if err != nil {
		return err
	}
	ask, err := a.asker(s, there)
	if err != nil {
		return err
	}
	q := ask.actor.TriggerThere(t.Name, at, "")
	answer, err := ask.ask(there.server, "to run "+t.Name, q)
	switch {
	case err != nil:
		return err
	case o.json:
		request := runfile.Request{Run: q.Run, Task: q.Task, At: q.At, Origin: "trigger by " + caller() + " on " + ask.actor.Server}
		tick := view.FirstTick(q.At, a.now())
		if answer != nil {
			tick = answer.Tick
		}
		return a.printJSON(view.RequestOf(request, tick, there.server))
	case answer != nil:
		fmt.Fprintf(a.out, "%s will run on %s %s (run %s)\n", t.Name, there.server, answer.Text, text.ShortRun(q.Run))
	}
	return nil
}

// cancel takes back requests: all for a task, or the one for a run.
func (a triggerCommand) cancel(names []string, o whenOptions) error {
	if o.in != "" || o.at != "" || o.json {
		return usage("name a task, or one run of those that `sched history` shows", "--cancel goes with no other flag")
	}
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	var chosen []runfile.Request
	for _, name := range names {
		found, err := a.requestsOf(s, name)
		if err != nil {
			return err
		}
		chosen = append(chosen, found...)
	}
	tick := a.tick(s, a.now(), runOptions{})
	var missed error
	for _, r := range chosen {
		_, err := tick.Cancel(r.Run, "cancelled by "+caller())
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, runfile.ErrAlive):
			missed = failed("`sched stop "+text.ShortRun(r.Run)+"` stops it", "a tick has begun run %s of %s just now", text.ShortRun(r.Run), r.Task)
			a.problem("%v", missed)
		case err != nil:
			return failed("", "%s: %w", r.Task, err)
		default:
			fmt.Fprintf(a.out, "%s will not run at %s (run %s)\n", r.Task, a.clock(view.FirstTick(r.At, r.At.Add(-1)), s.Location), text.ShortRun(r.Run))
		}
	}
	if missed != nil {
		return &exit{code: exitFailed, hint: missed.(*exit).hint}
	}
	return nil
}
