package serve

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// A Session is what a token for one browser has besides. The browser sends it in a cookie. It ends
// by itself, and with the token that it was begun with.
type Session struct {
	By    string    `json:"by"`             // the name of that token, or "login link"
	Of    string    `json:"of,omitempty"`   // the hash of that token
	User  string    `json:"user,omitempty"` // the id of the only user of this machine who may use it; "" for everybody
	Until time.Time `json:"until"`
}

const (
	mostSessions = 1000
	sessionLasts = 12 * time.Hour
	linkLasts    = 10 * time.Minute
	loginLink    = "login link"
)

// begin begins a session and returns its cookie. With too many sessions, it forgets the one that
// ends first. A session that cannot be written down ends with the server.
func (a *access) begin(r *http.Request, scope Scope, by, of string) (*http.Cookie, error) {
	user, err := a.sessionUser(r)
	if err != nil {
		return nil, err
	}
	value, now := newSecret(), a.Now().UTC().Round(0)
	one := Token{Name: "session-" + rand.Text()[:8], Scope: scope, Made: now, Hash: tokenHash(value),
		Session: &Session{By: by, Of: of, User: user, Until: now.Add(sessionLasts)}}
	add := func(all []Token) ([]Token, error) { return withSession(all, one, now), nil }
	if user == "" && !a.Secure {
		a.tokens.remember(one) // who takes the port while the server is down must get nothing that works
	} else if err := a.tokens.change(add); err != nil {
		a.Problem("a session cannot be written down, and ends with the server: %v", err)
		a.tokens.remember(one)
	}
	return a.cookie(r, value), nil
}

// session returns the session of a cookie, if it is still valid and the sender may use it.
func (a *access) session(r *http.Request, value string) (Token, bool) {
	one, ok, err := a.tokens.findHash(tokenHash(value))
	if err != nil || !ok || one.Session == nil || !a.Now().Before(one.Session.Until) {
		return Token{}, false
	}
	if of := one.Session.Of; of != "" {
		if begun, ok, err := a.tokens.findHash(of); err != nil || !ok || begun.Scope != one.Scope {
			return Token{}, false
		}
	}
	if one.Session.User != "" {
		if user, err := a.sessionUser(r); err != nil || user != one.Session.User {
			return Token{}, false
		}
	}
	return one, true
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

// withSession returns all tokens with a session, without the sessions that are over at a time.
func withSession(all []Token, one Token, now time.Time) []Token {
	first, sessions := -1, 0
	all = slices.DeleteFunc(slices.Clone(all),
		func(t Token) bool { return t.Session != nil && !now.Before(t.Session.Until) })
	for i, t := range all {
		if t.Session == nil {
			continue
		}
		if sessions++; first < 0 || t.Session.Until.Before(all[first].Session.Until) {
			first = i
		}
	}
	if sessions >= mostSessions {
		all = slices.Delete(all, first, first+1)
	}
	return append(all, one)
}

// A link is a login link that was not used yet. Links end with the server.
type link struct {
	scope Scope
	until time.Time
}

// useLink returns the scope of a login link, and forgets the link: it works once.
func (a *access) useLink(code string) (Scope, bool) {
	found, ok := a.links.LoadAndDelete(tokenHash(code))
	if !ok {
		return "", false
	}
	one := found.(link)
	return one.scope, a.Now().Before(one.until)
}
