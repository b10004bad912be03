package cmd

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/serve"
	"sched/schedule/view"
)

type tokenOptions struct {
	scope, name string
	hook, badge string
	list        bool
	revoke      string
}

func newServeTokenCommand(a *app) *cobra.Command {
	var o tokenOptions
	c := &cobra.Command{
		Use:   "token",
		Short: "Make a token for sched serve, list them with the sessions, or revoke one",
		Long: `token makes a token, and prints it as its last word: it is kept nowhere, only its hash is. The scope
read is for looking, operate also for triggering, retrying, stopping and pausing, edit also for
writing tasks. The audit log shows the name of the token with each change.

With --hook it makes a key that can only trigger one task, with the defaults of its params, and with
--badge one that can only show how its last run ended. These are part of a URL.

A browser that has signed in has a session, which --list shows and --revoke ends.`,
		Example: `  sched serve token --scope read --name grafana
  sched serve token --hook nightly-report
  sched serve token --list
  sched serve token --revoke grafana`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return serveCommand{a}.token(o) },
	}
	f := c.Flags()
	f.StringVar(&o.scope, "scope", "", "read, operate or edit")
	f.StringVar(&o.name, "name", "", "whose it is, for the history and the audit log (default: you)")
	f.StringVar(&o.hook, "hook", "", "make a key that triggers this task")
	f.StringVar(&o.badge, "badge", "", "make a key that shows the badge of this task")
	f.BoolVar(&o.list, "list", false, "print the tokens and the sessions that there are")
	f.StringVar(&o.revoke, "revoke", "", "forget the token or the session of that name")
	return c
}

func (a serveCommand) token(o tokenOptions) error {
	things := 0
	for _, asked := range []bool{o.scope != "", o.hook != "", o.badge != "", o.list, o.revoke != ""} {
		if asked {
			things++
		}
	}
	if things != 1 {
		return usage("see `sched serve token --help`", "name one of --scope, --hook, --badge, --list and --revoke")
	}
	s, err := a.trustedState()
	if err != nil {
		return err
	}
	switch {
	case o.list:
		return a.listTokens(s)
	case o.revoke != "":
		if err := serve.RevokeToken(s.StateDir, o.revoke); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s is revoked\n", o.revoke)
		return nil
	}
	return a.makeToken(s, o)
}

func (a serveCommand) makeToken(s *schedule.Schedule, o tokenOptions) error {
	token := serve.Token{Name: o.name, Scope: serve.Scope(o.scope), Made: a.now().UTC().Round(0)}
	what := "a token to " + o.scope
	switch {
	case o.hook != "":
		token.Scope, token.Task, what = serve.ScopeHook, o.hook, "a key to trigger "+o.hook
	case o.badge != "":
		token.Scope, token.Task, what = serve.ScopeBadge, o.badge, "a key to show the badge of "+o.badge
	default:
		if !serve.Scope(o.scope).OfTokens() {
			return usage("read, operate or edit", "--scope %q is not a scope", o.scope)
		}
	}
	if token.Task != "" {
		task, err := view.FindTask(s, token.Task)
		if err != nil {
			return err
		}
		if _, problem := task.CheckValues(nil); problem != nil && o.hook != "" {
			return usage(serve.HookHint, "a hook sets no params: %w", problem)
		}
	}
	if token.Name == "" {
		token.Name = callerName()
		if token.Task != "" {
			token.Name = string(token.Scope) + ":" + token.Task
		}
	}
	if !serve.IsName(token.Name) {
		return usage("letters, digits, blanks and . _ @ + : / -, at most 64", "--name %q cannot be a name", token.Name)
	}
	secret, err := serve.AddToken(s.StateDir, token)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s, called %s; it is shown only now: %s\n", what, token.Name, secret)
	return nil
}

func (a serveCommand) listTokens(s *schedule.Schedule) error {
	all, err := serve.Tokens(s.StateDir)
	if err != nil {
		return err
	}
	now := a.now()
	all = slices.DeleteFunc(all, func(t serve.Token) bool { return t.Session != nil && !now.Before(t.Session.Until) })
	if len(all) == 0 {
		fmt.Fprintln(a.out, "there are no tokens")
		return nil
	}
	t := a.stdout().Table()
	defer t.Flush()
	t.Head("NAME", "SCOPE", "TASK", "MADE", "SIGNED IN WITH", "UNTIL")
	for _, one := range all {
		with, until := "-", "-"
		if one.Session != nil {
			with, until = one.Session.By, humanize.MinuteZone(one.Session.Until, s.Location)
		}
		t.Row(one.Name, string(one.Scope), cmp.Or(one.Task, "-"), humanize.MinuteZone(one.Made, s.Location), with, until)
	}
	return nil
}
