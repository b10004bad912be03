package schedule

import (
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// keys are all the keys that one kind of mapping may have, and what each sets. They are one table
// for the reading, the suggestions and the test that each is documented.
//
// The values are set in the order of the table, not of the file: what others depend on is first.
type keys[T any] struct {
	list      []key[T]
	elsewhere func(name string, where scope) string // the hint for a key that is known, but not here; may be nil

	once  sync.Once
	index map[string]int
}

type key[T any] struct {
	name string
	in   scope // 0: wherever the table is used
	set  func(*loader, *T, *yaml.Node)
}

// A scope is where a key of a task may stand.
type scope uint8

const (
	inTask scope = 1 << iota
	inGroup
	inDefaults

	anywhere = inTask | inGroup | inDefaults
)

func (s scope) String() string {
	return map[scope]string{inTask: "a task", inGroup: "a group", inDefaults: "defaults"}[s]
}

// mostKeys is the most that a table may hold; decode keeps the place of each on the stack.
const mostKeys = 64

// decode sets into from the mapping n. Unknown and repeated keys are problems.
func (k *keys[T]) decode(l *loader, into *T, n *yaml.Node, where scope) {
	k.once.Do(k.prepare)
	var at [mostKeys]int // of the key's value in n.Content; never 0, which is a key's
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		if j, ok := k.known(l, name, where); ok {
			if at[j] != 0 {
				l.bad(name, "", "%q is given twice, first at line %d", name.Value, n.Content[at[j]-1].Line)
				continue
			}
			at[j] = i + 1
		}
	}
	above := l.key
	for j := range k.list {
		if at[j] == 0 {
			continue
		}
		l.key = k.list[j].name
		if above != "" {
			l.key = above + "." + l.key
		}
		k.list[j].set(l, into, n.Content[at[j]])
	}
	l.key = above
}

func (k *keys[T]) prepare() {
	k.index = make(map[string]int, len(k.list))
	for i, key := range k.list {
		k.index[key.name] = i
	}
}

// known returns where in the table the key is, and notes a problem when it may not stand here.
func (k *keys[T]) known(l *loader, name *yaml.Node, where scope) (int, bool) {
	if name.Kind != yaml.ScalarNode {
		l.bad(name, "", "a key must be text, not %s", found(name))
		return 0, false
	}
	i, ok := k.index[name.Value]
	if ok && (k.list[i].in == 0 || k.list[i].in&where != 0) {
		return i, true
	}
	hint := ""
	if k.elsewhere != nil {
		hint = k.elsewhere(name.Value, where)
	}
	if ok {
		l.bad(name, hint, "%q does not belong in %s", name.Value, where)
		return 0, false
	}
	if hint == "" {
		meant := nearest(name.Value, k.names(where))
		l.meant = append(l.meant, meant)
		hint = didYouMean(meant)
	}
	if hint == "" && len(k.list) == 1 {
		hint = "the only key here is " + k.list[0].name
	} else if hint == "" && len(k.list) <= 20 {
		hint = "the keys here are " + strings.Join(k.names(where), ", ")
	}
	in := ""
	if l.key != "" {
		in = " in " + l.key
	}
	l.bad(name, hint, "unknown key %s%s", quote(name.Value), in)
	return 0, false
}

// names returns the keys that may stand there.
func (k *keys[T]) names(where scope) []string {
	var names []string
	for _, key := range k.list {
		if key.in == 0 || where == 0 || key.in&where != 0 {
			names = append(names, key.name)
		}
	}
	return names
}
