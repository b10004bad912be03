package crontab

import (
	"strings"

	"sched/schedule/humanize"
)

// This file reads a command as cron does (splitAtPercent), and as a POSIX shell does (words).

// PosixShell matches the name of a shell that reads a command as words does.
var PosixShell = humanize.Pattern(`^(ba|da|k|z|a|mk)?sh$`)

// A word is a word of a shell command, or an operator between words.
type word struct {
	start, end int    // bytes of the command
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
			all = append(all, word{start: i, end: end, text: command[i:end], literal: true, operator: true})
			i = end
		default:
			w, ok := wordAt(command, i)
			if !ok {
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
		case quote == '\'' && c != '\'', quote == '"' && strings.IndexByte("\"\\$`", c) < 0: // in quotes
			text.WriteByte(c)
		case quote != 0 && c == quote: // the end of the quotes
			quote = 0
		case quote == 0 && (c == '"' || c == '\''): // their beginning
			quote = c
		case c == '\\' && i+1 < len(command): // an escape; in "…" only of " \ $ and `
			i++
			if quote == '"' && strings.IndexByte("\"\\$`", command[i]) < 0 {
				text.WriteByte('\\')
			}
			text.WriteByte(command[i])
		case quote == 0 && strings.IndexByte(" \t\n;&|()<>", c) >= 0: // the end of the word
			w.end, w.text = i, text.String()
			return w, true
		case c == '`':
			return w, false
		default: // outside quotes, or a $ in "…"
			w.literal = w.literal && strings.IndexByte("$*?[{!", c) < 0 && !(c == '~' && i == start)
			text.WriteByte(c)
		}
	}
	w.end, w.text = i, text.String()
	return w, quote == 0
}

// quotesAreClosed reports whether all quotes and all $( of a command are closed. It counts
// parentheses in quotes, too: a rough answer is enough for a finding.
func quotesAreClosed(command string) bool {
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

// splitAtPercent applies the rules of cron for % and \ to the text after the fields:
//
//   - The command ends at the first % without a \ before it. The text after that % is the command's
//     standard input, in which % is a line break. input is nil if the command ends with the text.
//   - \% is a %, and in the command \\ is a \.
func splitAtPercent(text string) (command string, input *string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '%':
			in := inputOf(text[i+1:])
			return b.String(), &in
		case c == '\\' && i+1 < len(text) && (text[i+1] == '%' || text[i+1] == '\\'):
			i++
			b.WriteByte(text[i])
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteString(text[i-1 : i+1])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// inputOf turns each % into a line break and each \% into %. It adds a line break at the end unless
// there is nothing to write.
func inputOf(text string) string {
	text = strings.ReplaceAll(text, `\%`, "\x00")
	text = strings.ReplaceAll(text, "%", "\n")
	text = strings.ReplaceAll(text, "\x00", "%")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// withHereDocument returns a command that reads the input. The pattern HereDocument takes it apart.
func withHereDocument(command, input string) string {
	mark := "INPUT"
	for strings.Contains("\n"+input, "\n"+mark+"\n") {
		mark += "_"
	}
	if backslashes := len(command) - len(strings.TrimRight(command, `\`)); backslashes%2 == 1 {
		command += `\` // a single \ at the end is a \ to the shell; before a line break it would join the lines
	}
	return "{\n" + command + "\n} <<'" + mark + "'\n" + input + mark
}

var HereDocument = humanize.Pattern(`(?s)^\{\n([^\n]*)\n\} <<'(INPUT_*)'\n(.*)INPUT_*$`)
