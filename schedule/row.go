package schedule

import (
	"math"
	"time"

	"sched/schedule/document"
)

// This file holds what the rows of keys.go are made with.

type (
	node          = document.Node
	scope         = document.Scope
	keys[T any]   = document.Table[*loader, T]
	key[T any]    = document.Key[*loader, T]
	setter[T any] = func(*loader, *T, *node)
	is            = document.Type
)

// The scopes of taskKeys: where the key of a task may stand.
const (
	inTask scope = 1 << iota
	inGroup
	inDefaults

	anywhere = inTask | inGroup | inDefaults
)

// scopeNames are the scopes as messages call them.
var scopeNames = map[scope]string{inTask: "a task", inGroup: "a group", inDefaults: "defaults"}

// replaces returns the setter of a key whose value takes the place of the inherited one; false takes that away
// (takenAway). A value that is wrong leaves the field as it is.
func replaces[T, V any](field func(*T) *V, read func(*loader, *node) (V, bool)) setter[T] {
	return func(l *loader, into *T, n *node) {
		l.Forget()
		if bare, ok := takenAway(l, into, n); ok && !isBool(field(into)) {
			*field(into) = *field(bare)
			return
		}
		if value, ok := read(l, n); ok {
			*field(into) = value
		}
	}
}

// merges returns the setter of a key whose reader makes one value of its own and the inherited one.
func merges[T, V any](field func(*T) *V, read func(l *loader, n *node, inherited V) V) setter[T] {
	return func(l *loader, into *T, n *node) { *field(into) = read(l, n, *field(into)) }
}

// row makes one row of a table: in is where the key may stand, 0 for wherever the table is used, and doc what it means
// in one phrase. A test wants a type for each: what the value may be.
func row[T any](name string, in scope, set setter[T], doc string, types ...is) key[T] {
	k := key[T]{Name: name, In: in, Set: set, Doc: doc}
	for _, k.Type = range types {
	}
	return k
}

// durationFrom returns the reader of a duration that is at least least.
func durationFrom(least time.Duration) func(*loader, *node) (time.Duration, bool) {
	return func(l *loader, n *node) (time.Duration, bool) { return l.Duration(n, least) }
}

// integerFrom returns the reader of a whole number that is at least least.
func integerFrom(least int) func(*loader, *node) (int, bool) {
	return func(l *loader, n *node) (int, bool) { return l.Integer(n, least, math.MaxInt32) }
}

// takenAway reports whether n is the word false in a mapping that inherits, and returns what such a mapping has that
// neither sets nor inherits anything.
func takenAway[T any](l *loader, into *T, n *node) (bare *T, ok bool) {
	if !n.IsFalse() || l.bare == nil {
		return nil, false
	}
	switch any(into).(type) {
	case *taskDraft:
		bare, ok = any(l.bare).(*T)
	case *Retry:
		bare, ok = any(&l.bare.Retry).(*T)
	case *Output:
		bare, ok = any(&l.bare.Output).(*T)
	}
	return bare, ok
}

// isBool reports whether the field itself is true or false: for such a key false is a value like any other.
func isBool(field any) bool {
	_, is := field.(*bool)
	return is
}

// choice returns the reader of one of two words: on is the one that means true. Another word is a problem, and taken
// for on, so that nothing that needs it is refused, too. false takes an inherited word away: the default never is on.
func choice(first, second, on string) func(*loader, *node) (bool, bool) {
	return func(l *loader, n *node) (bool, bool) {
		if n.IsFalse() {
			return false, true
		}
		text, ok := l.Text(n)
		if ok && text != first && text != second {
			l.Problemf(n, "", "%s must be %s or %s, not %s", l.Key, first, second, n.Describe())
			return true, true
		}
		return text == on, ok
	}
}
