package cmd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
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
	signIn                  *serve.HeaderSignIn // what these say
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
  sched serve --behind-proxy --user-header X-Forwarded-User --group-header X-Forwarded-Groups --proxy 10.0.0.5 --group-scope ops=edit
  sched serve --read-only
  sched serve --edit schedule.d
  sched serve -c /srv/shop/schedule.yaml -c /srv/mail/schedule.yaml`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return serveCommand{a}.serve(o) },
	}
	f := c.Flags()
	f.StringArrayVarP(&o.configs, "config", "c", nil, "the schedule file; give it again for each further schedule")
	f.StringVar(&o.listen, "listen", "127.0.0.1:7323", "host:port, or unix:PATH for a socket")
	f.BoolVar(&o.readOnly, "read-only", false, "have no routes that change anything")
	f.StringVar(&o.edit, "edit", "", "a folder that the schedule includes: let tasks be written into it")
	f.StringVar(&o.basePath, "base-path", "", "the path under which a proxy passes requests on, as /sched")
	f.StringVar(&o.cert, "tls-cert", "", "speak TLS with this certificate (PEM)")
	f.StringVar(&o.key, "tls-key", "", "the key of the certificate (PEM)")
	f.BoolVar(&o.behindProxy, "behind-proxy", false, "a proxy speaks TLS, and puts who asks at the end of X-Forwarded-For")
	f.StringSliceVar(&o.hosts, "host", nil, "a name by which it is called, besides localhost")
	f.StringVar(&o.userHeader, "user-header", "", "the header in which the proxy says who has signed in, as X-Forwarded-User")
	f.StringVar(&o.groupHeader, "group-header", "", "the header in which it says in which groups they are, as X-Forwarded-Groups")
	f.StringArrayVar(&o.groupScopes, "group-scope", nil, "what the users of a group may do, as ops=edit; the group * has every user")
	f.StringArrayVar(&o.proxies, "proxy", nil, "the address from which these headers are believed: 10.0.0.5, or www-data@127.0.0.1")
	f.StringVar(&o.link, "link", "", "print a link that signs in to read, operate or edit (default: the most there is, on a terminal only)")
	c.AddCommand(newServeTokenCommand(a))
	return c
}

func (a serveCommand) serve(o serveOptions) error {
	what, err := a.open(&o)
	if err != nil {
		return err
	}
	var certificate *tls.Certificate
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return usage("both are files in PEM", "--tls-cert and --tls-key: %w", err)
		}
		certificate = &pair
	}
	listener, err := serve.Listen(o.listen, certificate != nil || o.behindProxy)
	if err != nil {
		return err
	}
	debug.SetGCPercent(200)        // what lives is some 10 MiB; half of a page's CPU was the collector's at 50
	debug.SetMemoryLimit(48 << 20) // the collector works harder above it
	terminate, _, release := signals()
	defer release()
	a.greet(what, listener, o, certificate != nil)
	if err := serve.ServeUntil(terminate, listener, certificate, what.Handler); err != nil {
		return failed("", "%w", err)
	}
	return &exit{code: exitStopped}
}

func (a serveCommand) open(o *serveOptions) (serve.Service, error) {
	if len(o.configs) > 1 {
		return a.openSeveral(o)
	}
	if len(o.configs) == 1 {
		a.config = o.configs[0]
	}
	s, err := a.trustedState()
	if err != nil {
		return serve.Service{}, err
	}
	if err := o.check(); err != nil {
		return serve.Service{}, err
	}
	server, err := serve.New(a.serveConfig(s, *o))
	if err == nil && o.edit != "" && !o.readOnly {
		err = server.CheckEdit()
	}
	if err != nil {
		return serve.Service{}, err
	}
	return serve.Service{Names: s.Name + " is", Handler: server.Handler(web.New(server)), LoginPath: server.LoginPath}, nil
}

func (o *serveOptions) check() error {
	switch {
	case (o.cert == "") != (o.key == ""):
		return usage("give both", "--tls-cert and --tls-key belong together")
	case o.edit != "" && os.Geteuid() == 0:
		return usage("run it as the user of the tasks", "--edit is refused as root: whoever has a token of the scope edit would be root")
	case o.basePath != "" && (!strings.HasPrefix(o.basePath, "/") || strings.ContainsAny(o.basePath, "{}?#% ")):
		return usage("write it as /sched", "--base-path %q is not a path", o.basePath)
	case o.link != "" && !serve.Scope(o.link).OfTokens():
		return usage("read, operate or edit", "--link %q is not a scope", o.link)
	case strings.HasPrefix(o.listen, "unix:") && o.link != "":
		return usage("leave it out", "--link is for browsers, and they cannot open a socket")
	}
	if err := o.checkSignIn(); err != nil {
		return err
	}
	o.basePath = strings.TrimRight(o.basePath, "/")
	return nil
}

func (o *serveOptions) checkSignIn() (err error) {
	switch {
	case o.userHeader == "" && o.groupHeader == "" && len(o.proxies) == 0 && len(o.groupScopes) == 0:
		return nil
	case o.userHeader == "":
		return usage("add --user-header, as X-Forwarded-User", "--group-header, --group-scope and --proxy belong to --user-header")
	case !o.behindProxy || strings.HasPrefix(o.listen, "unix:"):
		return usage("listen at an address for the proxy, with --behind-proxy", "--user-header is for a server behind a proxy")
	}
	o.signIn, err = serve.NewHeaderSignIn(o.userHeader, o.groupHeader, o.proxies, o.groupScopes)
	return err
}

func (a serveCommand) greet(what serve.Service, l net.Listener, o serveOptions, secure bool) {
	name := "localhost"
	if len(o.hosts) > 0 {
		name = o.hosts[0]
	}
	url := serve.URL(l, name, o.basePath, secure)
	fmt.Fprintf(a.out, "%s served at %s\n", what.Names, url)
	if strings.HasPrefix(url, "unix:") {
		return
	}
	scope := serve.ScopeOperate
	switch {
	case o.link != "":
		scope = serve.Scope(o.link)
	case !a.stdout().IsTerminal():
		fmt.Fprintln(a.out, "sign in with a token of `sched serve token --scope read`")
		return
	case o.readOnly:
		scope = serve.ScopeRead
	case o.edit != "":
		scope = serve.ScopeEdit
	}
	fmt.Fprintf(a.out, "sign in to %s, once and within 10 minutes: %s\n", scope, strings.TrimSuffix(url, o.basePath+"/")+what.LoginPath(scope))
}

func (a serveCommand) serveConfig(s *schedule.Schedule, o serveOptions) serve.Config {
	live := &liveStore{app: a.app}
	looking := func(s *schedule.Schedule) (source view.Source) {
		live.use(s, func() { source = a.view(s) })
		source.Controls.ReadOnly = true
		return source
	}
	environment := ownEnvironment()
	config := serve.Config{
		StateDir: s.StateDir, Version: Version, Now: a.now, Problem: a.problem, ReadOnly: o.readOnly, BasePath: o.basePath,
		Hosts: o.hosts, BehindProxy: o.behindProxy, Secure: o.cert != "" || o.behindProxy, HeaderSignIn: o.signIn,
		Schedules: serve.Schedules{
			Load:  a.loadLastValid,
			Check: a.checkAfterEdit,
			View:  looking,
			Actor: func(s *schedule.Schedule, by string) control.Actor {
				source := looking(s)
				source.Controls.ReadOnly = false
				return control.Actor{Source: source, By: by, Environ: tickEnviron(s, environment)}
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

// checkAfterEdit reads the schedule as if files had another text, and what this machine has to say
// of it.
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
	if problems, _ := unfit(s); len(problems) > 0 {
		return nil, &load.InvalidError{Problems: problems, StateDir: s.StateDir}
	}
	return s, nil
}

// trustedState is loadTrusted, but the state folder may be missing.
func (a serveCommand) trustedState() (*schedule.Schedule, error) {
	s, err := a.loadTrusted()
	if err == nil {
		err = statedir.MakeDir(s.StateDir)
	}
	if errors.Is(err, os.ErrPermission) {
		err = failed("", "%w", err)
	}
	return s, err
}

// A liveStore connects the app with the store of the current schedule, which an edit may change
// while requests are answered.
type liveStore struct {
	app *app

	mu           sync.Mutex
	scheduleName string         // app.remote is connected for this schedule
	store        schedule.Store // app.remote is connected with this store
}

// longestUse is how long requests may go on to use the earlier store after an edit. A stop takes
// that long only if the kill_after of its task does.
const longestUse = time.Hour

// use calls read when the app is connected with the store of s. Only one read runs at a time.
func (l *liveStore) use(s *schedule.Schedule, read func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.scheduleName != s.Name || !reflect.DeepEqual(l.store, s.Store) {
		earlier := l.app.connections
		time.AfterFunc(longestUse, earlier.close)
		l.scheduleName, l.store, l.app.connections = s.Name, s.Store, connections{}
	}
	read()
}

// openSeveral reads several schedules. A schedule that cannot be read takes no other one down.
func (a serveCommand) openSeveral(o *serveOptions) (serve.Service, error) {
	if err := o.check(); err != nil {
		return serve.Service{}, err
	}
	if o.edit != "" {
		return serve.Service{}, usage("serve that schedule alone", "--edit is for one schedule")
	}
	var all []*schedule.Schedule
	var apps []serveCommand
	var files, broken []string
	var wrong error
	for _, file := range o.configs {
		one := *a.app
		one.config = file
		s, err := serveCommand{&one}.trustedState()
		if err != nil {
			a.problem("%s is not served: %v", file, err)
			broken, wrong = append(broken, file+" is not served: `sched check -c "+file+"` says why. Start `sched serve` again when it is right"), err
			continue
		}
		all, apps, files = append(all, s), append(apps, serveCommand{&one}), append(files, file)
	}
	if len(all) == 0 {
		return serve.Service{}, wrong
	}
	names, err := siteNames(all, files)
	if err != nil {
		return serve.Service{}, err
	}
	var members []*serve.Server
	for i, s := range all {
		config := apps[i].serveConfig(s, *o)
		config.Mount = "/s/" + names[i]
		config.BasePath += config.Mount
		server, err := serve.New(config)
		if err != nil {
			return serve.Service{}, err
		}
		members = append(members, server)
	}
	made := serve.NewSite(members, broken, web.ShowSchedules, web.New)
	return serve.Service{Names: strings.Join(names, ", ") + " are", Handler: made, LoginPath: members[0].LoginPath}, nil
}

// siteNames returns the names of the schedules in paths: their names, or the names of their files
// if two schedules have the same name.
func siteNames(all []*schedule.Schedule, files []string) ([]string, error) {
	var names, stems []string
	for i, s := range all {
		base := filepath.Base(files[i])
		names, stems = append(names, s.Name), append(stems, strings.TrimSuffix(base, filepath.Ext(base)))
	}
	if twice(names) != "" {
		names = stems
	}
	if name := twice(names); name != "" {
		return nil, usage("give each a `name:` of its own", "two schedules are called %s", name)
	}
	for i, name := range names {
		if !inPaths().MatchString(name) {
			return nil, usage("give it a `name:` of letters, digits and . _ -", "%s: %q cannot be a part of a path", files[i], name)
		}
	}
	return names, nil
}

var inPaths = humanize.Pattern(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

func twice(names []string) string {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}
