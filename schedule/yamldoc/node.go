package yamldoc

import (
	"iter"
	"strconv"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// A Node is a list, a mapping, or a scalar. Value is the text of a scalar without its quotes. Line
// and Column count from 1.
type Node yaml.Node

// NewText returns a node that is a text. It has no place yet.
func NewText(text string) *Node { return &Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text} }

// NewBool returns a node that is the word true or false.
func NewBool(value bool) *Node {
	return &Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(value)}
}

// NewList returns a list.
func NewList(items ...*Node) *Node { return newParent(yaml.SequenceNode, "!!seq", items) }

// NewMapping returns a mapping of keys and values, which follow each other.
func NewMapping(pairs ...*Node) *Node { return newParent(yaml.MappingNode, "!!map", pairs) }

// newParent returns a node that holds others, and stands where the first of them stands.
func newParent(kind yaml.Kind, tag string, children []*Node) *Node {
	n := &Node{Kind: kind, Tag: tag, Content: make([]*yaml.Node, len(children))}
	for i, child := range children {
		n.Content[i] = (*yaml.Node)(child)
	}
	if len(children) > 0 {
		n.Line, n.Column = children[0].Line, children[0].Column
	}
	return n
}

// MoveTo gives n, and all that it holds, a place. It returns n.
func (n *Node) MoveTo(line, column int) *Node {
	walk((*yaml.Node)(n), func(n *yaml.Node) { n.Line, n.Column = line, column })
	return n
}

// walk calls visit for a node and for all that it holds.
func walk(n *yaml.Node, visit func(*yaml.Node)) {
	visit(n)
	for _, child := range n.Content {
		walk(child, visit)
	}
}

// IsScalar reports whether n is neither a list nor a mapping.
func (n *Node) IsScalar() bool { return n.Kind == yaml.ScalarNode }

// IsList reports whether n is a list.
func (n *Node) IsList() bool { return n.Kind == yaml.SequenceNode }

// IsMapping reports whether n is a mapping of keys and values.
func (n *Node) IsMapping() bool { return n.Kind == yaml.MappingNode }

// IsNull reports whether nothing stands at n, or one of the words of YAML for it: ~ and null.
func (n *Node) IsNull() bool { return n.IsScalar() && n.Tag == "!!null" }

// IsBool reports whether n is the word true or false, without quotes.
func (n *Node) IsBool() bool { return n.IsScalar() && n.Tag == "!!bool" }

// IsFalse reports whether n is the word false, without quotes.
func (n *Node) IsFalse() bool { return n.IsBool() && (n.Value[0] == 'f' || n.Value[0] == 'F') }

// IsInteger reports whether n is a whole number, without quotes.
func (n *Node) IsInteger() bool { return n.IsScalar() && n.Tag == "!!int" }

// IsEmpty reports whether n is a list or a mapping that holds nothing.
func (n *Node) IsEmpty() bool { return !n.IsScalar() && len(n.Content) == 0 }

// Items returns what a list holds.
func (n *Node) Items() []*Node {
	items := make([]*Node, len(n.Content))
	for i, item := range n.Content {
		items[i] = (*Node)(item)
	}
	return items
}

// Each calls read for n, or for every item of a list, and reports whether all returned true.
func (n *Node) Each(read func(*Node) bool) bool {
	if !n.IsList() {
		return read(n)
	}
	ok := true
	for _, item := range n.Items() {
		ok = read(item) && ok
	}
	return ok
}

// Collect reads n, or every item of a list. It returns the values, and whether all were right.
func Collect[V any](n *Node, read func(*Node) (V, bool)) (all []V, ok bool) {
	ok = n.Each(func(item *Node) bool {
		value, ok := read(item)
		all = append(all, value)
		return ok
	})
	return all, ok
}

// Pairs yields the keys of a mapping with their values, in the order of the file. A key may be any
// node.
func (n *Node) Pairs() iter.Seq2[*Node, *Node] {
	return func(yield func(*Node, *Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield((*Node)(n.Content[i]), (*Node)(n.Content[i+1])) {
				return
			}
		}
	}
}

// Lookup returns the value of the key in the mapping, or nil.
func (n *Node) Lookup(key string) *Node {
	for k, value := range n.Pairs() {
		if k.IsScalar() && k.Value == key {
			return value
		}
	}
	return nil
}

// Has reports whether the mapping has the key.
func (n *Node) Has(key string) bool { return n.Lookup(key) != nil }

// Describe returns in words what stands at n: "a list", `the text "x"`, "the number 5".
func (n *Node) Describe() string {
	switch {
	case n.IsList():
		return "a list"
	case n.IsMapping():
		return "a mapping"
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!bool":
		return Shorten(n.Value)
	case "!!int", "!!float":
		return "the number " + Shorten(n.Value)
	case "!!timestamp":
		return "the date " + Shorten(n.Value)
	}
	return "the text " + Quote(n.Value)
}

// Quote returns the text in quotes. It shortens a long text.
func Quote(text string) string { return strconv.Quote(Shorten(text)) }

// Shorten returns the text. Of a text longer than 60 bytes it returns the beginning and "…".
func Shorten(text string) string {
	const maxSize = 60 // bytes
	if len(text) <= maxSize {
		return text
	}
	text = text[:maxSize]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}
