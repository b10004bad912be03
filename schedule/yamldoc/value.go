package yamldoc

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The methods of this file read the value of r.Key, or an item of it. They return false if the
// value is wrong, and have recorded the problem then. A hint for that problem may be empty.

// RequireValue refuses a key that has no value after it, because that is more often forgotten than
// meant.
func (r *Reader) RequireValue(n *Node, hint string) bool {
	if n.IsNull() {
		r.Problemf(n, hint, "%s has no value", r.Key)
		return false
	}
	return true
}

// RefuseBool refuses an unquoted true or false. It is for texts that nobody means to be called
// true.
func (r *Reader) RefuseBool(n *Node, hint string) bool {
	if n.IsBool() {
		r.Problemf(n, hint, "%s must be text, not %s", r.Key, n.Describe())
		return false
	}
	return true
}

// QuotesHint is the hint for a true or false that may be meant as a name.
const QuotesHint = "write it in quotes if that is its name"

// RequireMapping refuses a value that is no mapping. The message calls the value what.
func (r *Reader) RequireMapping(n *Node, what string) bool {
	if !n.IsMapping() {
		if n.IsNull() {
			r.Problemf(n, "", "%s has no value", what)
		} else {
			r.Problemf(n, "", "%s must be a mapping of keys and values, not %s", what, n.Describe())
		}
		return false
	}
	return true
}

// RequireList refuses a value that is no list.
func (r *Reader) RequireList(n *Node, hint string) bool {
	if !r.RequireValue(n, "") {
		return false
	}
	if !n.IsList() {
		r.Problemf(n, hint, "%s must be a list, not %s", r.Key, n.Describe())
		return false
	}
	return true
}

// requireScalar refuses a missing value, a list and a mapping. what says what the value must be.
func requireScalar(r *Reader, n *Node, what string) bool {
	if !r.RequireValue(n, "") {
		return false
	}
	if !n.IsScalar() {
		r.Problemf(n, "", "%s must be %s, not %s", r.Key, what, n.Describe())
		return false
	}
	return true
}

// Text reads any scalar as it is written: 123 and true are texts, too. It may be empty.
func (r *Reader) Text(n *Node) (string, bool) {
	if !requireScalar(r, n, "text") {
		return "", false
	}
	if strings.IndexByte(n.Value, 0) >= 0 {
		r.Problemf(n, "", "%s holds a null character, which no program can be given", r.Key)
		return "", false
	}
	return n.Value, true
}

// NonEmptyText reads a text that is more than white space.
func (r *Reader) NonEmptyText(n *Node) (string, bool) { return nonEmpty(r, n, r.Text) }

func nonEmpty(r *Reader, n *Node, read func(*Node) (string, bool)) (string, bool) {
	text, ok := read(n)
	if ok && strings.TrimSpace(text) == "" {
		r.Problemf(n, "", "%s is empty", r.Key)
		return "", false
	}
	return text, ok
}

// RefuseEmptyList refuses an empty list. It is for values whose empty list could mean both
// everything and nothing.
func (r *Reader) RefuseEmptyList(n *Node, hint string) bool {
	if n.IsList() && n.IsEmpty() {
		r.Problemf(n, hint, "%s is an empty list", r.Key)
		return false
	}
	return true
}

// Bool reads true or false; the other words that YAML 1.1 had for them are refused.
func (r *Reader) Bool(n *Node) (value, ok bool) {
	if n.IsBool() {
		return n.Value[0] == 't' || n.Value[0] == 'T', true
	}
	if !r.RequireValue(n, "") {
		return false, false
	}
	r.Problemf(n, BoolHint(n), "%s must be true or false, not %s", r.Key, n.Describe())
	return false, false
}

// BoolHint says what to write in place of a word that other programs take for true or false; "" for
// any other value.
func BoolHint(n *Node) string {
	if !n.IsScalar() {
		return ""
	}
	switch strings.ToLower(n.Value) {
	case "yes", "on", "y", "1":
		return "write true"
	case "no", "off", "n", "0":
		return "write false"
	case "true", "false":
		return "remove the quotes"
	}
	return ""
}

// NoLimit is the upper bound of a number that needs none. No message names it.
const NoLimit = math.MaxInt32

// Integer reads a whole number from least to most.
func (r *Reader) Integer(n *Node, least, most int) (int, bool) {
	if !r.RequireValue(n, "") {
		return 0, false
	}
	if n.IsInteger() || isHuge(n) {
		v, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64)
		switch {
		case err == nil && int64(least) <= v && v <= int64(most):
			return int(v), true
		case most != NoLimit:
			r.Problemf(n, "", "%s must be from %d to %d, not %s", r.Key, least, most, Shorten(n.Value))
		case v > NoLimit: // also after an error: then v is the nearest number that fits into it
			r.Problemf(n, "", "%s %s is too large", r.Key, Shorten(n.Value))
		default:
			r.Problemf(n, "", "%s must be at least %d, not %s", r.Key, least, Shorten(n.Value))
		}
		return 0, false
	}
	r.Problemf(n, "", "%s must be a whole number, not %s", r.Key, n.Describe())
	return 0, false
}

// isHuge reports whether a node is a whole number that YAML reads as a float, because it is too
// large.
func isHuge(n *Node) bool {
	digits := strings.TrimLeft(n.Value, "+-")
	return n.IsScalar() && n.Tag == "!!float" && strings.Trim(digits, "0123456789_") == ""
}

// Number reads a number that is at least least.
func (r *Reader) Number(n *Node, least float64) (float64, bool) {
	if !r.RequireValue(n, "") {
		return 0, false
	}
	if n.IsScalar() && (n.Tag == "!!int" || n.Tag == "!!float") {
		v, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
		switch {
		case err == nil && least <= v && v <= NoLimit:
			return v, true
		case v > NoLimit:
			r.Problemf(n, "", "%s %s is too large", r.Key, Shorten(n.Value))
		default:
			r.Problemf(n, "", "%s must be at least %v, not %s", r.Key, least, Shorten(n.Value))
		}
		return 0, false
	}
	hint := ""
	if text, ok := strings.CutSuffix(n.Value, "%"); ok {
		if percent, err := strconv.ParseFloat(text, 64); err == nil {
			hint = fmt.Sprintf("write %g", percent/100)
		}
	}
	r.Problemf(n, hint, "%s must be a number, not %s", r.Key, n.Describe())
	return 0, false
}

// OneOf reads one of the words.
func (r *Reader) OneOf(n *Node, words ...string) (string, bool) {
	text, ok := r.Text(n)
	if ok && !slices.Contains(words, text) {
		r.Problemf(n, DidYouMean(r.Nearest(text, words)),
			"%s must be %s, not %s", r.Key, alternatives(words), n.Describe())
		return "", false
	}
	return text, ok
}

// alternatives lists words: "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
