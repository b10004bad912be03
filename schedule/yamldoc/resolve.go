package yamldoc

import (
	"bytes"
	"slices"

	"gopkg.in/yaml.v3"
)

// Bounds for aliases: a few lines can stand for more values than there is memory.
const (
	deepest     = 100
	mostAliased = 16 << 20 // bytes of text that aliases stand for, each value counted as valueCost more
	valueCost   = 16
)

// resolve replaces each alias by its value and each merge key (<<) by its keys. Values are shared,
// not copied. It records problems, and reports whether the tree is fit to walk.
func resolve(r *Reader, root *yaml.Node, data []byte) bool {
	walk := resolver{reader: r}
	if bytes.Contains(data, []byte("! ")) {
		walk.lines = bytes.Split(data, []byte("\n"))
	}
	before := r.ProblemCount()
	walk.node(root, 1)
	return r.ProblemCount() == before
}

type resolver struct {
	reader  *Reader
	anchors map[*yaml.Node]*extent
	aliased int      // what the aliases stand for so far
	stop    bool     // the tree is past a bound
	lines   [][]byte // of the text, if it may hold a lone "!"
}

// An extent is the size and the height of a value, everything below it counted.
type extent struct {
	size, height int
	open         bool // still being walked
}

func (r *resolver) node(n *yaml.Node, depth int) extent {
	own := extent{size: valueCost + len(n.Value), height: 1}
	if depth > deepest {
		r.fail(n, "this is nested more than 100 deep")
	}
	if r.stop {
		return own
	}
	r.tag(n)
	var anchor *extent
	if n.Anchor != "" {
		anchor = &extent{open: true}
		if r.anchors == nil {
			r.anchors = make(map[*yaml.Node]*extent)
		}
		r.anchors[n] = anchor
	}
	for i, child := range n.Content {
		var e extent
		if child.Kind == yaml.AliasNode {
			n.Content[i] = child.Alias
			e = r.alias(child, depth)
		} else {
			e = r.node(child, depth+1)
		}
		if r.stop {
			return own
		}
		own.size += e.size
		own.height = max(own.height, 1+e.height)
	}
	if n.Kind == yaml.MappingNode {
		r.merge(n)
	}
	if anchor != nil {
		*anchor = own
	}
	return own
}

// alias returns the extent of an alias. Its value was walked before, unless the alias is inside it.
func (r *resolver) alias(n *yaml.Node, depth int) extent {
	e := r.anchors[n.Alias]
	if e == nil || e.open {
		r.fail(n, "the alias *%s is inside the value it stands for", n.Value)
		return extent{}
	}
	r.aliased += e.size
	if r.aliased > mostAliased {
		r.fail(n, "the aliases of this file stand for more than 16 MiB")
	} else if depth+e.height > deepest {
		r.fail(n, "the alias *%s makes this nested more than 100 deep", n.Value)
	}
	return *e
}

func (r *resolver) fail(n *yaml.Node, format string, args ...any) {
	r.stop = true
	r.reader.Problemf((*Node)(n), "", format, args...)
}

// tag refuses the tags of YAML (!!binary, !mine), except those that change nothing.
func (r *resolver) tag(n *yaml.Node) {
	const hint = `text that starts with "!" needs quotes`
	if n.Style&yaml.TaggedStyle != 0 {
		plain := n.Kind == yaml.ScalarNode && n.Tag == "!!str" ||
			n.Kind == yaml.SequenceNode && n.Tag == "!!seq" ||
			n.Kind == yaml.MappingNode && n.Tag == "!!map"
		if !plain {
			r.reader.Problemf((*Node)(n), hint, "the tag %s means nothing here", Shorten(n.Tag))
		}
		return
	}
	// `command: ! pgrep x` would silently lose its "!", and so mean the opposite.
	if r.lines != nil && n.Kind == yaml.ScalarNode && n.Line <= len(r.lines) {
		line := []rune(string(r.lines[n.Line-1]))
		if n.Column < len(line) && line[n.Column-1] == '!' && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 {
			r.reader.Problemf((*Node)(n), hint, "YAML takes this \"!\" for a tag, and drops it")
		}
	}
}

// merge replaces merge keys by their keys: own keys win, then earlier mappings of a list.
func (r *resolver) merge(n *yaml.Node) {
	if !slices.ContainsFunc(n.Content, isMergeKey) {
		return
	}
	own := make([]*yaml.Node, 0, len(n.Content))
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if isMergeKey(n.Content[i]) {
			merged = append(merged, r.mergedPairs(n.Content[i+1])...)
		} else {
			own = append(own, n.Content[i], n.Content[i+1])
		}
	}
	there := make(map[string]bool)
	for i := 0; i < len(own); i += 2 {
		there[own[i].Value] = true
	}
	n.Content = own
	for i := 0; i+1 < len(merged); i += 2 {
		if k := merged[i]; !there[k.Value] {
			there[k.Value] = true
			n.Content = append(n.Content, k, merged[i+1])
		}
	}
}

func (r *resolver) mergedPairs(from *yaml.Node) (pairs []*yaml.Node) {
	mappings := []*yaml.Node{from}
	if from.Kind == yaml.SequenceNode {
		mappings = from.Content
	}
	for _, m := range mappings {
		if m.Kind != yaml.MappingNode {
			r.reader.Problemf((*Node)(m), "", "\"<<\" takes a mapping, or a list of mappings, not %s", (*Node)(m).Describe())
			continue
		}
		pairs = append(pairs, m.Content...)
	}
	return pairs
}

func isMergeKey(k *yaml.Node) bool { return k.Kind == yaml.ScalarNode && k.Tag == "!!merge" }
