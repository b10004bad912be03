package crontab

import (
	"strings"

	"sched/schedule/humanize"
)

// posixShell matches the name of a shell that reads a command as words does.
var posixShell = humanize.Pattern(`^(ba|da|k|z|a|mk)?sh$`)

// A word is a word of a shell command, or an operator between words.
type word struct {
	start, end int
	text       string // without quotes
	literal    bool   // the shell expands nothing in it
	operator   bool   // ; & | ( ) < > and combinations of them
}

// words splits a command as a POSIX shell does. It stops and returns false if it cannot read on: at
// quotes that are not closed, a comment, a here-document.
func words(command string) (all []word, ok bool) {
	for i := 0; i < len(command); {
		switch c := command[i]; {
		case c == ' ' || c == '\t':
			i++
		case c == '#' || c == '\n' || c == '`':
			return all, false
		case strings.IndexByte(";&|()<>", c) >= 0:
			end := i + 1
			for end < len(command) && strings.IndexByte("&|<>;", command[end]) >= 0 && c != '(' && c != ')' {
				end++
			}
			if strings.HasPrefix(command[i:end], "<<") {
				return all, false
			}
			all = append(all, word{i, end, command[i:end], true, true})
			i = end
		default:
			w, closed := wordAt(command, i)
			if !closed {
				return all, false
			}
			all = append(all, w)
			i = w.end
		}
	}
	return all, true
}

// wordAt reads the word that begins at an index. It returns false if the word has no end, or a
// backquote in it.
func wordAt(command string, start int) (w word, ok bool) {
	w = word{start: start, literal: true}
	var text strings.Builder
	quote := byte(0)
	i := start
	for ; i < len(command); i++ {
		c := command[i]
		switch {
		case quote == '\'' && c != '\'', quote == '"' && strings.IndexByte("\"\\$`", c) < 0:
			text.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == '\\' && i+1 < len(command):
			i++
			if quote == '"' && strings.IndexByte("\"\\$`", command[i]) < 0 {
				text.WriteByte('\\')
			}
			text.WriteByte(command[i])
		case quote == 0 && strings.IndexByte(" \t\n;&|()<>", c) >= 0:
			w.end, w.text = i, text.String()
			return w, true
		case c == '`':
			return w, false
		default:
			w.literal = w.literal && strings.IndexByte("$*?[{!", c) < 0 && !(c == '~' && i == start)
			text.WriteByte(c)
		}
	}
	w.end, w.text = i, text.String()
	return w, quote == 0
}

// closed reports whether all quotes and all $( of a command are closed.
func closed(command string) bool {
	quote := byte(0)
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote == 0 && strings.IndexByte("\"'`", c) >= 0:
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return quote == 0 && strings.Count(command, "$(") <= strings.Count(command, ")")
}
