package serve

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sched/schedule/humanize"
)

// An access decides what each caller may do: by token, session, key in a path, or user of a socket.
// Guard comes before every route. The methods Caller and Key identify the caller. docs/serve.md has
// the threats. An access is safe for concurrent use.
type access struct {
	Config
	tokens   *tokens
	links    sync.Map // link by the hash of its code
	attempts attempts
	cross    *http.CrossOriginProtection
	all      []*access // of the schedules to which a browser signs in at once, this one included
}

// newAccess returns the access to the server of a configuration.
func newAccess(c Config) *access {
	a := &access{
		Config: c, tokens: &tokens{dir: c.StateDir}, attempts: attempts{now: c.Now, delay: attemptsDelay},
		cross: http.NewCrossOriginProtection(),
	}
	a.all = []*access{a}
	return a
}

// A Scope is what a caller may do. Operate includes read, and edit includes both.
type Scope string

// The scopes of tokens.
const (
	ScopeOpen    Scope = "open"    // of routes for which no token is needed
	ScopeRead    Scope = "read"    // look at everything
	ScopeOperate Scope = "operate" // trigger, retry, stop, pause, resume
	ScopeEdit    Scope = "edit"    // write tasks

	ScopeBadge Scope = "badge" // of a key: show the badge of one task
	ScopeHook  Scope = "hook"  // of a key: trigger one task
)

// rank is higher for a scope that allows more; 0 if tokens cannot have the scope.
func (s Scope) rank() int {
	switch s {
	case ScopeRead:
		return 1
	case ScopeOperate:
		return 2
	case ScopeEdit:
		return 3
	}
	return 0
}

// Allows reports whether a caller with the scope may do things that need the other scope.
func (s Scope) Allows(need Scope) bool { return s.rank() >= need.rank() && need.rank() > 0 }

// OfTokens reports whether tokens can have the scope: it is neither open nor the scope of a key.
func (s Scope) OfTokens() bool { return s.rank() > 0 }

// MostBody is the most bytes of a request's body.
const MostBody = 64 << 10

// contentPolicy is what pages may load: what this server serves, and nothing inline.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// Guard comes before every route: it sets headers for browsers, and refuses requests that no caller
// may send.
func (a *access) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if p := a.unwelcome(r); p != nil {
			writeProblem(w, p)
			return
		}
		if r.Body != http.NoBody {
			r.Body = http.MaxBytesReader(w, r.Body, MostBody)
		}
		next.ServeHTTP(w, r)
	})
}

// unwelcome returns why Guard refuses a request; nil if it does not.
func (a *access) unwelcome(r *http.Request) *Problem {
	switch {
	case !a.calledByName(r):
		return forbidden("start `sched serve` with --host and that name, if it is right",
			"this server is not called %q", Shortened(r.Host))
	case hasToken(r.URL):
		return badRequest("revoke it, since URLs are written to logs, and send `Authorization: Bearer TOKEN`",
			"a token is in the URL")
	case r.ContentLength > MostBody:
		return NewProblem(http.StatusRequestEntityTooLarge, "", "the body is larger than %d KiB", MostBody>>10)
	}
	if err := a.cross.Check(r); err != nil {
		return forbidden("", "a page of another site has sent this")
	}
	return nil
}

// aToken matches tokens, and not the names of tasks that begin in the same way.
var aToken = humanize.Pattern(tokenStart + `[A-Za-z0-9_-]{43}`)

// hasToken reports whether a URL has a token, however it is escaped, or a parameter for one.
func hasToken(u *url.URL) bool {
	for name := range u.Query() {
		if name = strings.ToLower(name); name == "token" || name == "access_token" {
			return true
		}
	}
	text := u.EscapedPath() + "?" + u.RawQuery
	for range 3 { // a proxy may escape what is escaped
		if aToken().MatchString(text) {
			return true
		}
		text = escaped().ReplaceAllStringFunc(text, func(code string) string {
			n, _ := strconv.ParseUint(code[1:], 16, 8)
			return string([]byte{byte(n)})
		})
	}
	return aToken().MatchString(text)
}

var escaped = humanize.Pattern(`%[0-9A-Fa-f]{2}`)

// calledByName reports whether the request names this server. A page of another site may have the
// browser look up its own name, and get our address: DNS rebinding. Such a request has that name. A
// socket has no name that can be looked up.
func (a *access) calledByName(r *http.Request) bool {
	if _, ok := peerOf(r.Context()); ok {
		return true
	}
	name := r.Host
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		name = host
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	isName := func(host string) bool { return strings.EqualFold(host, name) }
	if name == "localhost" || slices.ContainsFunc(a.Hosts, isName) {
		return true
	}
	ip := net.ParseIP(name)
	if ip == nil {
		return false
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ip.IsLoopback()
	}
	host, _, _ := net.SplitHostPort(local.String())
	return ip.Equal(net.ParseIP(host)) || ip.IsLoopback()
}
