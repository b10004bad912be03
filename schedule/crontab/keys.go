package crontab

import (
	"regexp"
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

var ourComment = regexp.MustCompile(`^\s*#+\s*sched:`)

// keysOf reads the keys of a comment `# sched:`; ok is false for any other line. Blanks and commas
// separate keys, except in quotes and brackets. A key without a value is true.
func keysOf(raw string, line int) (keys []Key, ok bool) {
	begin := ourComment.FindString(raw)
	for at := len(begin); begin != "" && at < len(raw); at++ {
		end := endOfKey(raw, at)
		if end == at { // a separator
			continue
		}
		name, value, given := strings.Cut(raw[at:end], "=")
		if !given {
			value = "true"
		}
		keys = append(keys, Key{printable(name), asYAML(value), line, utf8.RuneCountInString(raw[:at]) + 1})
		at = end
	}
	return keys, begin != ""
}

func endOfKey(text string, at int) int {
	depth, quote := 0, byte(0)
	for from := at; at < len(text); at++ {
		switch c := text[at]; {
		case quote != 0:
			if c == quote {
				quote = 0
			} else if c == '\\' && quote == '"' {
				at++
			}
		case (c == '"' || c == '\'') && at > from && strings.IndexByte("=[{,: ", text[at-1]) >= 0:
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
	if yamldoc.IsMapping([]byte("key: " + value)) {
		return value
	}
	return quote(value)
}

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
