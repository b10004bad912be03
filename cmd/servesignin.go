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

// checkHeaderSignIn refuses flags for users of a proxy that do not go together.
func (o serveOptions) checkHeaderSignIn() error {
	hasOthers := o.groupHeader != "" || len(o.proxies) > 0 || len(o.groupScopes) > 0
	switch {
	case o.userHeader == "" && hasOthers:
		return usage("add --user-header, as X-Forwarded-User",
			"--group-header, --group-scope and --proxy belong to --user-header")
	case o.userHeader != "" && (!o.behindProxy || o.onSocket()):
		return usage("listen at an address for the proxy, with --behind-proxy",
			"--user-header is for a server behind a proxy")
	}
	return nil
}

// newHeaderSignIn returns how the headers of a proxy sign users in; nil without --user-header.
func (o serveOptions) newHeaderSignIn() (*serve.HeaderSignIn, error) {
	if o.userHeader == "" {
		return nil, nil
	}
	return serve.NewHeaderSignIn(o.userHeader, o.groupHeader, o.proxies, o.groupScopes)
}

// offerSignIn prints how a browser signs in. The root is the URL without --base-path.
func (a serveCommand) offerSignIn(service serve.Service, root string, o serveOptions) {
	if o.link == "" && !a.stdout().IsTerminal() {
		fmt.Fprintln(a.out, "sign in with a token of `sched serve token --scope read`")
		return
	}
	scope := o.linkScope()
	fmt.Fprintf(a.out, "sign in to %s, once and within 10 minutes: %s\n", scope, root+service.LoginPath(scope))
}

// linkScope returns the scope of the login link: the scope of --link, or else the highest scope
// that the server has.
func (o serveOptions) linkScope() serve.Scope {
	switch {
	case o.link != "":
		return serve.Scope(o.link)
	case o.readOnly:
		return serve.ScopeRead
	case o.edit != "":
		return serve.ScopeEdit
	}
	return serve.ScopeOperate
}

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
	if err := o.check(); err != nil {
		return err
	}
	s, err := a.loadWithStateDir()
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

// check refuses flags that name no action, or several.
func (o tokenOptions) check() error {
	actions := 0
	for _, isAsked := range []bool{o.scope != "", o.hook != "", o.badge != "", o.list, o.revoke != ""} {
		if isAsked {
			actions++
		}
	}
	if actions != 1 {
		return usage("see `sched serve token --help`", "name one of --scope, --hook, --badge, --list and --revoke")
	}
	return nil
}

// makeToken makes a token for a person or a program, or a key for one task, and prints its secret.
func (a serveCommand) makeToken(s *schedule.Schedule, o tokenOptions) error {
	token := serve.Token{Name: o.name, Made: a.now().UTC().Round(0)}
	var description string
	switch {
	case o.hook != "":
		token.Scope, token.Task = serve.ScopeHook, o.hook
		description = "a key to trigger " + o.hook
	case o.badge != "":
		token.Scope, token.Task = serve.ScopeBadge, o.badge
		description = "a key to show the badge of " + o.badge
	default:
		token.Scope = serve.Scope(o.scope)
		description = "a token to " + o.scope
		if !token.Scope.OfTokens() {
			return usage("read, operate or edit", "--scope %q is not a scope", o.scope)
		}
	}
	if token.Task != "" {
		task, err := view.FindTask(s, token.Task)
		if err != nil {
			return err
		}
		if _, problem := task.CheckValues(nil); problem != nil && token.Scope == serve.ScopeHook {
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
	fmt.Fprintf(a.out, "%s, called %s; it is shown only now: %s\n", description, token.Name, secret)
	return nil
}

// listTokens prints the tokens, and the sessions that have not ended.
func (a serveCommand) listTokens(s *schedule.Schedule) error {
	tokens, err := serve.Tokens(s.StateDir)
	if err != nil {
		return err
	}
	now := a.now()
	tokens = slices.DeleteFunc(tokens, func(t serve.Token) bool {
		return t.Session != nil && !now.Before(t.Session.Until)
	})
	if len(tokens) == 0 {
		fmt.Fprintln(a.out, "there are no tokens")
		return nil
	}
	table := a.stdout().Table()
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
