package systemd

import (
	"errors"
	"slices"
	"strings"

	"sched/schedule/humanize"
)

// A command is a command of ExecStart= or one of its like, for a POSIX shell.
type command struct {
	shell        string
	prefixes     string // - @ : + ! as they stand before the program
	mayFail      bool
	splits       bool // it has an unquoted $NAME, whose value the shell would take for a pattern
	unreadQuotes bool // systemd reads quotes in the value of such a $NAME, which the shell does not
}

// variables are what is known of the environment of a command.
type variables struct {
	known    map[string]string // Environment=
	hasFiles bool              // so there may be others
}

var (
	plainWord  = humanize.Pattern(`^[A-Za-z0-9_@%+=:,./-]+$`)
	plainValue = humanize.Pattern(`^[A-Za-z0-9_@%+=:,./ -]*$`)
	identifier = humanize.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// ownWord matches names that a shell does not look up in $PATH, such as echo.
	ownWord = humanize.Pattern(`^(\.|:|!|\[|\{|\}|alias|bg|break|case|cd|command|continue|do|done|echo|elif|else|esac|` +
		`eval|exec|exit|export|false|fc|fg|fi|for|function|getopts|hash|if|in|jobs|kill|let|local|newgrp|printf|pwd|` +
		`read|readonly|return|select|set|shift|source|test|then|time|times|trap|true|type|ulimit|umask|unalias|unset|` +
		`until|wait|while)$`)
)

// readCommands reads a line, which has several commands if a word of it is a single semicolon.
func readCommands(line string, s specifiers, env variables) (all []command, err error) {
	for strings.TrimLeft(line, blanks) != "" {
		var words []string
		for {
			line = strings.TrimLeft(line, blanks)
			if next, isEnd := cutMark(line, ";"); isEnd {
				line = next
				break
			}
			if next, isText := cutMark(line, `\;`); isText {
				words, line = append(words, ";"), next
				continue
			}
			word, rest, ok, err := cutWord(line, true)
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			if word, err = s.expand(word); err != nil {
				return nil, err
			}
			words, line = append(words, word), rest
		}
		if len(words) == 0 {
			continue
		}
		one, err := commandOf(words, env)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// cutMark cuts off a mark that stands alone.
func cutMark(line, mark string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(line, mark)
	return rest, ok && (rest == "" || strings.IndexByte(blanks, rest[0]) >= 0)
}

func commandOf(words []string, env variables) (c command, err error) {
	program := strings.TrimLeft(words[0], "-@:+!|")
	c.prefixes = words[0][:len(words[0])-len(program)]
	c.mayFail = strings.Contains(c.prefixes, "-")
	arguments := words[1:]
	switch {
	case program == "":
		return c, errors.New("it names no program")
	case strings.Contains(c.prefixes, "|"):
		return c, errors.New("| starts the shell of its user")
	case strings.Contains(c.prefixes, "@") && len(arguments) == 0:
		return c, errors.New("with @ a second word has to follow")
	case strings.Contains(c.prefixes, "@"):
		arguments = arguments[1:]
	}
	parts := []string{quoted(program)}
	switch {
	case strings.Contains(program, liveMark):
		parts[0] = inDoubleQuotes(program, false)
	case !strings.Contains(program, "/") && (ownWord().MatchString(program) || !plainWord().MatchString(program)):
		parts = []string{"/usr/bin/env", quoted(program)} // the shell has a word of its own with this name
	}
	for _, word := range arguments {
		parts = append(parts, c.argument(word, env)...)
	}
	c.shell = strings.Join(parts, " ")
	return c, nil
}

// argument writes an argument for the shell, as several words or none if it is a $NAME.
func (c *command) argument(word string, env variables) []string {
	expands := !strings.Contains(c.prefixes, ":")
	if !strings.Contains(word, liveMark) && !(expands && strings.Contains(word, "$")) {
		return []string{quoted(word)}
	}
	name, isDollar := strings.CutPrefix(word, "$")
	if !expands || !isDollar || strings.HasPrefix(name, "{") || strings.HasPrefix(name, "$") {
		return []string{inDoubleQuotes(word, expands)}
	}
	value, isKnown := env.known[name]
	switch {
	case !identifier().MatchString(name):
		return nil
	case isKnown && !env.hasFiles && plainValue().MatchString(value):
		return []string{"$" + name}
	case env.hasFiles || !isKnown:
		c.splits = true
		c.unreadQuotes = c.unreadQuotes || env.hasFiles
		return []string{"$" + name}
	}
	var parts []string
	values, _ := splitWords(value, false)
	for _, value := range values {
		parts = append(parts, quoted(value))
	}
	return parts
}

// quoted writes a text as one word of a shell.
func quoted(text string) string {
	if plainWord().MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// inDoubleQuotes writes a word with live specifiers, and if expands with ${NAME} and $$.
func inDoubleQuotes(word string, expands bool) string {
	var text strings.Builder
	isPlain := true
	literal := func(part string) {
		for _, c := range []byte(part) {
			if strings.IndexByte("\"\\$`", c) >= 0 {
				text.WriteByte('\\')
			}
			text.WriteByte(c)
		}
	}
	var plain strings.Builder
	for i := 0; i < len(word); i++ {
		name, _, isClosed := strings.Cut(word[min(i+2, len(word)):], "}")
		switch {
		case word[i] == liveMark[0] && i+1 < len(word):
			isPlain = false
			i++
			text.WriteString("$(" + live[word[i]] + ")")
		case expands && strings.HasPrefix(word[i:], "$$"):
			i++
			literal("$")
			plain.WriteByte('$')
		case expands && strings.HasPrefix(word[i:], "${") && isClosed:
			isPlain = false
			i += len(name) + 2
			if identifier().MatchString(name) {
				text.WriteString("${" + name + "}")
			}
		default:
			literal(word[i : i+1])
			plain.WriteByte(word[i])
		}
	}
	if isPlain {
		return quoted(plain.String())
	}
	return `"` + text.String() + `"`
}

// joined writes commands for a shell so that the first failure ends them, as with systemd.
func joined(all []command) string {
	var parts []string
	for _, c := range all {
		switch {
		case !c.mayFail:
			parts = append(parts, c.shell)
		case len(all) == 1:
			parts = append(parts, c.shell+" || :")
		default:
			parts = append(parts, "{ "+c.shell+" || :; }")
		}
	}
	text := strings.Join(parts, " &&\n")
	if slices.ContainsFunc(all, func(c command) bool { return c.splits }) {
		text = "set -f\n" + text // no value is a pattern
	}
	return text
}
