package cmd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/doctor"
	"sched/schedule/load"
	"sched/schedule/run"
	"sched/schedule/serve"
	"sched/schedule/serve/web"
	"sched/schedule/statedir"
	"sched/schedule/view"
)

type serveOptions struct {
	configs     []string
	listen      string
	readOnly    bool
	edit        string
	basePath    string
	cert, key   string
	behindProxy bool
	hosts       []string
	link        string

	userHeader, groupHeader string
	proxies, groupScopes    []string
}

type serveCommand struct{ *app }

func newServeCommand(a *app) *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve pages and an HTTP API for the tasks and their runs",
		Long: `serve answers HTTP requests about the schedule: what runs when, what became of it and why; and it
passes on what people ask for, as sched trigger, retry, stop and pause do. In a browser it is pages,
for programs an API. Unless --read-only it answers at once what other servers of the store ask of this
one. Ticks do not know it, and nothing is lost when it is down.

On TCP a token is needed, which sched serve token makes. A browser signs in with one, or with the
link that is printed on a terminal, once and within 10 minutes. With --link it is printed whatever
the output is: keep it out of logs. A socket (--listen unix:PATH) is for its owner, without a token.
An address that other machines reach is refused without TLS.

With several -c each schedule is below /s/NAME: its name, or its file's if two have the same name.
The first page shows them all. A browser signs in once, to the schedules that have its token.

With --user-header a proxy says who asks. Only --proxy is believed, and users may do what
--group-scope says, and nothing else.`,
		Example: `  sched serve
  sched serve --listen unix:/run/user/1000/sched.sock
  sched serve --listen 0.0.0.0:7323 --tls-cert cert.pem --tls-key key.pem --host jobs.example.com
  sched serve --link read
  sched serve --behind-proxy --user-header X-Forwarded-User --group-header X-Forwarded-Groups ` +
			`--proxy 10.0.0.5 --group-scope ops=edit
  sched serve --read-only
  sched serve --edit schedule.d
  sched serve -c /srv/shop/schedule.yaml -c /srv/mail/schedule.yaml`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return serveCommand{a}.serve(o) },
	}
	f := c.Flags()
	f.StringArrayVarP(&o.configs, "config", "c", nil,
		"the schedule file; give it again for each further schedule")
	f.StringVar(&o.listen, "listen", "127.0.0.1:7323", "host:port, or unix:PATH for a socket")
	f.BoolVar(&o.readOnly, "read-only", false, "have no routes that change anything")
	f.StringVar(&o.edit, "edit", "", "a folder that the schedule includes: let tasks be written into it")
	f.StringVar(&o.basePath, "base-path", "", "the path under which a proxy passes requests on, as /sched")
	f.StringVar(&o.cert, "tls-cert", "", "speak TLS with this certificate (PEM)")
	f.StringVar(&o.key, "tls-key", "", "the key of the certificate (PEM)")
	f.BoolVar(&o.behindProxy, "behind-proxy", false,
		"a proxy speaks TLS, and puts who asks at the end of X-Forwarded-For")
	f.StringSliceVar(&o.hosts, "host", nil, "a name by which it is called, besides localhost")
	f.StringVar(&o.userHeader, "user-header", "",
		"the header in which the proxy says who has signed in, as X-Forwarded-User")
	f.StringVar(&o.groupHeader, "group-header", "",
		"the header in which it says in which groups they are, as X-Forwarded-Groups")
	f.StringArrayVar(&o.groupScopes, "group-scope", nil,
		"what the users of a group may do, as ops=edit; the group * has every user")
	f.StringArrayVar(&o.proxies, "proxy", nil,
		"the address from which these headers are believed: 10.0.0.5, or www-data@127.0.0.1")
	f.StringVar(&o.link, "link", "",
		"print a link that signs in to read, operate or edit (default: the most there is, on a terminal only)")
	c.AddCommand(newServeTokenCommand(a))
	return c
}

func (a serveCommand) serve(o serveOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	o.basePath = strings.TrimRight(o.basePath, "/")
	service, err := a.open(o)
	if err != nil {
		return err
	}
	certificate, err := o.loadCertificate()
	if err != nil {
		return err
	}
	listener, err := serve.Listen(o.listen, certificate != nil || o.behindProxy)
	if err != nil {
		return err
	}
	// The live heap is about 10 MiB. With a lower percentage, collecting takes more CPU than pages.
	debug.SetGCPercent(200)
	debug.SetMemoryLimit(48 << 20) // the collector works harder above it
	terminate, _, release := catchSignals()
	defer release()
	name := "localhost"
	if len(o.hosts) > 0 {
		name = o.hosts[0]
	}
	url := serve.URL(listener, name, o.basePath, certificate != nil)
	verb := "is"
	if len(service.Names) > 1 {
		verb = "are"
	}
	fmt.Fprintf(a.out, "%s %s served at %s\n", strings.Join(service.Names, ", "), verb, url)
	if !o.onSocket() {
		a.offerSignIn(service, strings.TrimSuffix(url, o.basePath+"/"), o)
	}
	if err := serve.ServeUntil(terminate, listener, certificate, service.Handler); err != nil {
		return err
	}
	return &exit{code: exitStopped}
}

// check refuses flags that are wrong, or that do not go together.
func (o serveOptions) check() error {
	switch {
	case (o.cert == "") != (o.key == ""):
		return usage("give both", "--tls-cert and --tls-key belong together")
	case o.edit != "" && os.Geteuid() == 0:
		return usage("run it as the user of the tasks",
			"--edit is refused as root: whoever has a token of the scope edit would be root")
	case o.edit != "" && len(o.configs) > 1:
		return usage("serve that schedule alone", "--edit is for one schedule")
	case o.basePath != "" && (!strings.HasPrefix(o.basePath, "/") || strings.ContainsAny(o.basePath, "{}?#% ")):
		return usage("write it as /sched", "--base-path %q is not a path", o.basePath)
	case o.link != "" && !serve.Scope(o.link).OfTokens():
		return usage("read, operate or edit", "--link %q is not a scope", o.link)
	case o.onSocket() && o.link != "":
		return usage("leave it out", "--link is for browsers, and they cannot open a socket")
	}
	return o.checkHeaderSignIn()
}

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

// onSocket reports whether the server listens on a socket, which no browser can open.
func (o serveOptions) onSocket() bool { return strings.HasPrefix(o.listen, "unix:") }

// loadCertificate returns the certificate of --tls-cert; nil without it.
func (o serveOptions) loadCertificate() (*tls.Certificate, error) {
	if o.cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, usage("both are files in PEM", "--tls-cert and --tls-key: %w", err)
	}
	return &pair, nil
}

// open returns the service of the schedule, or of several schedules, that the flags name.
func (a serveCommand) open(o serveOptions) (serve.Service, error) {
	signIn, err := o.newHeaderSignIn()
	if err != nil {
		return serve.Service{}, err
	}
	if len(o.configs) > 1 {
		return a.openSite(o, signIn)
	}
	if len(o.configs) == 1 {
		a.config = o.configs[0]
	}
	s, err := a.loadWithStateDir()
	if err != nil {
		return serve.Service{}, err
	}
	server, err := serve.New(a.serveConfig(s, o, signIn))
	if err == nil && o.edit != "" && !o.readOnly {
		err = server.CheckEdit()
	}
	if err != nil {
		return serve.Service{}, err
	}
	return serve.Service{
		Names:     []string{s.Name},
		Handler:   server.Handler(web.New(server)),
		LoginPath: server.LoginPath,
	}, nil
}

// newHeaderSignIn returns how the headers of a proxy sign users in; nil without --user-header.
func (o serveOptions) newHeaderSignIn() (*serve.HeaderSignIn, error) {
	if o.userHeader == "" {
		return nil, nil
	}
	return serve.NewHeaderSignIn(o.userHeader, o.groupHeader, o.proxies, o.groupScopes)
}

// loadWithStateDir loads the schedule as loadToChange does, and makes its state folder if that is
// missing.
func (a serveCommand) loadWithStateDir() (*schedule.Schedule, error) {
	s, err := a.loadToChange()
	if err == nil {
		err = statedir.MakeDir(s.StateDir)
	}
	if errors.Is(err, os.ErrPermission) {
		err = failed("", "%w", err) // exit code 1: the call is right, the folder is not
	}
	return s, err
}

// serveConfig returns the config of the server of a schedule. The server reads the schedule anew
// when it has changed, so its functions get the schedule of the moment.
func (a serveCommand) serveConfig(s *schedule.Schedule, o serveOptions, signIn *serve.HeaderSignIn) serve.Config {
	live := &liveStore{app: a.app}
	viewOf := func(s *schedule.Schedule) (source view.Source) {
		live.use(s, func() { source = a.view(s) })
		return source
	}
	environment := ownEnvironment()
	config := serve.Config{
		StateDir:     s.StateDir,
		Version:      Version,
		Now:          a.now,
		Problem:      a.warn,
		ReadOnly:     o.readOnly,
		BasePath:     o.basePath,
		Hosts:        o.hosts,
		BehindProxy:  o.behindProxy,
		Secure:       o.cert != "" || o.behindProxy,
		HeaderSignIn: signIn,
		Schedules: serve.Schedules{
			Load: a.loadLastValid,
			Check: func(files map[string][]byte) (*schedule.Schedule, error) {
				return a.checkAfterEdit(files)
			},
			View: func(s *schedule.Schedule) view.Source {
				source := viewOf(s)
				source.Controls.ReadOnly = true
				return source
			},
			Actor: func(s *schedule.Schedule, by string) control.Actor {
				actor := control.Actor{Source: viewOf(s), By: by}
				actor.Environ, actor.OnlyTicks = tickEnviron(s, environment)
				return actor
			},
			Runs: func(s *schedule.Schedule) (caller run.Caller) {
				live.use(s, func() { caller = a.caller(s) })
				return caller
			},
		},
	}
	if o.edit != "" {
		config.Edit, _ = filepath.Abs(o.edit)
	}
	return config
}

// checkAfterEdit reads the schedule as if its files had these texts. It refuses a schedule that is
// invalid, or that does not fit this machine.
func (a serveCommand) checkAfterEdit(files map[string][]byte) (*schedule.Schedule, error) {
	file, err := a.findConfig()
	if err != nil {
		return nil, err
	}
	options := a.options()
	options.Texts = files
	s, err := load.File(file, options)
	if err != nil {
		return nil, err
	}
	if problems, _ := doctor.Unfit(s, os.Environ()); len(problems) > 0 {
		return nil, &load.InvalidError{Problems: problems, StateDir: s.StateDir}
	}
	return s, nil
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

// A liveStore connects the app with the store and the database of the current schedule. An edit may
// change both while requests are answered.
type liveStore struct {
	app *app

	mu        sync.Mutex
	connected schedule.Schedule // app.connections are for this one; the zero value before the first use
}

// maxUse is how long requests may use the earlier connections after an edit. A stop takes that long
// only if the kill_after of its task does.
const maxUse = time.Hour

// use calls read when the app has the connections of s. Only one read runs at a time.
func (l *liveStore) use(s *schedule.Schedule, read func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.connected
	if c.Name != s.Name || c.StateDir != s.StateDir || !reflect.DeepEqual(c.Store, s.Store) {
		time.AfterFunc(maxUse, l.app.connections.close)
		l.connected, l.app.connections = *s, connections{}
	}
	read()
}
