package serve

import "net/http"

// An access decides what each caller may do: by token, session, key in a path, or user of a socket.
// Guard comes before every route. The methods Caller and Key identify the caller. docs/serve.md has
// the threats. An access is safe for concurrent use.
type access struct {
	Config
	tokens   *tokens
	links    links
	attempts attempts
	cross    *http.CrossOriginProtection
	all      []*access // of the schedules to which a browser signs in at once, this one included
}

// newAccess returns the access to one server.
func newAccess(c Config) *access {
	a := &access{
		Config: c, tokens: &tokens{dir: c.StateDir}, links: links{now: c.Now}, attempts: attempts{now: c.Now, delay: attemptsDelay},
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

// ParseScope reads the scope of a token.
func ParseScope(text string) (Scope, bool) {
	scope := Scope(text)
	return scope, scope.OfTokens()
}
