package crontab

import (
	"slices"
	"strings"
	"unicode/utf8"

	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// A Key is a key of schedule.yaml that a line of a crontab sets, or a comment: `# sched:
// name=backup timeout=20m one_server`.
type Key struct {
	Name         string // in a comment, of a key inside of another with a dot: retry.attempts
	Value        *yamldoc.Node
	Text         string // the value as YAML; "" for the plainest
	Below        []Key  // the keys inside of this one, in place of a value
	Line, Column int    // of the key in the crontab
}

// yaml returns the value as YAML.
func (k Key) yaml() string {
	if k.Text == "" {
		return inline(k.Value, scalar)
	}
	return k.Text
}

// document returns the keys as a mapping. A value without a place gets the place of its key.
func document(keys []Key) *yamldoc.Node {
	pairs := make([]*yamldoc.Node, 0, 2*len(keys))
	for _, k := range keys {
		value := k.Value
		if k.Below != nil {
			value = document(k.Below)
		} else if value.Line == 0 {
			value.MoveTo(k.Line, k.Column)
		}
		pairs = append(pairs, yamldoc.NewText(k.Name).MoveTo(k.Line, k.Column), value)
	}
	return yamldoc.NewMapping(pairs...)
}

// nested returns the keys of comments with the keys inside of another one below it.
func nested(keys []Key) (all []Key) {
	done := map[string]bool{}
	for i, k := range keys {
		above, _, inside := strings.Cut(k.Name, ".")
		if inside && done[above] {
			continue
		}
		if inside {
			done[above] = true
			k = Key{Name: above, Below: nested(keysBelow(above, keys[i:])), Line: k.Line, Column: k.Column}
		}
		all = append(all, k)
	}
	return all
}

// keysBelow returns the keys inside of the key above, named without it.
func keysBelow(above string, keys []Key) (all []Key) {
	for _, k := range keys {
		if rest, ok := strings.CutPrefix(k.Name, above+"."); ok {
			k.Name = rest
			all = append(all, k)
		}
	}
	return all
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
		column := utf8.RuneCountInString(raw[:at]) + 1
		if found[2] != "" {
			from := end
			end = endOfValue(raw, from)
			value = raw[from:end]
			if value != "" && strings.IndexByte(`"'[{`, value[0]) >= 0 && yamldoc.ParseValue(value) == nil {
				name = raw[at:end]
			}
		}
		k := Key{Name: printable(name), Text: printable(value), Line: line, Column: column}
		if k.Value = yamldoc.ParseValue(k.Text); k.Value == nil {
			k.Value, k.Text = yamldoc.NewText(k.Text), quote(k.Text)
		}
		k.Value.MoveTo(line, column)
		keys = append(keys, spread(k)...)
		at = end
	}
	return keys, begin != ""
}

// spread returns the keys inside of a mapping for env and defaults, as if each stood in the comment
// with a dot, so that they go with the keys that the lines set. It returns any other key as it is.
func spread(k Key) (keys []Key) {
	isSpread := k.Name == "env" || k.Name == "defaults" || k.Name == "defaults.env"
	if !isSpread || !k.Value.IsMapping() || k.Value.IsEmpty() || !isPlain(k.Value) {
		return []Key{k}
	}
	for name, value := range k.Value.Pairs() {
		inner := Key{Name: k.Name + "." + name.Value, Value: value, Line: k.Line, Column: k.Column}
		keys = append(keys, spread(inner)...)
	}
	return keys
}

// isPlain reports whether inline can write a value: it has no tags, anchors and aliases, and its
// keys are names.
func isPlain(n *yamldoc.Node) bool {
	switch {
	case n.Anchor != "" || !strings.HasPrefix(n.Tag, "!!"):
		return false
	case n.IsList():
		return !slices.ContainsFunc(n.Items(), func(item *yamldoc.Node) bool { return !isPlain(item) })
	case n.IsMapping():
		for name, value := range n.Pairs() {
			if !keyName().MatchString(name.Value) || !isPlain(value) {
				return false
			}
		}
		return true
	}
	return n.IsScalar()
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
