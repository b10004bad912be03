package serve

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/netip"
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

// Admit returns the caller of a route of the scope, if they may use it. The error is a *Problem.
func (a *access) Admit(r *http.Request, scope Scope) (Who, error) {
	switch scope {
	case ScopeOpen:
		return Who{From: a.Address(r)}, nil
	case ScopeBadge, ScopeCalendar, ScopeHook:
		return a.Holder(r, scope, strings.TrimSuffix(strings.TrimSuffix(r.PathValue("key"), ".svg"), ".ics"))
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
		may := ScopeEdit.with(ScopeApprove) // the socket has mode 0600
		return Who{Name: user, From: "socket", Scope: may}, false, nil
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
		flag := "--" + string(scope) + " TASK"
		if scope == ScopeCalendar {
			flag = "--calendar"
		}
		return Who{}, notFound("`sched serve token "+flag+"` makes one", "there is no such key")
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

// SignIn adds the pages for signing in and out. A browser gets a session with a login link, which
// works once, or with a token in a form. To open the link changes nothing, because programs that
// show previews follow links, too. The button on its page uses it up.
func (a *access) SignIn(mux *http.ServeMux) {
	mux.HandleFunc("GET "+a.SitePath()+"/login",
		func(w http.ResponseWriter, _ *http.Request) { a.form(w, http.StatusOK, "", "") })
	mux.HandleFunc("GET "+a.SitePath()+"/login/{code}", func(w http.ResponseWriter, r *http.Request) {
		a.form(w, http.StatusOK, r.PathValue("code"), "")
	})
	mux.HandleFunc("POST "+a.SitePath()+"/login", a.login)
	mux.HandleFunc("POST "+a.SitePath()+"/logout", a.logout)
}

const (
	sessionLasts = 12 * time.Hour
	linkLasts    = 10 * time.Minute
	loginLink    = "login link"
)

// A link is a login link that was not used yet. Links end with the server.
type link struct {
	scope Scope
	until time.Time
}

// login begins a session of each schedule that knows the link or the token. After an error it has
// begun none.
func (a *access) login(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil { // a body that is cut off costs no look at the connections
		writeProblem(w, badRequest("", "the form cannot be read"))
		return
	}
	code, text := r.PostFormValue("code"), r.PostFormValue("token")
	var user string
	known, err := a.knows(code, text)
	if err == nil && known {
		user, err = a.sessionUser(r)
	}
	credentials := make([]Token, len(a.all))
	for i, member := range a.all {
		if err == nil {
			credentials[i], err = member.credential(code, text)
		}
	}
	if err != nil {
		writeProblem(w, ProblemOf(err))
		return
	}
	isSignedIn := false
	for i, member := range a.all {
		if credentials[i].Scope.Allows(ScopeRead) {
			http.SetCookie(w, member.begin(r, user, credentials[i]))
			isSignedIn = true
		}
	}
	switch {
	case isSignedIn:
		http.Redirect(w, r, a.SitePath()+"/", http.StatusSeeOther)
	case code != "":
		a.refuse(w, r, "This link was used before, or is not of this server.")
	default:
		a.refuse(w, r, "This token is not one of this server, or was revoked.")
	}
}

// knows reports whether a schedule knows the link or the token. It uses up no link. Only then does
// login look up who asks, because that reads the table of all connections of the machine.
func (a *access) knows(code, text string) (bool, error) {
	for _, member := range a.all {
		if _, ok := member.links.Load(tokenHash(code)); ok && code != "" {
			return true, nil
		}
		if _, ok, err := member.tokens.find(text); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// credential returns the token with the text, or, if there is a code, a Token that stands for the
// login link. It returns the zero Token if the server knows neither. A link is used up.
func (a *access) credential(code, text string) (Token, error) {
	if code != "" {
		if scope, ok := a.useLink(code); ok {
			return Token{Name: loginLink, Scope: scope}, nil
		}
		return Token{}, nil
	}
	found, ok, err := a.tokens.find(text)
	if !ok || err != nil {
		return Token{}, err
	}
	return found, nil
}

// useLink returns the scope of a login link, and forgets the link: it works once.
func (a *access) useLink(code string) (Scope, bool) {
	value, ok := a.links.LoadAndDelete(tokenHash(code))
	if !ok {
		return "", false
	}
	found := value.(link)
	return found.scope, a.Now().Before(found.until)
}

func (a *access) refuse(w http.ResponseWriter, r *http.Request, problem string) {
	a.slowDown(r, a.Address(r))
	a.form(w, http.StatusUnauthorized, "", problem)
}

func (a *access) logout(w http.ResponseWriter, r *http.Request) {
	for _, member := range a.all {
		for _, cookie := range r.CookiesNamed(member.cookieName(r)) {
			if session, ok := member.session(r, cookie.Value); ok {
				if err := member.tokens.forget(session); err != nil {
					writeProblem(w, ProblemOf(err))
					return
				}
			}
		}
		http.SetCookie(w, member.cookie(r, ""))
	}
	http.Redirect(w, r, a.SitePath()+"/login", http.StatusSeeOther)
}

// isCode reports whether a text looks like the code of a login link: 32 bytes in base64.
func isCode(text string) bool {
	bytes, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && len(bytes) == 32
}

func (a *access) form(w http.ResponseWriter, status int, code, problem string) {
	field := `<p><label>Token <input name="token" type="password" required autofocus autocomplete="off"></label>
<p>Make one with <code>sched serve token --scope read</code>`
	if isCode(code) {
		field = `<input type="hidden" name="code" value="` + code + `">`
	}
	if problem != "" {
		problem = `<p role="alert">` + html.EscapeString(problem)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	base := html.EscapeString(a.SitePath())
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in – sched</title><link rel="stylesheet" href="%[2]s/assets/style.css"><link rel="icon" href="%[2]s/assets/icon.svg" type="image/svg+xml">
<main class="login"><h1>sched</h1>%[1]s<form method="post" action="%[2]s/login">%[3]s<p><button>Sign in</button></form></main></html>
`, problem, base, field)
}

// begin begins a session with a credential and returns its cookie. The session is bound to user:
// see sessionUser. With too many sessions, begin forgets the one that ends first. A session that
// cannot be written down ends with the server.
func (a *access) begin(r *http.Request, user string, with Token) *http.Cookie {
	value, now := newSecret(), a.Now().UTC().Round(0)
	session := Token{Name: "session-" + rand.Text()[:8], Scope: with.Scope, Made: now, Hash: tokenHash(value),
		Session: &Session{By: with.Name, TokenHash: with.Hash, User: user, Until: now.Add(sessionLasts)}}
	add := func(all []Token) ([]Token, error) { return withSession(all, session, now), nil }
	if user == "" && !a.Secure {
		// Another user who takes our port while we are down gets this cookie. It must not work
		// later, so the session is never on disk.
		a.tokens.remember(session, now)
	} else if err := a.tokens.change(add); err != nil {
		a.Problem("a session cannot be written down, and ends with the server: %v", err)
		a.tokens.remember(session, now)
	}
	return a.cookie(r, value)
}

// session returns the session of a cookie, if it is still valid and the sender may use it.
func (a *access) session(r *http.Request, value string) (Token, bool) {
	found, ok, err := a.tokens.findHash(tokenHash(value))
	if err != nil || !ok || found.Session == nil || !a.Now().Before(found.Session.Until) {
		return Token{}, false
	}
	if hash := found.Session.TokenHash; hash != "" {
		if begunWith, ok, err := a.tokens.findHash(hash); err != nil || !ok || begunWith.Scope != found.Scope {
			return Token{}, false
		}
	}
	if found.Session.User != "" {
		if user, err := a.sessionUser(r); err != nil || user != found.Session.User {
			return Token{}, false
		}
	}
	return found, true
}

// sessionUser returns the user of this machine to whom a session is bound; "" if it needs no such
// bond, or the system does not say who asks. Browsers send a cookie to every port of an address, so
// a server of another user gets it. Over TLS it cannot.
func (a *access) sessionUser(r *http.Request) (string, error) {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if a.Secure || local == nil {
		return "", nil
	}
	client, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return "", nil
	}
	server := local.AddrPort()
	user, err := loopbackUser(netip.AddrPortFrom(client.Addr().Unmap(), client.Port()),
		netip.AddrPortFrom(server.Addr().Unmap(), server.Port()))
	if err == nil && user == "" {
		return "", NewProblem(http.StatusUnauthorized, "keep the connection open until it is answered",
			"nobody knows who asks")
	}
	return user, nil
}

// cookieName differs between servers: browsers keep one cookie of a name for all ports of a host.
func (a *access) cookieName(r *http.Request) string {
	name := "sched_session_" + tokenHash(a.StateDir)[:8]
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		name += fmt.Sprintf("_%d", local.Port)
	}
	switch {
	case a.Secure && a.SitePath() == "":
		return "__Host-" + name // no other host, and no page without TLS, can set it
	case a.Secure:
		return "__Secure-" + name
	}
	return name
}

// cookie returns the cookie of a session. A cookie without a value ends the session.
func (a *access) cookie(r *http.Request, value string) *http.Cookie {
	c := &http.Cookie{Name: a.cookieName(r), Value: value, Path: a.SitePath() + "/",
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: a.Secure,
		MaxAge: int(sessionLasts / time.Second)}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}
