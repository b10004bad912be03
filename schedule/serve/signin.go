package serve

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// This file is how a browser gets a session: with a login link, which works once, or with a token
// in a form. To open the link changes nothing, because programs that show previews follow links,
// too. The button on its page uses it up.

// SignIn adds the pages for signing in and out.
func (a *access) SignIn(mux *http.ServeMux) {
	mux.HandleFunc("GET "+a.SitePath()+"/login",
		func(w http.ResponseWriter, _ *http.Request) { a.form(w, http.StatusOK, "", "") })
	mux.HandleFunc("GET "+a.SitePath()+"/login/{code}", func(w http.ResponseWriter, r *http.Request) {
		a.form(w, http.StatusOK, r.PathValue("code"), "")
	})
	mux.HandleFunc("POST "+a.SitePath()+"/login", a.login)
	mux.HandleFunc("POST "+a.SitePath()+"/logout", a.logout)
}

// LoginPath returns the path of a new login link with the scope. It signs in to all schedules of a
// site.
func (s *Server) LoginPath(scope Scope) string {
	code := newSecret()
	for _, member := range s.access.all {
		member.links.Store(tokenHash(code), link{scope, s.Now().Add(linkLasts)})
	}
	return s.SitePath() + "/login/" + code
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

// A Session is what a Token has besides if it is for one browser, which sends it in a cookie. A
// session ends by itself, and when the token with which it was begun is revoked.
type Session struct {
	By        string    `json:"by"`             // the name of that token, or "login link"
	TokenHash string    `json:"of,omitempty"`   // of that token; "" for a login link
	User      string    `json:"user,omitempty"` // the id of the only user of this machine who may use it; "" for everybody
	Until     time.Time `json:"until"`
}

const (
	maxSessions  = 1000
	sessionLasts = 12 * time.Hour
	linkLasts    = 10 * time.Minute
	loginLink    = "login link"
)

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

// withSession returns all tokens and one more session, without the sessions that are over now. If
// there are maxSessions, the credential with the most sessions loses the one that ends first: who
// signs in a thousand times signs nobody else out.
func withSession(all []Token, session Token, now time.Time) []Token {
	all = slices.DeleteFunc(slices.Clone(all),
		func(t Token) bool { return t.Session != nil && !now.Before(t.Session.Until) })
	if sessions := sessionsIn(all); sessions >= maxSessions {
		first := mostSessions(append(slices.Clip(all), session))
		all = slices.Delete(all, first, first+1)
	}
	return append(all, session)
}

// mostSessions returns the index of a session of the credential with the most sessions: of the
// session that ends first.
func mostSessions(all []Token) (first int) {
	counts := map[string]int{}
	for _, t := range all {
		if t.Session != nil {
			counts[t.Session.TokenHash]++
		}
	}
	first = -1
	for i, t := range all {
		if t.Session == nil {
			continue
		}
		more := 0
		if first >= 0 {
			more = counts[t.Session.TokenHash] - counts[all[first].Session.TokenHash]
		}
		if first < 0 || more > 0 || more == 0 && t.Session.Until.Before(all[first].Session.Until) {
			first = i
		}
	}
	return first
}

// A link is a login link that was not used yet. Links end with the server.
type link struct {
	scope Scope
	until time.Time
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
