package crontab

import (
	"strings"
	"unicode/utf8"

	"sched/schedule/humanize"
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
	ourComment = humanize.Pattern(`^\s*#+\s*sched:`)
	nearlyOurs = humanize.Pattern(`(?i)^\s*#+\s*sched(:|\s+[\w.]+=)`)
	keyStart   = humanize.Pattern(`^([^\s,=]+)([ \t]+=[ \t]*|=)?`)
	keyName    = humanize.Pattern(`^[A-Za-z_][\w.-]*:?$`)
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
		if value = printable(value); !isYAML(value) {
			value = quote(value)
		}
		keys = append(keys, Key{printable(name), value, line, utf8.RuneCountInString(raw[:at]) + 1})
		at = end
	}
	return keys, begin != ""
}

// endOfValue returns the index behind the value that begins at an index: at a blank or a comma that
// is neither in quotes nor in brackets.
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

// isYAML reports whether YAML can have the value behind a key as it stands.
func isYAML(value string) bool { return yamldoc.IsMapping([]byte("key: " + value)) }

// A Format says how a file is to be read.
type Format int

// The formats of files.
const (
	NotCrontab Format = iota
	User              // a crontab whose lines have no user
	System            // a crontab whose lines have a user before the command, as /etc/crontab
	Unclear           // two formats fit
)

// systemKey is a key of comments alone: FormatOf reads it.
const systemKey = "system"

// IsFileName reports whether Debian's cron reads a file of /etc/cron.d with this name: letters,
// digits, _ and - alone. So it leaves out what editors and packages leave there, such as job.bak
// and job.dpkg-old.
func IsFileName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
