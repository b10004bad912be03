package access

// A Scope is what somebody may do. Each of read, operate and edit has those before it.
type Scope string

// The scopes of tokens.
const (
	Open    Scope = "open"    // of routes for which no token is needed
	Read    Scope = "read"    // look at everything
	Operate Scope = "operate" // trigger, retry, stop, pause, resume
	Edit    Scope = "edit"    // write tasks

	Badge Scope = "badge" // of a key: show the badge of one task
	Hook  Scope = "hook"  // of a key: trigger one task
)

// rank is higher for what allows more; 0 for what is no scope of a token.
func (s Scope) rank() int {
	switch s {
	case Read:
		return 1
	case Operate:
		return 2
	case Edit:
		return 3
	}
	return 0
}

// Allows reports whether who has the scope may do what needs the other.
func (s Scope) Allows(need Scope) bool { return s.rank() >= need.rank() && need.rank() > 0 }

// OfTokens reports whether tokens have the scope: it is neither that of a key, nor open.
func (s Scope) OfTokens() bool { return s.rank() > 0 }

// ParseScope reads the scope of a token.
func ParseScope(text string) (Scope, bool) {
	scope := Scope(text)
	return scope, scope.OfTokens()
}
