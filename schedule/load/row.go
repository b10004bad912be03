package load

import (
	"sched/schedule"
	"sched/schedule/yamldoc"
)

// The rows of keys.go and subkeys.go are made with the functions of this file:
//
//   - row and taskRow make a row.
//   - replaces and replacesBy say that the value of a key is a field of a type T.
//   - by gives a key a setter of its own.

type (
	reader        = yamldoc.Reader
	node          = yamldoc.Node
	scope         = yamldoc.Scope
	keys[T any]   = yamldoc.Table[*loader, T]
	key[T any]    = yamldoc.Key[*loader, T]
	setter[T any] = func(*loader, *T, *node)
	is            = yamldoc.Type // which values a key may have
)

// An access says how the value of a key is read into a T, and how it is shown.
type access[T any] struct {
	set     setter[T]
	show    func(*T) any // for Settings; nil for a key that is not shown
	isEarly bool         // it is set before the other keys
}

// by returns the access of a key with a setter of its own.
func by[T any](set setter[T]) access[T] { return access[T]{set: set} }

// setLater sets nothing: the value of the key is read after the values of all keys.
func setLater[T any](*loader, *T, *node) {}

// shows sets how the value of the key is shown.
func (a access[T]) shows(show func(*T) any) access[T] {
	a.show = show
	return a
}

// early sets the key before the other keys, which need it.
func (a access[T]) early() access[T] {
	a.isEarly = true
	return a
}

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

// replaces returns the access of a key whose value replaces the inherited value. false takes the
// inherited value away.
func replaces[T, V any](field func(*T) *V, read func(*reader, *node) (V, bool)) access[T] {
	return replacesBy(field, func(l *loader, n *node) (V, bool) { return read(l.Reader, n) })
}

// replacesBy is replaces for a reader that needs the loader: for earlier keys, or for Options.
func replacesBy[T, V any](field func(*T) *V, read func(*loader, *node) (V, bool)) access[T] {
	set := func(l *loader, into *T, n *node) {
		l.Origins.Forget(l.Key)
		if bare, ok := takenAway(l, into, n); ok && !isBool(field(into)) {
			*field(into) = *field(bare)
			return
		}
		if value, ok := read(l, n); ok {
			*field(into) = value
		}
	}
	return by(set).shows(func(t *T) any { return settingValue(*field(t)) })
}

// row makes a row of a table without scopes. doc is the meaning of the key in one phrase, and
// valueType says which values the key may have.
func row[T any](name string, a access[T], doc string, valueType is) key[T] {
	return key[T]{Name: name, Set: a.set, Early: a.isEarly, Show: a.show, Doc: doc, Type: valueType}
}

// taskRow makes a row of taskKeys: in are the mappings that may have the key.
func taskRow(name string, in scope, a access[taskDraft], doc string, valueType is) key[taskDraft] {
	made := row(name, a, doc, valueType)
	made.In = in
	return made
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
	case *schedule.Limits:
		bare, ok = any(&l.bare.Limits).(*T)
	case *schedule.Output:
		bare, ok = any(&l.bare.Output).(*T)
	}
	return bare, ok
}

// isBool reports whether the field itself is true or false: for such a key false is a value like
// any other.
func isBool(field any) bool {
	_, ok := field.(*bool)
	return ok
}

// A Mapping is a kind of mapping in the files of a schedule, with keys of its own.
type Mapping string

// The mappings are a closed list. A mapping after Included is the value of the key of its name;
// InHook is a value of each key of hooks.
const (
	Top      Mapping = "schedule"
	InTask   Mapping = "task"
	InGroup  Mapping = "taskGroup"
	Defaults Mapping = "defaults"
	Included Mapping = "included"

	InHistory Mapping = "history"
	InMetrics Mapping = "metrics"
	InMail    Mapping = "mail"
	InPause   Mapping = "pause"
	InRetry   Mapping = "retry"
	InParam   Mapping = "param"
	InExpect  Mapping = "expect"
	InLimits  Mapping = "limits"
	InOutput  Mapping = "output"
	InHook    Mapping = "hook"
)

// Keys returns the keys that the mapping may have, as the loader reads them and in that order.
func Keys(mapping Mapping) []yamldoc.Entry {
	for _, m := range mappings() {
		if m.name == mapping {
			return m.keys
		}
	}
	return includeKeys.Entries(0)
}
