package serve

import (
	"net/http"
	"sync"
	"time"
)

// sessions are the sessions of signed-in browsers, by the hash of their cookie. They are kept in
// memory: they end with the server.
type sessions struct {
	now func() time.Time

	mu    sync.Mutex
	links map[string]link // login links that were not used yet, by their hash
	all   map[string]session
}

type link struct {
	scope Scope
	until time.Time
}

type session struct {
	who   Who
	token string // the hash of the token it was begun with; "" for a login link
	until time.Time
}

const (
	mostSessions = 1000
	sessionLasts = 12 * time.Hour
	linkLasts    = 10 * time.Minute // it may be in a log
	cookieName   = "sched_session"
)

func (s *sessions) newLink(scope Scope) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	code := newSecret()
	if s.links == nil {
		s.links = map[string]link{}
	}
	s.links[tokenHash(code)] = link{scope, s.now().Add(linkLasts)}
	return code
}

// useLink returns the scope of a login link, and removes the link: it works once.
func (s *sessions) useLink(code string) (Scope, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.links[tokenHash(code)]
	delete(s.links, tokenHash(code))
	return one.scope, ok && s.now().Before(one.until)
}

// begin begins a session and returns the value of its cookie. If there are too many sessions, it
// forgets the one that ends first.
func (s *sessions) begin(one session) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]session{}
	}
	now, oldest := s.now(), ""
	for hash, other := range s.all {
		if !now.Before(other.until) {
			delete(s.all, hash)
		} else if oldest == "" || other.until.Before(s.all[oldest].until) {
			oldest = hash
		}
	}
	if len(s.all) >= mostSessions {
		delete(s.all, oldest)
	}
	value := newSecret()
	one.until = now.Add(sessionLasts)
	s.all[tokenHash(value)] = one
	return value
}

func (s *sessions) find(value string) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.all[tokenHash(value)]
	return one, ok && s.now().Before(one.until)
}

func (s *sessions) end(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, tokenHash(value))
}

// cookie returns the cookie of a session. A cookie without a value ends the session.
func (a *access) cookie(value string) *http.Cookie {
	c := &http.Cookie{Name: cookieName, Value: value, Path: a.BasePath + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: a.Secure,
		MaxAge: int(sessionLasts / time.Second)}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}
