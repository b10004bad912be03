package crontab

import (
	"path/filepath"
	"slices"
	"strconv"
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

// KeyHint returns what is wrong with the key of a comment at a place; "" if it looks like a key.
// onlyOfTasks reports whether no whole file can have a key.
func (s *Schedule) KeyHint(line, column int, onlyOfTasks func(key string) bool) (hint string) {
	all := slices.Clone(s.Keys)
	for _, t := range s.Tasks {
		all = append(all, t.Entry.Keys...)
	}
	for i, k := range all {
		if k.Line != line || k.Column != column {
			continue
		}
		isOfFile := i < len(s.Keys)
		switch {
		case isOfFile && onlyOfTasks(k.Name):
			return "above an empty line a comment is about the whole file: take the empty line out, or write " +
				"defaults." + k.Name + " for all lines"
		case k.Name == systemKey:
			return "it is about the whole file: leave the line below the comment empty"
		case !keyName().MatchString(k.Name):
			return "a key is NAME=VALUE: write several values as [a, b], and a value with blanks or commas in quotes"
		}
	}
	return ""
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

// sets reports whether a comment above the line sets the key, or keys inside of it.
func (t *Task) sets(name string) bool {
	return slices.ContainsFunc(t.Entry.Keys,
		func(k Key) bool { return k.Name == name || strings.HasPrefix(k.Name, name+".") })
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

// A Format says how a file is to be read.
type Format int

// The formats of files.
const (
	NotCrontab Format = iota
	User              // a crontab whose lines have no user
	System            // a crontab whose lines have a user before the command, as /etc/crontab
	Unclear           // two formats fit
)

// FormatOf tells crontabs from other files by the path or, when that does not say it, by the text:
//
//  1. *.yaml and *.yml are no crontabs. Files called crontab, *.crontab or *.cron and the files of
//     a folder called cron.d are.
//  2. Any other file is one if a line of it is an entry and the whole is no mapping of YAML.
//  3. A comment `# sched: system` or `# sched: system=false` says whether lines have users. Without
//     it the files of a folder called cron.d have some, and any crontab if system says so.
//  4. /etc/crontab has users if each command begins with a user of this machine, and none if no
//     command does: people also put a crontab without users there, in containers. Any other file
//     has none.
//
// The format is Unclear if a file fits both sides of rule 2, if some lines of /etc/crontab begin
// with a user and others do not, or if each line of any other file begins with a user. The problem
// and the hint say so then.
func FormatOf(path, text string, system bool, isUser func(string) bool) (format Format, problem, hint string) {
	folder, file := filepath.Split(path)
	if ext := filepath.Ext(file); ext == ".yaml" || ext == ".yml" {
		return NotCrontab, "", ""
	}
	inCronD := filepath.Base(folder) == "cron.d"
	table := Parse(Source{Text: text})
	entries := slices.DeleteFunc(slices.Clone(table.Entries), func(e Entry) bool { return e.Off })
	isNamed := inCronD || file == "crontab" || strings.HasSuffix(file, ".crontab") || strings.HasSuffix(file, ".cron")
	switch {
	case isNamed: // it is a crontab, whatever its text is
	case len(entries) == 0:
		return NotCrontab, "", ""
	case yamldoc.IsMapping([]byte(text)):
		return Unclear, "the file may be a crontab or YAML", "call it " + file + ".crontab or " + file + ".yaml"
	}
	if format, ok := table.formatOfComment(); ok {
		return format, "", ""
	}
	if inCronD || system {
		return System, "", ""
	}
	return formatByUsers(entries, isUser, strings.HasSuffix(path, "/etc/crontab"))
}

// formatOfComment returns the format that a comment names, by rule 3 of FormatOf.
func (t *Table) formatOfComment() (Format, bool) {
	for _, k := range t.Keys {
		if k.Name != systemKey {
			continue
		}
		switch isSystem, err := strconv.ParseBool(k.Value); {
		case err != nil: // another key may say it
		case isSystem:
			return System, true
		default:
			return User, true
		}
	}
	return NotCrontab, false
}

// formatByUsers applies rule 4 of FormatOf.
func formatByUsers(entries []Entry, isUser func(string) bool, atEtc bool) (format Format, problem, hint string) {
	users := 0
	for _, e := range entries {
		if words := strings.Fields(e.Command); len(words) > 1 && isUser(words[0]) {
			users++
		}
	}
	all := users == len(entries)
	switch {
	case users == 0 || !all && !atEtc:
		return User, "", ""
	case all && atEtc:
		return System, "", ""
	case all:
		problem = "each command begins with the name of a user, as in /etc/crontab, " +
			"or they are programs with such names"
	default:
		problem = "some commands begin with the name of a user, and others do not"
	}
	return Unclear, problem, "add --system if they are users, or say it at the top of the file: " +
		"`# sched: system` or `# sched: system=false`, and an empty line below it"
}

// systemKey is a key of comments alone: FormatOf reads it.
const systemKey = "system"

// IsFileName reports whether Debian's cron reads a file of /etc/cron.d with this name: letters,
// digits, _ and - alone. So it leaves out what editors and packages leave there, such as job.bak
// and job.dpkg-old.
func IsFileName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
