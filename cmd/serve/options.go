package serve

import (
	"crypto/tls"
	"os"
	"strings"

	"sched/cmd/exit"
	"sched/schedule/serve"
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
		return exit.Usage("read, operate or edit", "--link %q is not a scope", o.link)
	case o.onSocket() && o.link != "":
		return exit.Usage("leave it out", "--link is for browsers, and they cannot open a socket")
	}
	return o.checkHeaderSignIn()
}

// checkHeaderSignIn refuses flags for users of a proxy that do not go together.
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
// that the server has.
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
