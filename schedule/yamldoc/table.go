package yamldoc

import (
	"slices"
	"strings"
	"sync"
)

// A Table lists the keys that a mapping may have. It reads such a mapping, suggests keys in place
// of unknown ones, and documents the keys. Keys are set in the order of the table, the early ones
// first, and not in the order of the file. A setter gets a C and sets a T.
type Table[C Context, T any] struct {
	// Rows returns the keys, at most maxKeys. It is called at the first use, so that a command that
	// reads no such mapping does not make the table.
	Rows func() []Key[C, T]

	// Scopes names the scopes as messages do: "a task". It is nil for a table whose mappings are
	// all alike.
	Scopes func(Scope) string

	// Misplaced returns a hint for a key that cannot stand in the scope in. If it returns "", the
	// hint is the nearest key. known are the scopes of the key, 0 for an unknown key. Misplaced may
	// be nil.
	Misplaced func(name string, in, known Scope) string

	// Reference is the hint for an unknown key that is like no other, if the keys are too many for
	// a message.
	Reference string

	// Extensions says that keys which begin with "x-" are left alone: they hold the anchors for
	// other keys.
	Extensions bool

	once  sync.Once
	keys  []Key[C, T]
	index map[string]int
}

// A Key is a row of a Table.
type Key[C Context, T any] struct {
	Name  string
	In    Scope              // the mappings that may have it; 0 for all mappings of the table
	Set   func(C, *T, *Node) // reads the value, and records problems with it
	Early bool               // the key is set before the other keys, which need it
	Show  func(*T) any       // the value in effect, for the caller alone; may be nil
	Doc   string             // what the key means, in one phrase
	Type  Type               // what its value may be
}

// A Type documents the value of a key for editors. Set decides; a test compares the two.
type Type struct {
	Of          string   // its kind: the name of a definition in the schema; empty if Words are enough
	Words       []string // the words that the value, or each item of it, may be; nil for any
	Least, Most int      // the bounds of a number; both 0 for no bounds
	Default     string   // the value that holds without the key, as YAML
	Without     string   // in words, what holds without the key, if no value says it
	Example     string   // a value, as YAML
	NoFalse     bool     // false does not take an inherited value away
}

// An Entry is a row of a Table for documentation, without its setter.
type Entry struct {
	Name, Doc string
	Type      Type
}

// Entries returns the keys that may stand in the scope, in the order of the table; all of them for
// 0.
func (t *Table[C, T]) Entries(in Scope) []Entry {
	var entries []Entry
	for _, key := range t.All() {
		if key.In == 0 || in == 0 || key.In&in != 0 {
			entries = append(entries, Entry{Name: key.Name, Doc: key.Doc, Type: key.Type})
		}
	}
	return entries
}

// A Scope is a set of bits, one for each kind of mapping. The table gives the bits their meaning.
type Scope uint8

// maxKeys is how many keys a table may have: Decode keeps the place of each key on the stack.
const maxKeys = 96

// Decode sets into from n. A key that is unknown, misplaced or repeated is a problem; the others
// are set all the same. While a key is set, r.Key is its full name: retry.delay.
func (t *Table[C, T]) Decode(c C, into *T, n *Node, in Scope) {
	r, keys := c.reader(), t.All()
	var valueAt [maxKeys]int // index in n.Content; 0 for a missing key, because a key has the index 0
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := (*Node)(n.Content[i])
		j, ok := t.resolve(r, n, name, (*Node)(n.Content[i+1]), in)
		if !ok {
			continue
		}
		if valueAt[j] != 0 {
			first := (*Node)(n.Content[valueAt[j]-1])
			r.Problemf(name, "remove one of the two",
				"%q is given twice, first at line %d", name.Value, r.PlaceOf(first).Line)
			continue
		}
		valueAt[j] = i + 1
	}
	above, exampleAbove := r.Key, r.example
	for _, early := range []bool{true, false} { // first the early keys
		for j, key := range keys {
			if valueAt[j] == 0 || key.Early != early {
				continue
			}
			r.Key, r.example = key.Name, key.Type.Example
			if above != "" {
				r.Key = above + "." + key.Name
			}
			name, value := (*Node)(n.Content[valueAt[j]-1]), (*Node)(n.Content[valueAt[j]])
			r.RecordOrigin(name, value)
			key.Set(c, into, value)
		}
	}
	r.Key, r.example = above, exampleAbove
}

// Has reports whether the key may stand in the scope.
func (t *Table[C, T]) Has(name string, in Scope) bool { return slices.Contains(t.Names(in), name) }

// Names returns the keys that may stand in the scope, in the order of the table; all of them for 0.
func (t *Table[C, T]) Names(in Scope) (names []string) {
	for _, entry := range t.Entries(in) {
		names = append(names, entry.Name)
	}
	return names
}

// All returns the rows. The caller must not change them.
func (t *Table[C, T]) All() []Key[C, T] {
	t.once.Do(func() {
		t.keys = t.Rows()
		t.index = make(map[string]int, len(t.keys))
		for i, key := range t.keys {
			t.index[key.Name] = i
		}
	})
	return t.keys
}

// resolve returns the index of a key of the mapping n in the table. If the key may not stand in the
// scope, it records a problem and returns false.
func (t *Table[C, T]) resolve(r *Reader, n, name, value *Node, in Scope) (int, bool) {
	if !name.IsScalar() {
		r.Problemf(name, "", "a key must be text, not %s", name.Describe())
		return 0, false
	}
	if t.Extensions && strings.HasPrefix(name.Value, "x-") {
		return 0, false
	}
	i, isKnown := t.index[name.Value] // Decode has called All, which makes the index
	var known Scope
	if isKnown {
		known = t.keys[i].In
	}
	if isKnown && (known == 0 || known&in != 0) {
		return i, true
	}
	hint := ""
	if t.Misplaced != nil {
		hint = t.Misplaced(name.Value, in, known)
	}
	if isKnown {
		r.Problemf(name, hint, "%q does not belong in %s", name.Value, t.Scopes(in))
	} else {
		t.reportUnknown(r, n, name, value, hint, in)
	}
	return 0, false
}

// reportUnknown records the problem of an unknown key. Its hint is the first of these that there
// is:
//
//   - the given hint;
//   - the line that a synonym stands for, if its key is the nearest one;
//   - the nearest key of the table;
//   - the list of all keys, if they are few, else the Reference.
func (t *Table[C, T]) reportUnknown(r *Reader, n, name, value *Node, hint string, in Scope) {
	if hint == "" {
		meant := r.Nearest(name.Value, t.Names(in))
		r.Misspelt = append(r.Misspelt, meant)
		hint = DidYouMean(meant)
		if line := r.synonym(name.Value); strings.HasPrefix(line, meant+": ") {
			if r.options.Written != nil {
				line = r.options.Written(name.Value, line, value, n)
			}
			hint = "write `" + withNumber(line, value) + "`"
		}
	}
	if hint == "" && len(t.keys) == 1 {
		hint = "the only key here is " + t.keys[0].Name
	} else if hint == "" && len(t.keys) <= 24 {
		hint = "the keys here are " + strings.Join(t.Names(in), ", ")
	} else if hint == "" {
		hint = t.Reference
	}
	where := ""
	if r.Key != "" {
		where = " in " + r.Key
	}
	r.Problemf(name, hint, "unknown key %s%s", Quote(name.Value), where)
}

// withNumber writes the value in place of the number in <…>, if the value is a whole number. Else
// the number stays.
func withNumber(line string, value *Node) string {
	before, rest, _ := strings.Cut(line, "<")
	number, after, has := strings.Cut(rest, ">")
	if !has {
		return line
	}
	if value.IsInteger() && strings.Trim(value.Value, "0123456789") == "" && len(value.Value) < 10 {
		number = value.Value
	}
	return before + number + after
}
