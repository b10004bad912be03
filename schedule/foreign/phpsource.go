package foreign

import (
	"errors"
	"fmt"
	"strings"

	"sched/schedule/humanize"
)

// Bounds of a file of PHP.
const (
	maxPHP      = 256 << 10 // bytes
	maxPHPDepth = 100       // brackets in brackets
	maxShown    = 200       // bytes of arguments in a message
)

// fromList says what to do if PHP is not plain.
const fromList = "import what `php artisan schedule:list --json` prints, " +
	"which has times and commands, but no locks, conditions and hooks"

// A phpSource is PHP without comments.
type phpSource struct {
	text    string
	code    string      // the same with blanks for what stands in quotes
	closing map[int]int // the place of the bracket that closes each one, by the place of the latter
}

func newPHPSource(text string) (phpSource, error) {
	if len(text) > maxPHP {
		return phpSource{}, fmt.Errorf("it is larger than %d KiB: %s", maxPHP>>10, fromList)
	}
	s := phpSource{text: withoutComments(text), closing: map[int]int{}}
	s.code = withoutTexts(s.text)
	var open []int
	for i := range len(s.code) {
		switch c := s.code[i]; {
		case strings.IndexByte("([{", c) >= 0 && len(open) == maxPHPDepth:
			return phpSource{}, errors.New("its brackets are too deep: " + fromList)
		case strings.IndexByte("([{", c) >= 0:
			open = append(open, i)
		case strings.IndexByte(")]}", c) >= 0 && len(open) > 0:
			s.closing[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
	}
	return s, nil
}

// A phpCall is name(arguments).
type phpCall struct {
	name   string
	inside string // the arguments as they are written
	open   int    // the place of its bracket
}

// String writes a call in one line, shortened.
func (c phpCall) String() string {
	inside := strings.Join(c.arguments(), ", ")
	if len(inside) > maxShown {
		inside = strings.ToValidUTF8(inside[:maxShown], "") + "…"
	}
	return "->" + c.name + "(" + inside + ")"
}

var phpName = humanize.Pattern(`^\s*(\w+)\s*\(`)

// chain reads name(arguments)->name(arguments)… up to the end of the expression.
func (s phpSource) chain(at int) (calls []phpCall, end int, err error) {
	for {
		found := phpName().FindStringSubmatchIndex(s.text[at:])
		if found == nil {
			return calls, at, errors.New("its PHP cannot be read")
		}
		name, open := s.text[at+found[2]:at+found[3]], at+found[1]-1
		closing, isClosed := s.closing[open]
		if !isClosed {
			return calls, at, errors.New("its PHP cannot be read")
		}
		calls = append(calls, phpCall{name, s.text[open+1 : closing], open})
		rest := strings.TrimLeft(s.text[closing+1:], " \t\r\n")
		end = len(s.text) - len(rest)
		switch {
		case strings.HasPrefix(rest, "->"):
			at = end + len("->")
		case rest != "" && strings.IndexByte(";,)]", rest[0]) >= 0:
			return calls, end, nil
		default:
			return calls, end, errors.New("its PHP cannot be read: no ->, ;, comma or ) stands behind " + name + "()")
		}
	}
}

// arguments returns each argument as it is written.
func (c phpCall) arguments() []string { return phpList(c.inside) }

// phpList splits a list at its commas.
func phpList(text string) (items []string) {
	depth, begin := 0, 0
	add := func(end int) {
		if item := strings.TrimSpace(text[begin:end]); item != "" {
			items = append(items, item)
		}
		begin = end + 1
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case strings.IndexByte(phpQuotes, c) >= 0:
			i = endOfText(text, i)
		case depth == 0 && c == ',':
			add(i)
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		}
	}
	add(len(text))
	return items
}

// phpItems returns the items of a list in brackets that spans the argument.
func phpItems(argument string) (items []string, ok bool) {
	inner, isList := strings.CutPrefix(argument, "[")
	inner, isClosed := strings.CutSuffix(inner, "]")
	return phpList(inner), isList && isClosed
}

var (
	phpText      = humanize.Pattern(`^'((?:[^'\\]|\\.)*)'$|^"([^"\\$]*)"$`)
	phpBackslash = humanize.Pattern(`\\([\\'])`)
	phpNumber    = humanize.Pattern(`^\d+$`)
)

// phpWord reads a text or a number.
func phpWord(argument string) (text string, ok bool) {
	switch found := phpText().FindStringSubmatch(argument); {
	case found != nil:
		return phpBackslash().ReplaceAllString(found[1], "$1") + found[2], true
	case phpNumber().MatchString(argument):
		return argument, true
	}
	return "", false
}

// values returns the texts of each argument, if all are texts, numbers, and lists of them.
func (c phpCall) values() (all [][]string, ok bool) {
	for _, argument := range c.arguments() {
		parts, isList := phpItems(argument)
		if !isList {
			parts = []string{argument}
		}
		texts := []string{}
		for _, part := range parts {
			text, ok := phpWord(part)
			if !ok {
				return nil, false
			}
			texts = append(texts, text)
		}
		all = append(all, texts)
	}
	return all, true
}

var (
	phpKey     = humanize.Pattern(`(?s)^('(?:[^'\\]|\\.)*'|"[^"\\$]*"|\d+)\s*=>\s*(.+)$`)
	phpLiteral = humanize.Pattern(`^-?\d+(\.\d+)?$`)
	phpWords   = [...][2]string{{"true", "1"}, {"false", ""}, {"null", ""}}
)

// phpParameter reads a value as PHP writes it into a text.
func phpParameter(argument string) (text string, ok bool) {
	if text, ok = phpWord(argument); ok {
		return text, true
	}
	for _, word := range phpWords {
		if strings.EqualFold(argument, word[0]) {
			return word[1], true
		}
	}
	return argument, phpLiteral().MatchString(argument)
}

// parameters reads the second argument of command() and exec() into words of a command, as
// Laravel's compileParameters does: a key that is no number stands before its value, or before each
// of its values.
func parameters(argument string) (words []string, ok bool) {
	items, ok := phpItems(argument)
	if !ok {
		return nil, false
	}
	for _, item := range items {
		key := ""
		if found := phpKey().FindStringSubmatch(item); found != nil {
			key, _ = phpWord(found[1])
			item = found[2]
		}
		if phpLiteral().MatchString(key) {
			key = ""
		}
		parts, isList := phpItems(item)
		if !isList {
			parts = []string{item}
		}
		for _, part := range parts {
			text, ok := phpParameter(part)
			switch {
			case !ok:
				return nil, false
			case key == "" || isList && !strings.HasPrefix(key, "-"):
				words = append(words, text)
			case isList && !strings.HasPrefix(key, "--"):
				words = append(words, key, text)
			default:
				words = append(words, key+"="+text)
			}
		}
	}
	return words, true
}
