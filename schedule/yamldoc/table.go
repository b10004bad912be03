package yamldoc

import (
	"slices"
	"strings"
	"sync"
)

// A Table lists the keys that a mapping may have, and what each sets: for reading, suggestions and
// documentation. Keys are set in the order of the table, the early ones first, and not in the order
// of the file. The setters get C and set T.
type Table[C Context, T any] struct {
	// Rows returns the keys, at most 64. It is called at first use, so that other commands do not
	// pay.
	Rows func() []Key[C, T]

	// Scopes names the scopes as messages do: "a task". It is nil for a table whose mappings are
	// all alike.
	Scopes func(Scope) string

	// Misplaced returns a hint for a key that cannot stand in the scope in; for "" the hint is the
	// nearest key. known are the key's scopes, 0 for an unknown key. Misplaced may be nil.
	Misplaced func(name string, in, known Scope) string

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
	Set   func(C, *T, *Node) // reads the value; records what is wrong with it
	Early bool               // it is set before the other keys, which need it
	Show  func(*T) any       // the value in effect, for the caller alone; may be nil
	Doc   string             // what the key means, in one phrase
	Type  Type               // what its value may be
}

// A Type documents the value of a key for editors. Set decides; a test compares the two.
type Type struct {
	Of          string   // the kind of value, by the name of its definition in the schema; empty if Words are all
	Words       []string // that the value, or each item of it, may be; nil for any
	Least, Most int      // of a number; both 0 for no bounds
	Default     string   // the value that holds without the key, as YAML
	Without     string   // what holds without the key, in words, if that is no value
	Example     string   // a value, as YAML
	NoFalse     bool     // false is no word for the value that holds without the key
}

// An Entry is a row of a Table for documentation, without its setter.
type Entry struct {
	Name, Doc string
	Type      Type
}

// Entries returns the keys that may stand in the scope, in the order of the table; all of them for
// 0.
func (t *Table[C, T]) Entries(in Scope) []Entry {
	var all []Entry
	for _, key := range t.All() {
		if key.In == 0 || in == 0 || key.In&in != 0 {
			all = append(all, Entry{key.Name, key.Doc, key.Type})
		}
	}
	return all
}

// A Scope is a set of bits, one for each kind of mapping. The table gives the bits their meaning.
type Scope uint8

// mostKeys is the most that a table may hold: Decode keeps the place of each on the stack.
const mostKeys = 64

// Decode sets into from n. A key that is unknown, misplaced or repeated is a problem; the others
// are set all the same. While a key is set, r.Key is its full name: retry.delay.
func (t *Table[C, T]) Decode(c C, into *T, n *Node, in Scope) {
	r, keys := c.reader(), t.All()
	var at [mostKeys]int // of the key's value in n.Content; never 0, which is a key's
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := (*Node)(n.Content[i])
		if j, ok := t.lookup(r, name, in); ok {
			if at[j] != 0 {
				r.Problemf(name, "", "%q is given twice, first at line %d", name.Value, r.PlaceOf((*Node)(n.Content[at[j]-1])).Line)
				continue
			}
			at[j] = i + 1
		}
	}
	above := r.Key
	for _, early := range []bool{true, false} {
		for j := range keys {
			if at[j] == 0 || keys[j].Early != early {
				continue
			}
			r.Key = keys[j].Name
			if above != "" {
				r.Key = above + "." + r.Key
			}
			r.Trace((*Node)(n.Content[at[j]-1]), (*Node)(n.Content[at[j]]))
			keys[j].Set(c, into, (*Node)(n.Content[at[j]]))
		}
	}
	r.Key = above
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

// lookup returns where in the table the key is. It records a problem when the key may not stand
// here.
func (t *Table[C, T]) lookup(r *Reader, name *Node, in Scope) (int, bool) {
	if !name.IsScalar() {
		r.Problemf(name, "", "a key must be text, not %s", name.Describe())
		return 0, false
	}
	if t.Extensions && strings.HasPrefix(name.Value, "x-") {
		return 0, false
	}
	i, known := t.index[name.Value]
	var scopes Scope
	if known {
		scopes = t.keys[i].In
		if scopes == 0 || scopes&in != 0 {
			return i, true
		}
	}
	hint := ""
	if t.Misplaced != nil {
		hint = t.Misplaced(name.Value, in, scopes)
	}
	if known {
		r.Problemf(name, hint, "%q does not belong in %s", name.Value, t.Scopes(in))
		return 0, false
	}
	t.unknown(r, name, hint, in)
	return 0, false
}

func (t *Table[C, T]) unknown(r *Reader, name *Node, hint string, in Scope) {
	if hint == "" {
		meant := r.Nearest(name.Value, t.Names(in))
		r.Misspelt = append(r.Misspelt, meant)
		hint = DidYouMean(meant)
		if line := r.options.Synonyms[snakeCase(name.Value)]; strings.HasPrefix(line, meant+": ") {
			hint = "write `" + line + "`"
		}
	}
	if hint == "" && len(t.keys) == 1 {
		hint = "the only key here is " + t.keys[0].Name
	} else if hint == "" && len(t.keys) <= 20 {
		hint = "the keys here are " + strings.Join(t.Names(in), ", ")
	}
	where := ""
	if r.Key != "" {
		where = " in " + r.Key
	}
	r.Problemf(name, hint, "unknown key %s%s", Quote(name.Value), where)
}
