package crontab

import (
	"slices"
	"strings"
	"unicode/utf8"

	"sched/schedule/yamldoc"
)

// A Key is a key of schedule.yaml that a comment sets: `# sched: name=backup timeout=20m
// one_server`.
type Key struct {
	Name         string // of a key inside of another with a dot: retry.attempts
	Value        string // as YAML
	Line, Column int    // of the key in the crontab
}

var (
	ourComment = compiled(`^\s*#+\s*sched:`)
	nearlyOurs = compiled(`(?i)^\s*#+\s*sched(:|\s+[\w.]+=)`)
	keyStart   = compiled(`^([^\s,=]+)([ \t]+=[ \t]*|=)?`)
	keyName    = compiled(`^[A-Za-z_][\w.-]*:?$`)
)

// keysOf reads the keys of a comment `# sched:`; ok is false for any other line. Blanks and commas
// separate keys, except in quotes and brackets. A key without a value is true. If a quote or a
// bracket is not closed, the name is all of the text, which is no key.
func keysOf(raw string, line int) (keys []Key, ok bool) {
	begin := ourComment().FindString(raw)
	for at := len(begin); begin != "" && at < len(raw); {
		found := keyStart().FindStringSubmatch(raw[at:])
		if found == nil { // a separator
			at++
			continue
		}
		name, value, end := found[1], "true", at+len(found[0])
		if found[2] != "" {
			from := end
			end = endOfValue(raw, from)
			value = raw[from:end]
			if value != "" && strings.IndexByte(`"'[{`, value[0]) >= 0 && !isYAML(value) {
				name = raw[at:end]
			}
		}
		keys = append(keys, Key{printable(name), asYAML(value), line, utf8.RuneCountInString(raw[:at]) + 1})
		at = end
	}
	return keys, begin != ""
}

// KeyHint returns what is wrong with the key of a comment at a place; "" if it looks like a key.
func (s *Schedule) KeyHint(line, column int) (hint string) {
	all := slices.Clone(s.Keys)
	for _, t := range s.Tasks {
		all = append(all, t.Entry.Keys...)
	}
	for _, k := range all {
		switch {
		case k.Line != line || k.Column != column:
		case k.Name == systemKey:
			return "it is about the whole file: leave the line below the comment empty"
		case !keyName().MatchString(k.Name):
			return "a key is NAME=VALUE: write several values as [a, b], and a value with blanks or commas in quotes"
		}
	}
	return ""
}

func endOfValue(text string, at int) int {
	depth, quote := 0, byte(0)
	for from := at; at < len(text); at++ {
		switch c := text[at]; {
		case quote != 0:
			if c == quote {
				quote = 0
			} else if c == '\\' && quote == '"' {
				at++
			}
		case (c == '"' || c == '\'') && (at == from || strings.IndexByte("=[{,: ", text[at-1]) >= 0):
			quote = c
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case depth <= 0 && strings.IndexByte(", \t\r", c) >= 0:
			return at
		}
	}
	return len(text)
}

// asYAML returns the value as it stands, or in quotes if YAML could not have it behind a key.
func asYAML(value string) string {
	value = printable(value)
	if isYAML(value) {
		return value
	}
	return quote(value)
}

func isYAML(value string) bool { return yamldoc.IsMapping([]byte("key: " + value)) }

// sets reports whether a comment above the line sets the key, or keys inside of it.
func (t *Task) sets(name string) bool {
	for _, k := range t.Entry.Keys {
		if above, _, _ := strings.Cut(k.Name, "."); above == name {
			return true
		}
	}
	return false
}

// ownName returns the name that a comment gives the task, or "".
func (t *Task) ownName() string {
	for _, k := range t.Entry.Keys {
		if k.Name == "name" {
			return strings.Trim(k.Value, `"'`) // no name has quotes or escapes
		}
	}
	return ""
}
