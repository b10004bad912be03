package preflight

import (
	"slices"
	"strings"
)

// certainPrograms returns the programs that a line for a shell starts first, as far as that is certain. It reads simple
// commands one after another and stops at the first thing that makes the rest uncertain: a keyword (if, for, …), a test of
// the line's own (test, [, command -v), a substitution, a here-document, a change of PATH, a function or an alias. After cd
// and in a fallback (||) programs are passed over.
func certainPrograms(line string) (programs []string) {
	lex := lexer{rest: line}
	moved := false
	for {
		command, before, ok := lex.simpleCommand()
		name := command.name()
		if name == "" || slices.Contains(uncertain, name) || strings.HasPrefix(name, "#") {
			return programs
		}
		switch {
		case name == "cd":
			moved = true
		case slices.Contains(builtins, name) || before == "||" || !isPlain(name):
		default:
			for _, program := range wrapped(command[slices.Index(command, name):]) {
				if !moved || !strings.Contains(program, "/") || strings.HasPrefix(program, "/") {
					programs = append(programs, program)
				}
			}
		}
		if !ok {
			return programs
		}
	}
}

// uncertain are words after which nothing is certain.
var uncertain = strings.Fields(`if then else elif fi for while until do done case esac select function { } ( ) ! [[ ((
	test [ command type which hash export unset alias unalias eval exec . source set trap return exit PATH`)

// builtins of shells, of which there need not be a file.
var builtins = strings.Fields(`: true false echo printf pwd read shift times umask wait ulimit local declare typeset let
	getopts break continue jobs kill fg bg history pushd popd dirs shopt time nohup`)

// isPlain reports whether a word is what it stands for: it holds nothing that a shell expands.
func isPlain(word string) bool {
	for _, c := range word {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._/+-@:,", c)) {
			return false
		}
	}
	return true
}

// A simple is the words of one simple command, with their quotes.
type simple []string

// name returns the first word that is no assignment; "" where there is none, and PATH where that is assigned.
func (s simple) name() string {
	for _, word := range s {
		variable, _, isAssignment := strings.Cut(word, "=")
		if !isAssignment || variable == "" || !isName(variable) {
			return word
		}
		if variable == "PATH" {
			return variable
		}
	}
	return ""
}

func isName(word string) bool {
	for i, c := range word {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return word != ""
}

// A lexer cuts a line into simple commands.
type lexer struct {
	rest   string
	before string // the operator before the next command
}

// simpleCommand returns the next command, and the operator before it. ok is false at the end, and where the line becomes
// more than simple commands.
func (l *lexer) simpleCommand() (words simple, before string, ok bool) {
	before = l.before
	for {
		l.rest = strings.TrimLeft(l.rest, " \t")
		switch c := first(l.rest); {
		case c == 0 || c == '#':
			return words, before, false
		case c == '(' || c == ')':
			return nil, before, false // a subshell, or the name of a function was before it
		case strings.IndexByte(";&|\n", c) >= 0:
			end := 1
			if len(l.rest) > 1 && l.rest[1] == c && c != '\n' {
				end = 2
			}
			l.before, l.rest = l.rest[:end], strings.TrimLeft(l.rest[end:], " \t\n")
			return words, before, l.rest != ""
		case c == '<' || c == '>':
			if strings.HasPrefix(l.rest, "<<") || strings.HasPrefix(l.rest, "<(") || strings.HasPrefix(l.rest, ">(") {
				return words, before, false
			}
			if !l.redirection() {
				return words, before, false
			}
		default:
			word, whole := l.word()
			if !whole {
				return append(words, word+"$("), before, false
			}
			if isNumber(word) && (first(l.rest) == '<' || first(l.rest) == '>') {
				continue // the descriptor of a redirection
			}
			words = append(words, word)
		}
	}
}

func first(text string) byte {
	if text == "" {
		return 0
	}
	return text[0]
}

// redirection passes over >, >>, <, >& and what follows.
func (l *lexer) redirection() bool {
	l.rest = strings.TrimLeft(l.rest, "<>&|")
	l.rest = strings.TrimLeft(l.rest, " \t")
	_, whole := l.word()
	return whole
}

// word returns the next word with its quotes. It is not whole where quotes are open, and where a command is substituted.
func (l *lexer) word() (word string, whole bool) {
	quote := byte(0)
	for i := 0; i < len(l.rest); i++ {
		c := l.rest[i]
		switch {
		case quote == '\'' && c != '\'':
		case c == '`' || c == '$' && i+1 < len(l.rest) && l.rest[i+1] == '(':
			word, l.rest = l.rest[:i], ""
			return word, false
		case c == '\\':
			i++
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && strings.IndexByte(" \t\n;&|<>()", c) >= 0:
			word, l.rest = l.rest[:i], l.rest[i:]
			return word, true
		}
	}
	word, l.rest = l.rest, ""
	return word, quote == 0
}

func isNumber(word string) bool { return word != "" && strings.Trim(word, "0123456789") == "" }
