// Package mask puts ••• in the place of secret values in a text. It is pure.
//
// A Set finds all values in one pass, with the automaton of Aho and Corasick, so its time grows
// with the text and not with the number of values. Most bytes it does not even look at: where the
// end of a window of the shortest value fits no value, the window jumps (Wu and Manber).
//
// Each byte of each occurrence is masked, also where two values overlap. Another spelling of a
// value, such as base64, is not found.
package mask

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// Least is how many characters a value has that is masked: a shorter one is found in any text.
	Least = 6

	// Shown stands in the place of a value.
	Shown = "•••"
)

// A Set is the values that are masked. Nil has none. It may be used by several goroutines.
type Set struct {
	values  []string
	nodes   []node
	roots   [256]int32 // the children of the root by their bytes; 0 for none
	window  int        // bytes: the shortest value, but at most 255
	shift   []uint8    // for each pair of bytes that ends a window, how far no value begins
	longest int
}

// A node is a beginning of values: one more byte than its parent. Node 0 is the root.
type node struct {
	child, sibling int32 // the first child, and the next child of the parent; 0 for none
	fail           int32 // the longest proper end of it that is a beginning, too
	depth          int32 // its bytes
	found          int32 // the bytes of the longest value that it ends with; 0 for none
	label          byte  // its last byte
}

// New returns the set of the values that are long enough. Of a value with several lines, each line
// counts, too; white space around a value or a line may be missing in the text.
func New(values []string) *Set {
	s := &Set{nodes: make([]node, 1)}
	for _, value := range values {
		for _, text := range append(strings.Split(value, "\n"), value, strings.TrimSpace(value)) {
			if text = strings.TrimRight(text, "\r"); text != value {
				text = strings.TrimSpace(text)
			}
			if !TooShort(strings.TrimSpace(text)) {
				s.values = append(s.values, text)
			}
		}
	}
	if len(s.values) == 0 {
		return nil
	}
	slices.Sort(s.values)
	s.values = slices.Compact(s.values)
	s.window = 255
	for _, value := range s.values {
		s.add(value)
		s.window, s.longest = min(s.window, len(value)), max(s.longest, len(value))
	}
	s.link()
	s.shift = make([]uint8, 1<<16)
	for i := range s.shift {
		s.shift[i] = uint8(s.window - 1)
	}
	for _, value := range s.values {
		for i := range s.window - 1 {
			pair := uint16(value[i])<<8 | uint16(value[i+1])
			s.shift[pair] = min(s.shift[pair], uint8(s.window-2-i))
		}
	}
	return s
}

// TooShort reports whether a value is too short to be masked.
func TooShort(value string) bool { return utf8.RuneCountInString(value) < Least }

// Longest returns how many bytes the longest value has.
func (s *Set) Longest() int {
	if s == nil {
		return 0
	}
	return s.longest
}

// Text returns the text with ••• for each value.
func (s *Set) Text(text string) string {
	stream := s.Stream()
	return string(stream.End(stream.Append(nil, []byte(text))))
}

func (s *Set) add(value string) {
	at := int32(0)
	for i := range len(value) {
		next := s.childOf(at, value[i])
		if next == 0 {
			next = int32(len(s.nodes))
			s.nodes = append(s.nodes, node{label: value[i], depth: int32(i + 1), sibling: s.nodes[at].child})
			s.nodes[at].child = next
			if at == 0 {
				s.roots[value[i]] = next
			}
		}
		at = next
	}
	s.nodes[at].found = int32(len(value))
}

// link sets fail and found of all nodes, those with fewer bytes first.
func (s *Set) link() {
	for queue := []int32{0}; len(queue) > 0; queue = queue[1:] {
		parent := queue[0]
		for child := s.nodes[parent].child; child != 0; child = s.nodes[child].sibling {
			n := &s.nodes[child]
			if parent != 0 {
				n.fail = s.step(s.nodes[parent].fail, n.label)
			}
			if n.found == 0 {
				n.found = s.nodes[n.fail].found
			}
			queue = append(queue, child)
		}
	}
}

func (s *Set) childOf(at int32, label byte) int32 {
	if at == 0 {
		return s.roots[label]
	}
	child := s.nodes[at].child
	for child != 0 && s.nodes[child].label != label {
		child = s.nodes[child].sibling
	}
	return child
}

// step returns the node after one more byte.
func (s *Set) step(at int32, label byte) int32 {
	for {
		if next := s.childOf(at, label); next != 0 || at == 0 {
			return next
		}
		at = s.nodes[at].fail
	}
}

// endOf returns how many bytes at the beginning of the text are the end of a value: the most, and
// 0 for fewer than Least.
func (s *Set) endOf(text []byte) (most int) {
	for _, value := range s.values {
		for i := 1; len(value)-i >= max(Least, most+1); i++ {
			if len(value)-i <= len(text) && value[i:] == string(text[:len(value)-i]) {
				most = len(value) - i
			}
		}
	}
	return most
}

// A Stream masks a text that comes in parts. It keeps back the bytes at the end of a part that may
// be the beginning of a value: fewer than the longest value has.
type Stream struct {
	set   *Set
	at    int32 // the node: the longest beginning of a value that the text ends with
	read  int64 // bytes of the text
	shown int64 // bytes of the text that were returned, or masked
	held  []byte
	spans []span // where values are, from shown on, in their order
	isCut bool   // text is missing before the next part
}

// A span is a part of the text, by its offsets, in which each byte belongs to a value.
type span struct{ from, to int64 }

// Stream returns a stream at the beginning of a text.
func (s *Set) Stream() *Stream { return &Stream{set: s} }

// Append appends to dst the next part of the text, masked, but for what it keeps back.
func (s *Stream) Append(dst, text []byte) []byte {
	if s.set == nil {
		return append(dst, text...)
	}
	if s.isCut && len(text) > 0 {
		s.isCut = false
		if n := s.set.endOf(text); n > 0 {
			s.spans = append(s.spans, span{s.read, s.read + int64(n)})
		}
	}
	if len(s.held) > 0 {
		s.held = append(s.held, text...)
		s.scan(text)
		text = s.held
	} else {
		s.scan(text)
	}
	begin := s.read - int64(len(text)) // of text
	raw := func(to int64) {
		if to > s.shown {
			dst = append(dst, text[s.shown-begin:to-begin]...)
			s.shown = to
		}
	}
	settled := s.Settled()
	done := 0
	for _, v := range s.spans {
		if v.from > settled { // a value that begins before it may yet end
			break
		}
		if v.from >= s.shown {
			raw(v.from)
			dst = append(dst, Shown...)
		}
		s.shown = max(s.shown, v.to)
		done++
	}
	raw(settled)
	s.spans = slices.Delete(s.spans, 0, done)
	s.held = append(s.held[:0], text[min(s.shown, s.read)-begin:]...)
	return dst
}

// End appends what was kept back: the text ends, or is cut here. A part of a value counts as a
// value if it has as many bytes as Least. The next part may begin with the end of a value.
func (s *Stream) End(dst []byte) []byte {
	if len(s.held) >= Least {
		dst = append(dst, Shown...)
	} else {
		dst = append(dst, s.held...)
	}
	s.held, s.spans, s.at, s.shown, s.isCut = s.held[:0], s.spans[:0], 0, s.read, true
	return dst
}

// Settled returns how many bytes of the text can be told: those after it may begin a value.
func (s *Stream) Settled() int64 {
	if s.set == nil {
		return s.read
	}
	return s.read - int64(s.set.nodes[s.at].depth)
}

// scan reads the text, and adds the spans of the values that end in it.
func (s *Stream) scan(text []byte) {
	set, window := s.set, s.set.window
	for i := 0; i < len(text); {
		if s.at == 0 {
			for last := i + window - 1; last < len(text); last = i + window - 1 {
				jump := set.shift[uint16(text[last-1])<<8|uint16(text[last])]
				if jump == 0 {
					break
				}
				i += int(jump)
			}
			if i >= len(text) {
				break
			}
		}
		s.at = set.step(s.at, text[i])
		i++
		if found := set.nodes[s.at].found; found > 0 {
			to := s.read + int64(i)
			s.addSpan(span{to - int64(found), to})
		}
	}
	s.read += int64(len(text))
}

// addSpan adds a span that ends after the others, and joins it with those that it overlaps.
func (s *Stream) addSpan(v span) {
	for len(s.spans) > 0 && s.spans[len(s.spans)-1].to > v.from {
		v.from = min(v.from, s.spans[len(s.spans)-1].from)
		s.spans = s.spans[:len(s.spans)-1]
	}
	s.spans = append(s.spans, v)
}

// Skip reads the next part of a text that nobody wants to see. A stream that skips does not Append.
func (s *Stream) Skip(text []byte) {
	if s.set != nil && len(s.spans) == 0 {
		s.scan(text)
	}
}

// Found reports whether Skip has read a value.
func (s *Stream) Found() bool { return len(s.spans) > 0 }

// Ends reports whether the text ends with the beginning of a value that End would mask.
func (s *Stream) Ends() bool { return s.read-s.Settled() >= Least }

// Part returns the bytes from..to of a text, masked, and the offset in the text behind them. A
// value at one of its ends is masked as a whole. The beginning of a value is left to a later part,
// unless isCut says that the text is cut behind it. wasCut says so of its beginning.
func (s *Set) Part(text []byte, from, to int, wasCut, isCut bool) (part []byte, next int) {
	to = min(to, len(text))
	if s == nil {
		return text[from:to], to
	}
	stream := s.Stream()
	stream.scan(text)
	spans, settled := stream.spans, int(stream.Settled())
	if wasCut {
		spans = append([]span{{0, int64(s.endOf(text))}}, spans...)
	}
	if isCut && len(text)-settled >= Least {
		spans = append(spans, span{int64(settled), int64(len(text))})
	}
	if !isCut {
		to = min(to, settled)
	}
	next = from
	for _, v := range spans {
		if int(v.to) > next && int(v.from) < to {
			part = append(part, text[next:max(next, int(v.from))]...)
			part, next = append(part, Shown...), int(v.to)
		}
	}
	if next < to {
		part, next = append(part, text[next:to]...), to
	}
	return part, next
}
