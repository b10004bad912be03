package load

import (
	"sched/schedule"
	"sched/schedule/yamldoc"
)

// The rows of keys.go and subkeys.go are made with the functions of this file.

type (
	reader        = yamldoc.Reader
	node          = yamldoc.Node
	scope         = yamldoc.Scope
	keys[T any]   = yamldoc.Table[*loader, T]
	key[T any]    = yamldoc.Key[*loader, T]
	setter[T any] = func(*loader, *T, *node)
	is            = yamldoc.Type
)

// The scopes of taskKeys: the mappings that may have the key of a task.
const (
	inTask scope = 1 << iota
	inGroup
	inDefaults

	anywhere = inTask | inGroup | inDefaults
)

// scopeName returns a scope as messages call it.
func scopeName(in scope) string {
	switch in {
	case inGroup:
		return "a group"
	case inDefaults:
		return "defaults"
	}
	return "a task"
}

// replaces returns the setter of a key whose value replaces the inherited value. false takes the
// inherited value away.
func replaces[T, V any](field func(*T) *V, read func(*reader, *node) (V, bool)) setter[T] {
	return replacesBy(field, func(l *loader, n *node) (V, bool) { return read(l.Reader, n) })
}

// replacesBy is replaces for a reader that needs the loader: for earlier keys, or for Options.
func replacesBy[T, V any](field func(*T) *V, read func(*loader, *node) (V, bool)) setter[T] {
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

// merges returns the setter of a key whose reader combines its own value with the inherited value.
func merges[T, V any](field func(*T) *V, read func(r *reader, n *node, inherited V) V) setter[T] {
	return func(l *loader, into *T, n *node) { *field(into) = read(l.Reader, n, *field(into)) }
}

// row makes one row of a table: in is its scope, 0 for any, doc its meaning in one phrase.
func row[T any](name string, in scope, set setter[T], doc string, types ...is) key[T] {
	k := key[T]{Name: name, In: in, Set: set, Doc: doc}
	for _, k.Type = range types {
	}
	return k
}

// takenAway reports whether n is the word false in a mapping that can inherit. bare is a mapping of
// the same kind that neither sets nor inherits anything.
func takenAway[T any](l *loader, into *T, n *node) (bare *T, ok bool) {
	if !n.IsFalse() || l.bare == nil {
		return nil, false
	}
	switch any(into).(type) {
	case *taskDraft:
		bare, ok = any(l.bare).(*T)
	case *schedule.Retry:
		bare, ok = any(&l.bare.Retry).(*T)
	case *schedule.Expect:
		bare, ok = any(&l.bare.Expect).(*T)
	case *schedule.Output:
		bare, ok = any(&l.bare.Output).(*T)
	}
	return bare, ok
}

// isBool reports whether the field itself is true or false: for such a key false is a value like
// any other.
func isBool(field any) bool {
	_, is := field.(*bool)
	return is
}

// A Mapping is a kind of mapping in the files of a schedule, with keys of its own.
type Mapping string

// The mappings are a closed list. Those after Included are values of keys of their name; a Hook is
// one of each hook key.
const (
	Top      Mapping = "schedule"
	InTask   Mapping = "task"
	InGroup  Mapping = "taskGroup"
	Defaults Mapping = "defaults"
	Included Mapping = "included"

	InHistory Mapping = "history"
	InMetrics Mapping = "metrics"
	InMail    Mapping = "mail"
	InRetry   Mapping = "retry"
	InExpect  Mapping = "expect"
	InOutput  Mapping = "output"
	InHook    Mapping = "hook"
)

// Keys returns the keys that the mapping may have, as the loader reads them and in that order.
func Keys(of Mapping) []yamldoc.Entry {
	for _, m := range mappings() {
		if m.name == of {
			return m.keys
		}
	}
	return includeKeys.Entries(0)
}
