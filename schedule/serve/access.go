package serve

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sched/schedule/humanize"
)

// An access decides what each caller may do: by token, session, key in a path, or user of a socket.
// Guard comes before every route. The methods Caller and Holder identify the caller. docs/serve.md
// has the threats. An access is safe for concurrent use.
type access struct {
	Config
	tokens   *keyring
	links    sync.Map // link by the hash of its code
	throttle throttle
	cross    *http.CrossOriginProtection
	all      []*access // of the schedules to which a browser signs in at once, this one included
}

// newAccess returns the access to the server of a configuration.
func newAccess(c Config) *access {
	a := &access{
		Config: c, tokens: &keyring{dir: c.StateDir}, throttle: throttle{now: c.Now, delay: wrongDelay},
		cross: http.NewCrossOriginProtection(),
	}
	a.all = []*access{a}
	return a
}

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
		if p := a.refusal(r); p != nil {
			writeProblem(w, p)
			return
		}
		if r.Body != http.NoBody {
			r.Body = http.MaxBytesReader(w, r.Body, MostBody)
		}
		next.ServeHTTP(w, r)
	})
}

// refusal returns why Guard refuses a request; nil if it does not.
func (a *access) refusal(r *http.Request) *Problem {
	switch {
	case !a.calledByName(r):
		return forbidden("start `sched serve` with --host and that name, if it is right",
			"this server is not called %q", Shortened(r.Host))
	case hasToken(r.URL):
		return badRequest("revoke it, because URLs are written to logs, and send `Authorization: Bearer TOKEN`",
			"a token is in the URL")
	case r.ContentLength > MostBody:
		return NewProblem(http.StatusRequestEntityTooLarge, "", "the body is larger than %d KiB", MostBody>>10)
	}
	if err := a.cross.Check(r); err != nil {
		return forbidden("", "a page of another site has sent this")
	}
	return nil
}

// tokenPattern matches tokens, and not the names of tasks that begin in the same way.
var tokenPattern = humanize.Pattern(tokenStart + `[A-Za-z0-9_-]{43}`)

// hasToken reports whether a URL has a token, however it is escaped, or a parameter for one.
func hasToken(u *url.URL) bool {
	for name := range u.Query() {
		if name = strings.ToLower(name); name == "token" || name == "access_token" {
			return true
		}
	}
	text := u.EscapedPath() + "?" + u.RawQuery
	for range 3 { // a proxy may escape what is escaped
		if tokenPattern().MatchString(text) {
			return true
		}
		text = percentCode().ReplaceAllStringFunc(text, func(code string) string {
			n, _ := strconv.ParseUint(code[1:], 16, 8)
			return string([]byte{byte(n)})
		})
	}
	return tokenPattern().MatchString(text)
}

var percentCode = humanize.Pattern(`%[0-9A-Fa-f]{2}`)

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

// A Who is a caller.
type Who struct {
	Name  string // for the history, the pauses and the audit log
	From  string // the address, or that it came by the socket
	Scope Scope
	Task  string // for which a key is good; "" for other callers

	ByHeader bool // the proxy has signed them in
}

type whoKey struct{}

// withWho returns a context that names the caller who was let in.
func withWho(ctx context.Context, who Who) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

// whoIs returns the caller who was let in.
func whoIs(ctx context.Context) Who {
	who, _ := ctx.Value(whoKey{}).(Who)
	return who
}

// Admit returns the caller of a route of the scope, if they may use it. The error is a *Problem.
func (a *access) Admit(r *http.Request, scope Scope) (Who, error) {
	switch scope {
	case ScopeOpen:
		return Who{From: a.Address(r)}, nil
	case ScopeBadge, ScopeHook:
		return a.Holder(r, scope, strings.TrimSuffix(r.PathValue("key"), ".svg"))
	}
	who, err := a.Caller(r)
	if err == nil {
		err = who.needs(scope)
	}
	return who, err
}

// Caller identifies the caller. Wrong tokens may be answered later. The error is a *Problem.
func (a *access) Caller(r *http.Request) (Who, error) {
	who, isWrong, err := a.identify(r)
	if isWrong {
		a.slowDown(r, a.Address(r))
	}
	return who, err
}

// identify is Caller, but it says if a wrong token or session was given, and does not wait. A token
// decides alone. The header of a proxy comes before a cookie.
func (a *access) identify(r *http.Request) (who Who, isWrong bool, err error) {
	if user, ok := peerOf(r.Context()); ok {
		return Who{Name: user, From: "socket", Scope: ScopeEdit}, false, nil // the socket has mode 0600
	}
	from := a.Address(r)
	if header := r.Header.Get("Authorization"); header != "" {
		return a.byToken(header, from)
	}
	if a.HeaderSignIn != nil {
		if who, ok, err := a.HeaderSignIn.user(r, from, a.Problem); ok || err != nil {
			return who, false, err
		}
	}
	return a.byCookie(r, from)
}

func (a *access) byToken(header, from string) (who Who, isWrong bool, err error) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return Who{}, true, wrongToken()
	}
	found, ok, err := a.tokens.find(strings.TrimLeft(token, " "))
	if err != nil {
		return Who{}, false, ProblemOf(err)
	}
	if !ok || !found.Scope.Allows(ScopeRead) {
		return Who{}, true, wrongToken()
	}
	return Who{Name: found.Name, From: from, Scope: found.Scope}, false, nil
}

func (a *access) byCookie(r *http.Request, from string) (who Who, isWrong bool, err error) {
	cookies := r.CookiesNamed(a.cookieName(r)) // another port may have set one, too
	for _, cookie := range cookies {
		if session, ok := a.session(r, cookie.Value); ok {
			return Who{Name: session.Session.By, From: from, Scope: session.Scope}, false, nil
		}
	}
	if len(cookies) > 0 {
		return Who{}, true, wrongToken()
	}
	return Who{}, false, NewProblem(http.StatusUnauthorized,
		"send `Authorization: Bearer TOKEN`; `sched serve token --scope read` makes one", "a token is needed")
}

func wrongToken() *Problem {
	return NewProblem(http.StatusUnauthorized, "make one with `sched serve token --scope read`",
		"the token is not one of this server, or was revoked")
}

// Holder returns the holder of a key of the scope, with the task of the key. The error is a
// *Problem.
func (a *access) Holder(r *http.Request, scope Scope, key string) (Who, error) {
	found, ok, err := a.tokens.find(key)
	if err != nil {
		return Who{}, ProblemOf(err)
	}
	from := a.Address(r)
	if peer, isPeer := peerOf(r.Context()); isPeer {
		from = peer
	}
	if !ok || found.Scope != scope {
		a.slowDown(r, from)
		return Who{}, notFound("`sched serve token --"+string(scope)+" TASK` makes one", "there is no such key")
	}
	return Who{Name: found.Name, From: from, Scope: scope, Task: found.Task}, nil
}

// slowDown delays the answer to a wrong token, key or link, when many came from its address lately.
// The delayed connection takes no place among the answers, and makes room for other connections.
func (a *access) slowDown(r *http.Request, from string) {
	delay := a.throttle.countWrong(from)
	if delay == 0 {
		return
	}
	setIdleEarly(r.Context())
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
	}
}

// A throttle counts wrong tokens and login links by address. It decides only how soon wrong ones
// are answered: a right one is always let in at once, or any user of the machine could lock out all
// others. A token is one of 2^256, so guessing is hopeless even without it.
type throttle struct {
	now   func() time.Time
	delay time.Duration // wrongDelay, but for tests

	mu        sync.Mutex
	byAddress map[string]wrongAttempts
}

// wrongAttempts are the attempts of one address in a span that begins with the first of them.
type wrongAttempts struct {
	count int
	since time.Time
}

const (
	maxWrong     = 10 // wrong attempts of one address in wrongSpan; each further one is delayed
	wrongSpan    = time.Minute
	wrongDelay   = time.Second
	maxAddresses = 10_000 // more are forgotten together
)

// countWrong counts a wrong attempt from an address, and returns how long its answer must wait.
func (t *throttle) countWrong(address string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	wrong := t.byAddress[address]
	if t.now().Sub(wrong.since) >= wrongSpan {
		wrong = wrongAttempts{since: t.now()}
	}
	if t.byAddress == nil || len(t.byAddress) >= maxAddresses {
		t.byAddress = map[string]wrongAttempts{}
	}
	wrong.count++
	t.byAddress[address] = wrong
	if wrong.count <= maxWrong {
		return 0
	}
	return t.delay
}

// Address is the address of the client. Behind a proxy it is the address that the proxy added.
func (a *access) Address(r *http.Request) string {
	if a.BehindProxy {
		all := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if ip := net.ParseIP(strings.TrimSpace(all[len(all)-1])); ip != nil {
			return ip.String()
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// needs returns an error for a caller who may do less than the scope says.
func (who Who) needs(scope Scope) error {
	if who.Scope.Allows(scope) {
		return nil
	}
	return forbidden("make a token with `sched serve token --scope "+string(scope)+"`",
		"%s may %s, and this needs %s", who.Name, who.Scope, scope)
}
