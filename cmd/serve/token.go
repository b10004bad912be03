package serve

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/serve"
	"sched/schedule/view"
)

type tokenOptions struct {
	scope, name, hook, badge string
	calendar                 bool
	list                     bool
	revoke                   string
}

func newTokenCommand(a *app.App) *cobra.Command {
	var o tokenOptions
	c := &cobra.Command{
		Use:   "token",
		Short: "Make a token for sched serve, list them with the sessions, or revoke one",
		Long: `token makes a token, and prints it as its last word: it is kept nowhere, only its hash is. The scope
read is for looking, operate also for triggering, retrying, stopping and pausing, edit also for
writing tasks; approve is for looking, and for approving proposals. The audit log shows the name of the token with each change.

With --hook it makes a key that can only trigger one task, with the defaults of its params, and with
--badge one that can only show how its last run ended. The key of --calendar can only read the
calendar of all tasks. These are part of a URL.

A browser that has signed in has a session, which --list shows and --revoke ends.`,
		Example: `  sched serve token --scope read --name grafana
  sched serve token --hook nightly-report
  sched serve token --calendar --name phone
  sched serve token --list
  sched serve token --revoke grafana`,
		Args: flags.NoArguments("its actions are flags: --scope, --hook, --badge, --calendar, --list or --revoke"),
		RunE: func(*cobra.Command, []string) error { return token(a, o) },
	}
	f := c.Flags()
	f.StringVar(&o.scope, "scope", "", "read, operate, edit or approve; or several, as operate,approve")
	f.StringVar(&o.name, "name", "", "whose it is, for the history and the audit log (default: you)")
	f.StringVar(&o.hook, "hook", "", "make a key that triggers this task")
	f.StringVar(&o.badge, "badge", "", "make a key that shows the badge of this task")
	f.BoolVar(&o.calendar, "calendar", false, "make a key that reads the calendar")
	f.BoolVar(&o.list, "list", false, "print the tokens and the sessions that there are")
	f.StringVar(&o.revoke, "revoke", "", "forget the token or the session of that name")
	return c
}

func token(a *app.App, o tokenOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	s, err := loadWithStateDir(a)
	if err != nil {
		return err
	}
	switch {
	case o.list:
		return listTokens(a, s)
	case o.revoke != "":
		if err := serve.RevokeToken(s.StateDir, o.revoke); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%s is revoked\n", o.revoke)
		return nil
	}
	return makeToken(a, s, o)
}

// check refuses flags that name no action, or several.
func (o tokenOptions) check() error {
	actions := 0
	for _, isGiven := range []bool{o.scope != "", o.hook != "", o.badge != "", o.calendar, o.list, o.revoke != ""} {
		if isGiven {
			actions++
		}
	}
	if actions != 1 {
		return exit.Usage("see `sched serve token --help`",
			"name one of --scope, --hook, --badge, --calendar, --list and --revoke")
	}
	return nil
}

func makeToken(a *app.App, s *schedule.Schedule, o tokenOptions) error {
	token, err := newToken(a, s, o)
	if err != nil {
		return err
	}
	secret, err := serve.AddToken(s.StateDir, token)
	if err != nil {
		return err
	}
	description := "a token to " + string(token.Scope)
	switch token.Scope {
	case serve.ScopeHook:
		description = "a key to trigger " + token.Task
	case serve.ScopeBadge:
		description = "a key to show the badge of " + token.Task
	case serve.ScopeCalendar:
		description = "a key to read the calendar"
	}
	fmt.Fprintf(a.Out, "%s, called %s; it is shown only now: %s\n", description, token.Name, secret)
	return nil
}

// newToken returns a token for a person or a program, or a key for one task. Without --name, a
// token has the name of the person who makes it, and a key the name of its scope and task.
func newToken(a *app.App, s *schedule.Schedule, o tokenOptions) (serve.Token, error) {
	token := serve.Token{Scope: serve.Scope(o.scope), Task: cmp.Or(o.hook, o.badge), Made: a.Now().UTC().Round(0)}
	name := app.PersonName()
	switch {
	case o.hook != "":
		token.Scope = serve.ScopeHook
	case o.badge != "":
		token.Scope = serve.ScopeBadge
	case o.calendar:
		token.Scope, name = serve.ScopeCalendar, string(serve.ScopeCalendar)
	case !token.Scope.OfTokens():
		return token, exit.Usage("read, operate, edit or approve", "--scope %q is not a scope", o.scope)
	}
	if token.Task != "" {
		name = string(token.Scope) + ":" + token.Task
		if err := checkKey(s, token); err != nil {
			return token, err
		}
	}
	token.Name = cmp.Or(o.name, name)
	if !serve.IsName(token.Name) {
		return token, exit.Usage("letters, digits, blanks and . _ @ + : / -, at most 64",
			"--name %q cannot be a name", token.Name)
	}
	return token, nil
}

// checkKey refuses a key for a task that does not exist, or that a hook cannot trigger.
func checkKey(s *schedule.Schedule, key serve.Token) error {
	task, err := view.FindTask(s, key.Task)
	if err != nil {
		return err
	}
	if _, problem := task.CheckValues(nil); problem != nil && key.Scope == serve.ScopeHook {
		return exit.Usage(serve.HookHint, "a hook sets no params: %w", problem)
	}
	return nil
}

func listTokens(a *app.App, s *schedule.Schedule) error {
	tokens, err := serve.Tokens(s.StateDir)
	if err != nil {
		return err
	}
	now := a.Now()
	tokens = slices.DeleteFunc(tokens, func(t serve.Token) bool {
		return t.Session != nil && !now.Before(t.Session.Until)
	})
	if len(tokens) == 0 {
		fmt.Fprintln(a.Out, "there are no tokens")
		return nil
	}
	table := a.Table()
	defer table.Flush()
	table.Head("NAME", "SCOPE", "TASK", "MADE", "SIGNED IN WITH", "UNTIL")
	for _, token := range tokens {
		signedInWith, until := "-", "-"
		if session := token.Session; session != nil {
			signedInWith, until = session.By, humanize.MinuteZone(session.Until, s.Location)
		}
		made := humanize.MinuteZone(token.Made, s.Location)
		table.Row(token.Name, string(token.Scope), cmp.Or(token.Task, "-"), made, signedInWith, until)
	}
	return nil
}
