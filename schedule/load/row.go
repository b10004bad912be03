package load

import (
	"reflect"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/yamldoc"
)

// The rows of the tables of keys are made with the functions of this file:
//
//   - row and taskRow make a row.
//   - replaces and replacesBy read the value of a key, and put it into a field of a type T.
//   - by gives a key a setter of its own, which reads the value.
//   - listOf, durationFrom and their neighbours make the reader of a value.
//   - is says which values there are: Of is their kind, Without what holds if the key is not there.

type (
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
	taskScope scope = 1 << iota
	groupScope
	defaultsScope

	anywhere = taskScope | groupScope | defaultsScope
)

// scopeName returns a scope as messages call it.
func scopeName(in scope) string {
	switch in {
	case groupScope:
		return "a group"
	case defaultsScope:
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
		l.Origins.ForgetBelow(l.Key)
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
// the same kind that has only the defaults of sched and the env of the top.
func takenAway[T any](l *loader, into *T, n *node) (bare *T, ok bool) {
	if !n.IsFalse() || l.bare == nil {
		return nil, false
	}
	for _, mapping := range []any{l.bare, &l.bare.Retry, &l.bare.Expect, &l.bare.Limits, &l.bare.Output} {
		if bare, ok = mapping.(*T); ok {
			break
		}
	}
	return bare, ok
}

// isBool reports whether the field itself is true or false: for such a key false is a value like
// any other.
func isBool(field any) bool {
	_, ok := field.(*bool)
	return ok
}

// listOf returns the reader of one item or a list of them.
func listOf[V any](read func(*reader, *node) (V, bool)) func(*reader, *node) ([]V, bool) {
	return func(r *reader, n *node) ([]V, bool) {
		return yamldoc.Collect(n, func(item *node) (V, bool) { return read(r, item) })
	}
}

// someOf is listOf for a list that must not be empty. The hint is for an empty list.
func someOf[V any](hint string, read func(*reader, *node) (V, bool)) func(*reader, *node) ([]V, bool) {
	return func(r *reader, n *node) ([]V, bool) {
		if !r.RefuseEmptyList(n, hint) {
			return nil, false
		}
		return listOf(read)(r, n)
	}
}

// durationFrom returns the reader of a duration that is at least least.
func durationFrom(least time.Duration) func(*reader, *node) (time.Duration, bool) {
	return func(r *reader, n *node) (time.Duration, bool) { return r.Duration(n, least) }
}

// sizeFrom returns the reader of a number of bytes that is at least least.
func sizeFrom(least int64) func(*reader, *node) (int64, bool) {
	return func(r *reader, n *node) (int64, bool) { return r.Size(n, least) }
}

// durationTo is durationFrom with an upper bound, which has a name.
func durationTo(least, most time.Duration, name string) func(*reader, *node) (time.Duration, bool) {
	return func(r *reader, n *node) (time.Duration, bool) {
		d, ok := r.Duration(n, least)
		if ok && d > most {
			r.Problemf(n, "", "%s %s is longer than %s", r.Key, n.Value, name)
		}
		return d, ok && d <= most
	}
}

// durationOrNone returns the reader of a duration, or of none, an older word for false. A duration
// that is shorter than least would do what effect says; the hint says that false is for "a task",
// and then without.
func durationOrNone(
	least time.Duration, without, effect string,
) func(*reader, *node) (time.Duration, bool) {
	return func(r *reader, n *node) (time.Duration, bool) {
		if n.IsScalar() && n.Value == "none" {
			return 0, true
		}
		d, ok := time.Duration(0), n.IsScalar() && n.Value == "0"
		if !ok {
			d, ok = r.Duration(n, 0)
		}
		if ok && d < least {
			r.Problemf(n, "write false for a task "+without, "%s %s would %s", r.Key, n.Value, effect)
		}
		return d, ok
	}
}

// integerTo returns the reader of a whole number from least to most.
func integerTo(least, most int) func(*reader, *node) (int, bool) {
	return func(r *reader, n *node) (int, bool) { return r.Integer(n, least, most) }
}

// A wordList is the words that the value of a key may be. The first word is the default.
type wordList struct {
	words   []string
	yes     string // the word that a person may mean who writes yes
	ifWrong string // the word that a wrong value counts as, besides being a problem
}

// read reads one of the words. false means the default.
func (w wordList) read(r *reader, n *node) (string, bool) {
	if n.IsFalse() {
		return w.words[0], true
	}
	if !n.IsScalar() || n.IsNull() {
		return r.Text(n)
	}
	hint := ""
	if isYes, isPlain := yamldoc.BoolWord(n); isPlain && isYes {
		hint = "write " + w.yes
	} else if isPlain {
		hint = "write " + w.words[0]
	}
	if word, ok := r.OneOfOr(n, hint, w.words...); ok {
		return word, true
	}
	return w.ifWrong, true
}

// settingValue returns a value as a schedule.Setting has it; nil for an empty value that is not
// false.
func settingValue(value any) any {
	switch v := value.(type) {
	case bool:
		return v
	case *time.Location:
		return v.String()
	case schedule.Days:
		return settingValue(v.String())
	case schedule.Pool:
		return settingValue(v.Name)
	case []schedule.TimeValues:
		texts := make([]string, len(v))
		for i, times := range v {
			when := cron.When{Crons: times.Crons}
			texts[i] = schedule.WithValues(strings.Join(when.Texts(), ", "), times.Params)
		}
		return settingValue(texts)
	case []schedule.Window:
		var texts []string
		for _, w := range v {
			texts = append(texts, w.String())
		}
		return settingValue(texts)
	}
	switch v := reflect.ValueOf(value); {
	case v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0:
		return nil
	case v.Kind() == reflect.Pointer:
		return v.Elem().Interface()
	}
	return value
}

// A shownKey is a key with its value in effect.
type shownKey struct {
	name string

	// value is a value as in schedule.Setting, or []shownKey for a mapping, map[string]string for
	// env, or []schedule.Param.
	value any
}

// shownKeys returns the keys of a table that are shown, with their values in a mapping.
func shownKeys[T any](table *keys[T], mapping *T) (all []shownKey) {
	for _, k := range table.All() {
		if k.Show != nil {
			all = append(all, shownKey{name: k.Name, value: k.Show(mapping)})
		}
	}
	return all
}
