// Package serve has the commands `sched serve` and `sched serve token`.
package serve

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule/serve"
	"sched/schedule/serve/web"
)

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve pages and an HTTP API for the tasks and their runs",
		Long: `serve answers HTTP requests about the schedule: what runs when, what became of it and why; and it
passes on what people ask for, as sched trigger, retry, stop and pause do. In a browser it is pages,
for programs an API. Of other servers of the store it shows what they run, pause and have run; logs
of their runs, and what stops or retries them, are there. Ticks do not know it, and nothing is lost
when it is down.

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
  sched serve --read-only
  sched serve --edit schedule.d
  sched serve -c /srv/shop/schedule.yaml -c /srv/mail/schedule.yaml`,
		RunE: func(*cobra.Command, []string) error { return serveSchedules(a, o) },
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
		"print a link that signs in to read, operate, edit or approve (default: the most there is but approve,"+
			" on a terminal only)")
	flags.Seldom(f, "base-path", "user-header", "group-header", "group-scope", "proxy")
	c.AddCommand(newTokenCommand(a))
	return c
}

func serveSchedules(a *app.App, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	o.basePath = strings.TrimRight(o.basePath, "/")
	service, err := openService(a, o)
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
	terminate, _, release := app.CatchSignals()
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
	fmt.Fprintf(a.Out, "%s %s served at %s\n", strings.Join(service.Names, ", "), verb, url)
	if !o.onSocket() {
		offerSignIn(a, service, strings.TrimSuffix(url, o.basePath+"/"), o)
	}
	if err := serve.ServeUntil(terminate, listener, certificate, service.Handler); err != nil {
		return err
	}
	return &exit.Error{Code: exit.Stopped}
}

// openService returns the service of the schedule, or of several schedules, that the flags name.
func openService(a *app.App, o options) (serve.Service, error) {
	signIn, err := o.newHeaderSignIn()
	if err != nil {
		return serve.Service{}, err
	}
	if len(o.configs) > 1 {
		return openSite(a, o, signIn)
	}
	if len(o.configs) == 1 {
		a.Config = o.configs[0]
	}
	s, err := loadWithStateDir(a)
	if err != nil {
		return serve.Service{}, err
	}
	server, err := serve.New(newConfig(a, s, o, signIn))
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

// offerSignIn prints how a browser signs in. The root is the URL without --base-path.
func offerSignIn(a *app.App, service serve.Service, root string, o options) {
	if o.link == "" && !a.Stdout().IsTerminal() {
		fmt.Fprintln(a.Out, "sign in with a token of `sched serve token --scope read`")
		return
	}
	scope := o.linkScope()
	fmt.Fprintf(a.Out, "sign in to %s, once and within 10 minutes: %s\n", scope, root+service.LoginPath(scope))
}
