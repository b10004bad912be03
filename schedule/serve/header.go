package serve

import (
	"net"
	"net/http"
	"net/netip"
	"os/user"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/view"
)

// A HeaderSignIn lets a proxy say in headers who asks. A header counts only if the connection comes
// from the proxy itself, and nobody may do more than Scopes gives to one of their groups.
type HeaderSignIn struct {
	User    string // the header with the name of the user
	Groups  string // the header with their groups, separated by commas; "" for none
	Proxies []Proxy
	Scopes  map[string]Scope // by group; Everybody is a group of each user

	mu      sync.Mutex
	refused time.Time // when it was last said that a header was ignored
}

// A Proxy is an address from which headers are believed.
type Proxy struct {
	IP  netip.Addr
	UID string // of the process that must have opened the connection; "" for any process
}

// Everybody is the group of all users whom the proxy names.
const Everybody = "*"

var headerNamed = humanize.Pattern(`^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$`)

// named matches names of users and tokens, which become part of lines in the history.
var named = humanize.Pattern(`^[\pL\pN][\pL\pN ._@+:/-]{0,63}$`)

// IsName reports whether a user or a token can have the name.
func IsName(text string) bool { return named().MatchString(text) }

// reservedHeaders cannot carry the name of a user: they have another meaning.
var reservedHeaders = []string{"Authorization", "Cookie", "Host", "Origin", "Connection", "X-Forwarded-For"}

// NewHeaderSignIn returns what the flags of `sched serve` say: the two headers, proxies as IP or
// USER@IP, and scopes as GROUP=SCOPE.
func NewHeaderSignIn(users, groups string, proxies, scopes []string) (*HeaderSignIn, error) {
	h := &HeaderSignIn{
		User:   http.CanonicalHeaderKey(users),
		Groups: http.CanonicalHeaderKey(groups),
		Scopes: map[string]Scope{},
	}
	for _, name := range []string{h.User, h.Groups} {
		if name != "" && (slices.Contains(reservedHeaders, name) || !headerNamed().MatchString(name)) {
			return nil, view.Fail(view.Invalid, "for example X-Forwarded-User and X-Forwarded-Groups",
				"%q cannot be such a header", name)
		}
	}
	if h.User == h.Groups {
		return nil, view.Fail(view.Invalid, "", "--user-header and --group-header are the same")
	}
	for _, text := range proxies {
		p, err := parseProxy(text)
		if err != nil {
			return nil, err
		}
		h.Proxies = append(h.Proxies, p)
	}
	for _, text := range scopes {
		if err := h.addScope(text); err != nil {
			return nil, err
		}
	}
	switch {
	case len(h.Proxies) == 0:
		return nil, view.Fail(view.Invalid, "add --proxy with the address from which the proxy connects",
			"--user-header: nobody would be believed")
	case len(h.Scopes) == 0:
		return nil, view.Fail(view.Invalid, "add --group-scope, as ops=edit, or *=read for every user",
			"--user-header: nobody could do anything")
	}
	return h, nil
}

// addScope reads GROUP=SCOPE.
func (h *HeaderSignIn) addScope(text string) error {
	group, scope, _ := strings.Cut(text, "=")
	group = strings.TrimSpace(group)
	switch {
	case group == "" || strings.Contains(group, ",") || !Scope(scope).OfTokens():
		return view.Fail(view.Invalid, "write it as ops=edit; the scopes are read, operate, edit and approve",
			"--group-scope %q is not a group with a scope", text)
	case group != Everybody && h.Groups == "":
		return view.Fail(view.Invalid, "add --group-header, or write *="+scope+" for every user",
			"--group-scope %s: no header says who is in %s", text, group)
	}
	h.Scopes[group] = Scope(scope)
	return nil
}

// parseProxy reads IP or USER@IP. An address of this machine needs the user, because every user of
// the machine can connect from it.
func parseProxy(text string) (p Proxy, err error) {
	name, address, ok := strings.Cut(text, "@")
	if !ok {
		name, address = "", text
	}
	if p.IP, err = netip.ParseAddr(address); err != nil || p.IP.Zone() != "" || p.IP.IsUnspecified() {
		return p, view.Fail(view.Invalid, "write it as 10.0.0.5, or as www-data@127.0.0.1",
			"--proxy %q is not an address", text)
	}
	p.IP = p.IP.Unmap()
	here := isHere(p.IP)
	switch {
	case here && name == "":
		return p, view.Fail(view.Invalid, "write the user of the proxy before it: www-data@"+address,
			"--proxy %s: every user of this machine could say who they are", text)
	case !here && ok:
		return p, view.Fail(view.Invalid, "leave the user out",
			"--proxy %s: users of other machines are not known", text)
	case name == "":
		return p, nil
	}
	found, err := user.Lookup(name)
	if err != nil {
		found, err = user.LookupId(name)
	}
	if err != nil {
		return p, view.Fail(view.Invalid, "", "--proxy %s: there is no user %s", text, name)
	}
	p.UID = found.Uid
	return p, nil
}

// isHere reports whether an address is one of this machine.
func isHere(ip netip.Addr) bool {
	all, _ := net.InterfaceAddrs()
	return ip.IsLoopback() || slices.ContainsFunc(all, func(a net.Addr) bool {
		own, err := netip.ParsePrefix(a.String())
		return err == nil && own.Addr().Unmap().WithZone("") == ip
	})
}

// user returns the user whom the proxy names; false if no header counts. The error is a *Problem.
func (h *HeaderSignIn) user(r *http.Request, from string, report func(string, ...any)) (Who, bool, error) {
	names, groups := r.Header.Values(h.User), r.Header.Values(h.Groups)
	if len(names) == 0 && len(groups) == 0 {
		return Who{}, false, nil
	}
	if !h.fromProxy(r) {
		h.sayIgnored(r, report)
		return Who{}, false, nil
	}
	if len(names) == 0 {
		return Who{}, false, nil // groups without a user: nobody has signed in
	}
	if why := h.malformed(r, names, groups); why != "" {
		return Who{}, false, forbidden("the proxy must replace what clients send in this header", "%s", why)
	}
	who := Who{Name: names[0], From: from, Scope: h.scopeOf(groups), ByHeader: true}
	switch {
	case !who.Scope.Allows(ScopeRead):
		return who, false, forbidden("--group-scope of `sched serve` lets a group in",
			"%s is in no group that may look", who.Name)
	case !safe(r.Method) && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "":
		return who, false, forbidden(
			"send a token; a script that the proxy signs in sends `Sec-Fetch-Site: same-origin`",
			"nothing says that a page of this server has sent this")
	}
	return who, true, nil
}

// malformed says why the headers cannot be what a proxy sends; "" if they can.
func (h *HeaderSignIn) malformed(r *http.Request, names, groups []string) string {
	switch {
	case len(names) > 1 || len(groups) > 1:
		return "a header for signing in is there twice"
	case !IsName(names[0]):
		return h.User + " does not have the name of one user"
	case h.hopByHop(r):
		return "Connection names a header for signing in, so that header is for one hop only"
	}
	return ""
}

// scopeOf returns the scope that allows what the groups of a user may do.
func (h *HeaderSignIn) scopeOf(groups []string) (highest Scope) {
	for _, group := range append(strings.Split(strings.Join(groups, ""), ","), Everybody) {
		highest = highest.with(h.Scopes[strings.TrimSpace(group)])
	}
	return highest
}

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// fromProxy reports whether a proxy has opened the connection. X-Forwarded-For does not count.
func (h *HeaderSignIn) fromProxy(r *http.Request) bool {
	client, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	client = netip.AddrPortFrom(client.Addr().Unmap().WithZone(""), client.Port())
	return slices.ContainsFunc(h.Proxies, func(p Proxy) bool {
		if p.IP != client.Addr() || p.UID == "" {
			return p.IP == client.Addr()
		}
		local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
		if !ok {
			return false
		}
		server := local.AddrPort()
		uid, err := loopbackUser(client, netip.AddrPortFrom(server.Addr().Unmap(), server.Port()))
		return err == nil && uid == p.UID
	})
}

// hopByHop reports whether Connection names one of the headers: a proxy must not pass it on.
func (h *HeaderSignIn) hopByHop(r *http.Request) bool {
	for name := range strings.SplitSeq(strings.Join(r.Header.Values("Connection"), ","), ",") {
		if name = http.CanonicalHeaderKey(strings.TrimSpace(name)); name != "" && (name == h.User || name == h.Groups) {
			return true
		}
	}
	return false
}

// sayIgnored says that a header does not count, once a minute at most: anybody can send it.
func (h *HeaderSignIn) sayIgnored(r *http.Request, report func(string, ...any)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.refused) < time.Minute {
		return
	}
	h.refused = time.Now()
	report("headers for signing in that came from %s are ignored: that address is no --proxy", r.RemoteAddr)
}
