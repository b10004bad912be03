package yamldoc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// UTF16Hint says what to do with a file in UTF-16.
const UTF16Hint = "save it as UTF-8: iconv -f UTF-16 -t UTF-8"

// IsUTF16 reports whether data begins with the mark of UTF-16, or with an ASCII character of it.
func IsUTF16(data []byte) bool {
	if len(data) < 2 {
		return false
	}
	mark := binary.BigEndian.Uint16(data)
	return mark == 0xfeff || mark == 0xfffe || data[0] == 0 && data[1] != 0 || data[0] != 0 && data[1] == 0
}

// ParseValue returns what the text is behind `key: ` in one line, or nil if YAML cannot have it
// there. Its aliases are left for Reader.Resolve.
func ParseValue(text string) *Node {
	line := []byte("key: " + text)
	documents, err := documentsOf(bytes.NewReader(line))
	if err != nil || !(*Node)(documents[0].Content[0]).IsMapping() {
		return nil
	}
	markLoneTags(documents[0], line)
	return (*Node)(documents[0].Content[0].Content[1])
}

// documentsOf returns the first two documents of the text, or fewer if the text has fewer.
func documentsOf(r io.Reader) (documents []*yaml.Node, err error) {
	defer func() { // yaml.v3 panics on a few broken texts
		if v := recover(); v != nil {
			err = errors.New("this is not YAML that can be read")
		}
	}()
	decoder := yaml.NewDecoder(r)
	for len(documents) < 2 {
		n := new(yaml.Node)
		if err := decoder.Decode(n); err == io.EOF {
			return documents, nil
		} else if err != nil {
			return nil, err
		}
		documents = append(documents, n)
	}
	return documents, nil
}

// Documents returns the values of all documents of a text of another program. Aliases and merge
// keys are replaced.
func Documents(text []byte) (all []*Node, err error) {
	defer func() { // yaml.v3 panics on a few broken texts
		if v := recover(); v != nil {
			err = errors.New("this is not YAML that can be read")
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var n yaml.Node
		if err := decoder.Decode(&n); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		tree := resolver{report: &Report{}}
		if tree.walk(n.Content[0], 1); tree.stop {
			return nil, errors.New("its aliases stand for too much")
		}
		all = append(all, (*Node)(n.Content[0]))
	}
}

// IsMapping reports whether the text begins with a YAML document that is a mapping.
func IsMapping(text []byte) bool {
	documents, err := documentsOf(bytes.NewReader(text))
	return err == nil && len(documents) > 0 && (*Node)(documents[0].Content[0]).IsMapping()
}

// DecodePlain returns the value of a YAML text of this program (Type.Default, Type.Example), for
// encoding/json. An error is a mistake in that text.
func DecodePlain(text string) (any, error) {
	var value any
	err := yaml.Unmarshal([]byte(text), &value)
	return value, err
}

// mappingAt returns the mapping that begins at a place; nil for none.
func mappingAt(n *yaml.Node, line, column int) *yaml.Node {
	if n.Kind == yaml.MappingNode && n.Line == line && n.Column == column {
		return n
	}
	for _, child := range n.Content {
		if found := mappingAt(child, line, column); found != nil {
			return found
		}
	}
	return nil
}

// firstBadCharacter returns the place of the first character that YAML text may not hold, and what
// is wrong with it; "" for valid text.
func firstBadCharacter(data []byte) (line, column int, problem string) {
	line, column = 1, 1
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case c == '\n':
			line, column = line+1, 0
		case c >= ' ' && c < 0x7f || c == '\t' || c == '\r':
		case c < utf8.RuneSelf:
			return line, column, fmt.Sprintf("the file holds the control character 0x%02x: it is not text", c)
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return line, column, fmt.Sprintf("the byte 0x%02x is not UTF-8: the file is not text in UTF-8", c)
			}
			if r >= 0x80 && r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff {
				return line, column, fmt.Sprintf("the file holds the control character 0x%02x: it is not text", r)
			}
			i += size - 1
		}
		i++
		column++
	}
	return 0, 0, ""
}

// Bounds of the tree: with aliases a few lines can stand for more values than there is memory.
const (
	maxDepth   = 100      // levels of nesting, aliases followed
	maxAliased = 16 << 20 // bytes of text that aliases stand for, each value counted as valueCost more
	valueCost  = 16
)

// loneTag is the tag of a scalar whose text begins with "!" and a blank. The parser drops it.
const loneTag = "!"

// markLoneTags gives such scalars of the text their tag back.
func markLoneTags(root *yaml.Node, data []byte) {
	if !bytes.Contains(data, []byte("! ")) {
		return
	}
	lines := bytes.Split(data, []byte("\n"))
	walk(root, func(n *yaml.Node) {
		isQuoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
		if n.Kind == yaml.ScalarNode && n.Line <= len(lines) && !isQuoted && n.Style&yaml.TaggedStyle == 0 {
			line := []rune(string(lines[n.Line-1]))
			if n.Column < len(line) && line[n.Column-1] == '!' {
				n.Tag, n.Style = loneTag, n.Style|yaml.TaggedStyle
			}
		}
	})
}

// A resolver replaces the aliases and merge keys of one tree.
type resolver struct {
	report  *Report
	anchors map[*yaml.Node]*extent
	aliased int  // what the aliases stand for so far
	stop    bool // the tree is past a bound
}

// An extent is the size and the height of a value, everything below it counted.
type extent struct {
	size, height int
	open         bool // still being walked
}

// walk walks a value, and returns its extent.
func (r *resolver) walk(n *yaml.Node, depth int) extent {
	own := extent{size: valueCost + len(n.Value), height: 1}
	if depth > maxDepth {
		r.fail(n, "this is nested more than %d deep", maxDepth)
	}
	if r.stop {
		return own
	}
	r.refuseTag(n)
	var anchor *extent
	if n.Anchor != "" {
		anchor = &extent{open: true}
		if r.anchors == nil {
			r.anchors = make(map[*yaml.Node]*extent)
		}
		r.anchors[n] = anchor
	}
	for i := range n.Content {
		child := r.walkChild(n, i, depth)
		if r.stop {
			return own
		}
		own.size += child.size
		own.height = max(own.height, 1+child.height)
	}
	if n.Kind == yaml.MappingNode {
		r.merge(n)
	}
	if anchor != nil {
		*anchor = own
	}
	return own
}

// walkChild walks the i-th child of a node, and puts its value in the place of an alias.
func (r *resolver) walkChild(n *yaml.Node, i, depth int) extent {
	child := n.Content[i]
	if child.Kind != yaml.AliasNode {
		return r.walk(child, depth+1)
	}
	n.Content[i] = child.Alias
	return r.aliasExtent(child, depth)
}

// aliasExtent returns the extent of an alias. Its value was walked before, unless the alias is
// inside it.
func (r *resolver) aliasExtent(n *yaml.Node, depth int) extent {
	e := r.anchors[n.Alias]
	if e == nil || e.open {
		r.fail(n, "the alias *%s is inside the value it stands for", n.Value)
		return extent{}
	}
	r.aliased += e.size
	if r.aliased > maxAliased {
		r.fail(n, "the aliases of this file stand for more than %d MiB", maxAliased>>20)
	} else if depth+e.height > maxDepth {
		r.fail(n, "the alias *%s makes this nested more than %d deep", n.Value, maxDepth)
	}
	return *e
}

// fail records a problem, and ends the walk.
func (r *resolver) fail(n *yaml.Node, format string, args ...any) {
	r.stop = true
	r.report.Problemf((*Node)(n), "", format, args...)
}

// refuseTag refuses the tags of YAML (!!binary, !mine), except those that change nothing.
func (r *resolver) refuseTag(n *yaml.Node) {
	const hint = `text that starts with "!" needs quotes`
	plain := n.Kind == yaml.ScalarNode && n.Tag == "!!str" ||
		n.Kind == yaml.SequenceNode && n.Tag == "!!seq" ||
		n.Kind == yaml.MappingNode && n.Tag == "!!map"
	switch {
	case n.Style&yaml.TaggedStyle == 0 || plain:
	case n.Tag == loneTag: // `command: ! pgrep x` would silently lose its "!", and so mean the opposite
		r.report.Problemf((*Node)(n), hint, "YAML takes this \"!\" for a tag, and drops it")
	default:
		r.report.Problemf((*Node)(n), hint, "the tag %s means nothing here", Shorten(n.Tag))
	}
}

// merge replaces merge keys by their keys: own keys win, then earlier mappings of a list. A key
// that one mapping has twice stays twice, for a problem when it is read.
func (r *resolver) merge(n *yaml.Node) {
	if !slices.ContainsFunc(n.Content, isMergeKey) {
		return
	}
	own := make([]*yaml.Node, 0, len(n.Content))
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if isMergeKey(n.Content[i]) {
			merged = append(merged, r.mergedMappings(n.Content[i+1])...)
		} else {
			own = append(own, n.Content[i], n.Content[i+1])
		}
	}
	isSet := make(map[string]bool)
	for i := 0; i < len(own); i += 2 {
		isSet[own[i].Value] = true
	}
	n.Content = own
	for _, m := range merged {
		from := len(n.Content)
		for i := 0; i+1 < len(m.Content); i += 2 {
			if k := m.Content[i]; !isSet[k.Value] {
				n.Content = append(n.Content, k, m.Content[i+1])
			}
		}
		for i := from; i < len(n.Content); i += 2 {
			isSet[n.Content[i].Value] = true
		}
	}
}

// mergedMappings returns the mappings that the value of a merge key names.
func (r *resolver) mergedMappings(from *yaml.Node) (mappings []*yaml.Node) {
	named := []*yaml.Node{from}
	if from.Kind == yaml.SequenceNode {
		named = from.Content
	}
	for _, m := range named {
		if m.Kind != yaml.MappingNode {
			r.report.Problemf((*Node)(m), "",
				"\"<<\" takes a mapping, or a list of mappings, not %s", (*Node)(m).Describe())
			continue
		}
		mappings = append(mappings, m)
	}
	return mappings
}

func isMergeKey(k *yaml.Node) bool { return k.Kind == yaml.ScalarNode && k.Tag == "!!merge" }
