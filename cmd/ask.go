package cmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/actions"
	"sched/schedule/document"
	"sched/schedule/remote"
	"sched/schedule/text"
)

// askOptions say which other server is meant, and how long its answer is waited for.
type askOptions struct {
	server string
	wait   string
	noWait bool
	reason string
}

func (o *askOptions) waitFlags(c *cobra.Command, server string) {
	c.Flags().StringVar(&o.server, "server", "", server)
	c.Flags().StringVar(&o.wait, "wait", "3m", "how long another server may take to begin (30s, 2m)")
}

func (o *askOptions) flags(c *cobra.Command, server string) {
	o.waitFlags(c, server)
	c.Flags().BoolVar(&o.noWait, "no-wait", false, "leave the request to another server standing, and do not wait for the answer")
}

// patience reads --wait.
func (o askOptions) patience() (time.Duration, error) {
	d, err := document.ParseDuration(o.wait)
	if err != nil || d <= 0 || d > remote.Stands {
		return 0, usage("write it as 30s or 2m; a request stands for 3m", "--wait %q is not a time to wait for another server", o.wait)
	}
	return d, nil
}

// elsewhere reports whether another server is named than this one, own.
func (o askOptions) elsewhere(own string) bool { return o.server != "" && o.server != own }

// An asker asks other servers for things, and waits for their answers.
type asker struct {
	*app
	actor    actions.Actor
	patience time.Duration
	noWait   bool
	reason   string
}

func (a *app) asker(s *schedule.Schedule, o askOptions) (asker, error) {
	patience, err := o.patience()
	return asker{a, a.actor(s), patience, o.noWait, o.reason}, err
}

// ask leaves a request, and returns the answer: nil with --no-wait. What is asked for is said in words, "to stop run 5c2f9a1b3d4e". The error
// says why it was not done; a signal takes the request back.
func (a asker) ask(server, what string, q remote.Request) (*remote.Answer, error) {
	asked, err := a.actor.Ask(ctx, server, q)
	if err != nil {
		return nil, err
	}
	if a.noWait {
		a.problem("asked %s %s, for the next %s; its next tick is in %s", server, what, text.Duration(remote.Stands), a.until(asked))
		return nil, nil
	}
	terminate, _, release := signals()
	defer release()
	live, restore := a.liveLine(0)
	defer restore()
	if live == nil {
		a.problem("asked %s %s; its next tick is in %s", server, what, a.until(asked))
	}
	live.Show(func(int) string {
		return a.stdout().Mark(terminal.Active) + fmt.Sprintf(" asked %s %s; its next tick is in %s; ^C takes it back", server, what, a.until(asked))
	})
	answer, err := a.actor.Await(terminate, asked, a.patience, func() {
		live.Show(func(int) string { return a.stdout().Mark(terminal.Active) + fmt.Sprintf(" %s is at it", server) })
	})
	live.Hide()
	switch {
	case err != nil && terminate.Err() != nil:
		return nil, &exit{exitStopped, err, ""}
	case err == nil:
		err = asked.Refused(answer)
	}
	return &answer, err
}

// until is how long it is until the next tick of the server, in whole seconds.
func (a asker) until(asked actions.Asked) string {
	left := asked.Tick.Sub(a.now())
	for left < 0 { // it has come, and a later one may answer
		left += time.Minute
	}
	return text.Duration(left.Round(time.Second))
}
