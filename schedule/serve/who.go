package serve

import (
	"context"
	"slices"
	"strings"
)

// A Who is a caller.
type Who struct {
	Name  string // for the history, the pauses and the audit log
	From  string // the address, or that it came by the socket
	Scope Scope
	Task  string // for which a key is good; "" for other callers

	ByHeader bool // the proxy has signed them in
}

// needs returns an error for a caller who may do less than the scope says.
func (who Who) needs(scope Scope) error {
	if who.Scope.Allows(scope) {
		return nil
	}
	return forbidden("make a token with `sched serve token --scope "+string(scope)+"`",
		"%s may %s, and this needs %s", who.Name, who.Scope, scope)
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

// A Scope is what a caller may do. Operate includes read, and edit includes both. Approve includes
// read alone. Several scopes, with commas between them, allow what each of them does.
type Scope string

// The scopes of tokens.
const (
	ScopeOpen    Scope = "open"    // of routes for which no token is needed
	ScopeRead    Scope = "read"    // look at everything
	ScopeOperate Scope = "operate" // trigger, retry, stop, pause, resume
	ScopeEdit    Scope = "edit"    // write tasks
	ScopeApprove Scope = "approve" // see what is proposed, approve and reject it

	ScopeBadge    Scope = "badge"    // of a key: show the badge of one task
	ScopeCalendar Scope = "calendar" // of a key: read the calendar
	ScopeHook     Scope = "hook"     // of a key: trigger one task
)

// rank is higher for a scope that includes more; 0 for others.
func (s Scope) rank() int {
	return slices.Index([]Scope{ScopeRead, ScopeOperate, ScopeEdit}, s) + 1
}

// parts returns the scopes of which s is made.
func (s Scope) parts() (all []Scope) {
	for part := range strings.SplitSeq(string(s), ",") {
		all = append(all, Scope(part))
	}
	return all
}

// Allows reports whether a caller with the scope may do things that need the other scope.
func (s Scope) Allows(need Scope) bool {
	return slices.ContainsFunc(s.parts(), func(part Scope) bool {
		if part == ScopeApprove || need == ScopeApprove {
			return part == ScopeApprove && (need == ScopeApprove || need == ScopeRead)
		}
		return part.rank() >= need.rank() && need.rank() > 0
	})
}

// with returns a scope that allows what s or other allows.
func (s Scope) with(other Scope) Scope {
	var highest Scope
	all := append(s.parts(), other.parts()...)
	for _, part := range all {
		if part.rank() > highest.rank() {
			highest = part
		}
	}
	switch {
	case !slices.Contains(all, ScopeApprove):
		return highest
	case highest.rank() <= ScopeRead.rank():
		return ScopeApprove
	}
	return highest + "," + ScopeApprove
}

// OfKeys reports whether keys have the scope, which are part of a URL.
func (s Scope) OfKeys() bool { return s == ScopeBadge || s == ScopeCalendar || s == ScopeHook }

// OfTokens reports whether tokens can have the scope: it is neither open nor the scope of a key.
func (s Scope) OfTokens() bool {
	return !slices.ContainsFunc(s.parts(), func(part Scope) bool { return part != ScopeApprove && part.rank() == 0 })
}
