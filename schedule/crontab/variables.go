package crontab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Variables are settings of a crontab, by name.
type Variables map[string]string

func (v Variables) clone() Variables { return maps.Clone(v) }

// names returns the names, sorted, with PATH first.
func (v Variables) names() []string {
	names := slices.Sorted(maps.Keys(v))
	if i := slices.Index(names, "PATH"); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, "PATH")
	}
	return names
}

var secret = compiled(`(?i)passw|secret|token|api_?key|credential`)

var variableName = compiled(`^[^\s="']+$`)

// setting reads NAME = value. Name and value may be in quotes, blanks around them do not count, and
// nothing is expanded. A # behind a value is part of it; behind a value in quotes it makes the line
// no setting.
func setting(text string) (name, value string, ok bool) {
	name, rest, ok := quoted(text)
	if !ok {
		end := strings.IndexAny(text, "= \t")
		if end < 0 {
			return "", "", false
		}
		name, rest = text[:end], text[end:]
	}
	rest = strings.TrimSpace(rest)
	if !strings.HasPrefix(rest, "=") {
		return "", "", false
	}
	rest = strings.TrimSpace(rest[1:])
	if value, after, ok := quoted(rest); ok {
		return name, value, strings.TrimSpace(after) == ""
	}
	return name, rest, !strings.HasPrefix(rest, `"`) && !strings.HasPrefix(rest, "'")
}

func quoted(text string) (inner, rest string, ok bool) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return "", "", false
	}
	end := strings.IndexByte(text[1:], text[0])
	if end < 0 {
		return "", "", false
	}
	return text[1 : 1+end], text[2+end:], true
}

func (p *parser) assign(name, value, text string) {
	switch {
	case len(name) > 256 || strings.Contains(name+value, "\x00") || !utf8.ValidString(name+value):
		p.leave("a variable with bytes that are no text", "if a command needs it, set it there")
		return
	case !variableName().MatchString(name):
		p.leave(fmt.Sprintf("no shell can read a variable with the name %q", name), "give it a name of letters, digits and _")
		return
	case name == "RANDOM_DELAY" || name == "START_HOURS_RANGE":
		p.leave(name+" moves the times of the lines below at random, which a schedule cannot say",
			"their tasks are due at the times that the lines say; `spread: 45m` puts each off by a time of its own")
		return
	case name == "MAILFROM":
		p.remark(p.number, "MAILFROM is not taken over", "write it as the sender of all mails: `mail: {from: "+value+"}`")
		return
	case (name == "PATH" || name == "HOME") && strings.ContainsAny(value, "$~"):
		p.remark(p.number, "cron does not expand $ and ~ in "+name+", so they are kept as they stand; programs there were never found",
			"write ${HOME}/bin in the schedule, where it is expanded")
	case strings.Contains(value, " #") && strings.HasSuffix(strings.TrimSpace(text), value):
		p.remark(p.number, "the comment behind "+name+" is part of its value to cron, and kept", "")
	}
	if secret().MatchString(name) {
		p.remark(p.number, name+" may be a secret: the env of a schedule is written down with every run",
			"put it into a file that only its user can read, and name that with `env_file`")
	}
	p.set[name], p.setAt[name] = value, p.number
}
