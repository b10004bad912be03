package schedule

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// This file reads single values. Each reader notes what is wrong with the value of l.key and then
// returns false.

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// found says what stands at n, as in "must be a list, not the number 5".
func found(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!bool":
		return shorten(n.Value)
	case "!!int", "!!float":
		return "the number " + shorten(n.Value)
	case "!!timestamp":
		return "the date " + shorten(n.Value)
	}
	return "the text " + quote(n.Value)
}

// quote returns the text in quotes, and of a long one the beginning.
func quote(text string) string { return strconv.Quote(shorten(text)) }

func shorten(text string) string {
	const longest = 60
	if len(text) <= longest {
		return text
	}
	text = text[:longest]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}

// hasValue refuses an empty value: a key with nothing after it is more often forgotten than meant.
func (l *loader) hasValue(n *yaml.Node, hint string) bool {
	if isNull(n) {
		l.bad(n, hint, "%s has no value", l.key)
		return false
	}
	return true
}

func (l *loader) isMapping(n *yaml.Node, what string) bool {
	if n.Kind != yaml.MappingNode {
		if isNull(n) {
			l.bad(n, "", "%s has no value", what)
		} else {
			l.bad(n, "", "%s must be a mapping of keys and values, not %s", what, found(n))
		}
		return false
	}
	return true
}

func (l *loader) isList(n *yaml.Node, hint string) bool {
	if !l.hasValue(n, "") {
		return false
	}
	if n.Kind != yaml.SequenceNode {
		l.bad(n, hint, "%s must be a list, not %s", l.key, found(n))
		return false
	}
	return true
}

// text reads any single value as it is written: 123 and true are texts too.
func (l *loader) text(n *yaml.Node) (string, bool) {
	if !l.hasValue(n, "") {
		return "", false
	}
	if n.Kind != yaml.ScalarNode {
		l.bad(n, "", "%s must be text, not %s", l.key, found(n))
		return "", false
	}
	if strings.IndexByte(n.Value, 0) >= 0 {
		l.bad(n, "", "%s holds a null character, which no program can be given", l.key)
		return "", false
	}
	return n.Value, true
}

// filled reads a text that is more than white space.
func (l *loader) filled(n *yaml.Node) (string, bool) {
	text, ok := l.text(n)
	if ok && strings.TrimSpace(text) == "" {
		l.bad(n, "", "%s is empty", l.key)
		return "", false
	}
	return text, ok
}

// texts reads one text or a list of them.
func (l *loader) texts(n *yaml.Node) ([]string, bool) {
	var texts []string
	ok := l.each(n, func(item *yaml.Node) bool {
		text, ok := l.filled(item)
		texts = append(texts, text)
		return ok
	})
	return texts, ok
}

// each calls read for n, or for each entry of n where it is a list. It reports whether all were read.
func (l *loader) each(n *yaml.Node, read func(*yaml.Node) bool) bool {
	if n.Kind != yaml.SequenceNode {
		return read(n)
	}
	ok := true
	for _, item := range n.Content {
		ok = read(item) && ok
	}
	return ok
}

// notEmpty refuses an empty list where it could be taken for everything and for nothing.
func (l *loader) notEmpty(n *yaml.Node, hint string) bool {
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		l.bad(n, hint, "%s is an empty list", l.key)
		return false
	}
	return true
}

func (l *loader) boolean(n *yaml.Node) (value, ok bool) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!bool" {
		return n.Value[0] == 't' || n.Value[0] == 'T', true
	}
	if !l.hasValue(n, "") {
		return false, false
	}
	hint := ""
	if n.Kind == yaml.ScalarNode {
		switch strings.ToLower(n.Value) {
		case "yes", "on", "y", "1":
			hint = "write true"
		case "no", "off", "n", "0":
			hint = "write false"
		case "true", "false":
			hint = "remove the quotes"
		}
	}
	l.bad(n, hint, "%s must be true or false, not %s", l.key, found(n))
	return false, false
}

// whole reads a whole number from least to most.
func (l *loader) whole(n *yaml.Node, least, most int) (int, bool) {
	if !l.hasValue(n, "") {
		return 0, false
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!int" {
		v, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64)
		if err == nil && int64(least) <= v && v <= int64(most) {
			return int(v), true
		}
		if most == math.MaxInt32 {
			l.bad(n, "", "%s must be at least %d, not %s", l.key, least, shorten(n.Value))
		} else {
			l.bad(n, "", "%s must be from %d to %d, not %s", l.key, least, most, shorten(n.Value))
		}
		return 0, false
	}
	l.bad(n, "", "%s must be a whole number, not %s", l.key, found(n))
	return 0, false
}

// number reads a number that is at least least.
func (l *loader) number(n *yaml.Node, least float64) (float64, bool) {
	if !l.hasValue(n, "") {
		return 0, false
	}
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!int" || n.Tag == "!!float") {
		v, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
		if err == nil && least <= v && v <= math.MaxInt32 {
			return v, true
		}
		l.bad(n, "", "%s must be at least %v, not %s", l.key, least, shorten(n.Value))
		return 0, false
	}
	l.bad(n, "", "%s must be a number, not %s", l.key, found(n))
	return 0, false
}

// duration reads a duration that is at least least.
func (l *loader) duration(n *yaml.Node, least time.Duration) (time.Duration, bool) {
	if !l.hasValue(n, "") {
		return 0, false
	}
	if n.Kind != yaml.ScalarNode {
		l.bad(n, "", "%s must be a duration such as 90s, not %s", l.key, found(n))
		return 0, false
	}
	d, err := ParseDuration(n.Value)
	switch {
	case err != nil && isNumber(n.Value):
		l.bad(n, "write "+n.Value+"s, "+n.Value+"m or "+n.Value+"h", "%s %s has no unit", l.key, n.Value)
	case err != nil:
		l.bad(n, "a duration is written as 90s, 20m, 1h30m or 30d", "%s %s is not a duration", l.key, quote(n.Value))
	case d < 0:
		l.bad(n, "", "%s %s is negative", l.key, shorten(n.Value))
	case d < least:
		l.bad(n, "", "%s %s is too short", l.key, shorten(n.Value))
	default:
		return d, true
	}
	return 0, false
}

func isNumber(text string) bool {
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) && len(text) < 20
}
