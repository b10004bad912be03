package serve

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/run"
	"sched/schedule/serve"
	"sched/schedule/statedir"
	"sched/schedule/view"
)

type options struct {
	configs                   []string
	listen                    string
	readOnly                  bool
	edit, basePath, cert, key string
	behindProxy               bool
	hosts                     []string
	link                      string

	userHeader, groupHeader string
	proxies, groupScopes    []string
}

// check refuses flags that are wrong, or that do not go together.
func (o options) check() error {
	switch {
	case (o.cert == "") != (o.key == ""):
		return exit.Usage("give both", "--tls-cert and --tls-key belong together")
	case o.edit != "" && os.Geteuid() == 0:
		return exit.Usage("run it as the user of the tasks",
			"--edit is refused as root: whoever has a token of the scope edit would be root")
	case o.edit != "" && len(o.configs) > 1:
		return exit.Usage("serve that schedule alone", "--edit is for one schedule")
	case o.basePath != "" && (!strings.HasPrefix(o.basePath, "/") || strings.ContainsAny(o.basePath, "{}?#% ")):
		return exit.Usage("write it as /sched", "--base-path %q is not a path", o.basePath)
	case o.link != "" && !serve.Scope(o.link).OfTokens():
		return exit.Usage("read, operate, edit or approve", "--link %q is not a scope", o.link)
	case o.onSocket() && o.link != "":
		return exit.Usage("leave it out", "--link is for browsers, and they cannot open a socket")
	}
	return o.checkHeaderSignIn()
}

func (o options) checkHeaderSignIn() error {
	hasOthers := o.groupHeader != "" || len(o.proxies) > 0 || len(o.groupScopes) > 0
	switch {
	case o.userHeader == "" && hasOthers:
		return exit.Usage("add --user-header, as X-Forwarded-User",
			"--group-header, --group-scope and --proxy belong to --user-header")
	case o.userHeader != "" && (!o.behindProxy || o.onSocket()):
		return exit.Usage("listen at an address for the proxy, with --behind-proxy",
			"--user-header is for a server behind a proxy")
	}
	return nil
}

// onSocket reports whether the server listens on a socket, which no browser can open.
func (o options) onSocket() bool { return strings.HasPrefix(o.listen, "unix:") }

// loadCertificate returns the certificate of --tls-cert; nil without it.
func (o options) loadCertificate() (*tls.Certificate, error) {
	if o.cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, exit.Usage("both are files in PEM", "--tls-cert and --tls-key: %w", err)
	}
	return &pair, nil
}

// newHeaderSignIn returns how the headers of a proxy sign users in; nil without --user-header.
func (o options) newHeaderSignIn() (*serve.HeaderSignIn, error) {
	if o.userHeader == "" {
		return nil, nil
	}
	return serve.NewHeaderSignIn(o.userHeader, o.groupHeader, o.proxies, o.groupScopes)
}

// linkScope returns the scope of the login link: the scope of --link, or else the highest scope
// that the server has, without approve.
func (o options) linkScope() serve.Scope {
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

// newConfig returns the config of the server of a schedule. The server reads the schedule anew
// when it has changed, so its functions get the schedule of the moment.
func newConfig(a *app.App, s *schedule.Schedule, o options, signIn *serve.HeaderSignIn) serve.Config {
	live := &liveStore{app: a}
	viewOf := func(s *schedule.Schedule) (source view.Source) {
		live.use(s, func() { source = a.View(s) })
		return source
	}
	environment := a.OwnEnvironment()
	config := serve.Config{
		StateDir:     s.StateDir,
		Version:      app.Version,
		Now:          a.Now,
		Problem:      a.Warn,
		ReadOnly:     o.readOnly,
		Approve:      os.Geteuid() != 0, // as --edit
		BasePath:     o.basePath,
		Hosts:        o.hosts,
		BehindProxy:  o.behindProxy,
		Secure:       o.cert != "" || o.behindProxy,
		HeaderSignIn: signIn,
		Schedules: serve.Schedules{
			Load:  a.LoadLastValid,
			Check: a.LoadAfterEdit,
			View: func(s *schedule.Schedule) view.Source {
				source := viewOf(s)
				source.Controls.ReadOnly = true
				return source
			},
			Actor: func(s *schedule.Schedule, by string) control.Actor {
				actor := control.Actor{Source: viewOf(s), By: by}
				actor.Environ, actor.OnlyTicks = a.TickEnviron(s, environment)
				return actor
			},
			Runs: func(s *schedule.Schedule) (caller run.Caller) {
				live.use(s, func() { caller = a.Caller(s) })
				return caller
			},
		},
	}
	if o.edit != "" {
		config.Edit, _ = filepath.Abs(o.edit)
	}
	return config
}

// loadWithStateDir loads the schedule as LoadToChange does, and makes its state folder if that is
// missing.
func loadWithStateDir(a *app.App) (*schedule.Schedule, error) {
	s, err := a.LoadToChange()
	if err == nil {
		err = statedir.Make(s.StateDir)
	}
	if errors.Is(err, os.ErrPermission) {
		err = exit.Failed("", "%w", err) // exit code 1: the call is right, the folder is not
	}
	return s, err
}

// A liveStore connects the App with the store and the database of the current schedule. An edit may
// change both while requests are answered.
type liveStore struct {
	app *app.App

	mu        sync.Mutex
	connected schedule.Schedule // app.Connections are for this one; the zero value before the first use
}

// use calls read when the App has the connections of s. Only one read runs at a time.
func (l *liveStore) use(s *schedule.Schedule, read func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.connected
	if c.Name != s.Name || c.StateDir != s.StateDir || !reflect.DeepEqual(c.Store, s.Store) {
		time.AfterFunc(maxUse, l.app.Connections.Close)
		l.connected, l.app.Connections = *s, app.Connections{}
	}
	read()
}

// maxUse is how long requests may use the earlier connections after an edit. A stop takes that long
// only if the kill_after of its task does.
const maxUse = time.Hour
