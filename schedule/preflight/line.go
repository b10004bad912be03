package preflight

import (
	"slices"
	"strings"
	"sync"
)

// isSurelyRead reports whether each POSIX shell, and bash, reads the line without a syntax error.
// False says nothing about the line: only its shell knows.
//
// It knows the part of the grammar in which all shells agree:
//
//	list         pipelines between && || ; & and ends of lines
//	pipeline     commands between |
//	command      a word that is no assignment and no keyword, with other words and redirections
//	word         plain characters, \x, '…', "…", $NAME, ${NAME}, $1, $?, $(list)
//	redirection  < > >> before a word, or >& before the number of a descriptor
func isSurelyRead(line string) bool {
	isPlain := func(r rune) bool { return r >= ' ' && r <= '~' || r == '\t' || r == '\n' }
	isForeign := func(r rune) bool { return !isPlain(r) }
	if strings.ContainsFunc(line, isForeign) || strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		return false // a shell takes what begins with - or + for an option
	}
	r := lineReader{rest: line}
	return r.list(0)
}

// commandsOfLine returns the first words of the commands of a line that isSurelyRead knows, without
// the ones in $(…), and with `||` where it stands between them; none for other lines. A PATH that
// is set for one command is the command export.
func commandsOfLine(line string) []string {
	r := lineReader{rest: line}
	if !isSurelyRead(line) || !r.list(0) {
		return nil
	}
	return r.commands
}

// maxDepth is how deep $(…) may be nested. Shells have limits of their own.
const maxDepth = 8

// A lineReader reads a line from its beginning. Each of its methods reads one part of the grammar,
// and returns false if the rest does not begin with that part.
type lineReader struct {
	rest     string
	commands []string // see commandsOfLine
}

// list reads a list until the end of the line, or with a depth of 1 or more until the `)` that
// belongs to its `$(`.
func (r *lineReader) list(depth int) bool {
	if depth > maxDepth {
		return false
	}
	r.emptyLines(depth)
	for r.command(depth) {
		switch {
		case strings.HasPrefix(r.rest, "&>"): // bash and POSIX differ
			return false
		case r.takes("||"):
			if depth == 0 {
				r.commands = append(r.commands, "||")
			}
			r.skip(" \t\n")
			continue
		case r.takes("&&"), r.takes("|"):
			r.skip(" \t\n")
			continue
		case r.takes(";"), r.takes("&"), r.takes("\n"):
			r.emptyLines(depth)
		}
		if depth > 0 && r.takes(")") {
			return true
		}
		if r.rest == "" {
			return depth == 0
		}
	}
	return false
}

// keywords are the words with which no simple command begins, in any of the shells.
var keywords = sync.OnceValue(func() []string {
	return strings.Fields("! ]] if then elif else fi for select while until do done case esac in function " +
		"time coproc namespace repeat foreach end nocorrect")
})

// command reads a simple command until the next operator. It has a word that is no assignment.
func (r *lineReader) command(depth int) bool {
	for hasName := false; ; {
		r.skip(" \t")
		before := r.rest
		switch {
		case r.rest == "" || strings.IndexByte("\n;&|)", r.rest[0]) >= 0:
			return hasName
		case r.rest[0] == '#':
			if depth > 0 {
				return false
			}
			r.comment()
		case r.rest[0] == '<' || r.rest[0] == '>':
			if !r.redirection(depth) {
				return false
			}
		case !r.word(depth):
			return false
		case !hasName:
			word := before[:len(before)-len(r.rest)]
			if slices.Contains(keywords(), word) || strings.ContainsAny(word, "{}") && !strings.Contains(word, "$") {
				return false
			}
			isNumber := strings.Trim(word, digits) == "" // it may belong to a redirection
			hasName = !isNumber && !strings.Contains(word, "=")
			if isPath := strings.HasPrefix(word, "PATH="); depth == 0 && isPath {
				r.commands = append(r.commands, "export")
			} else if depth == 0 && hasName {
				r.commands = append(r.commands, word)
			}
		}
	}
}

func (r *lineReader) redirection(depth int) bool {
	if r.takes(">&") {
		return r.takesOneOf("0123456789") && (r.rest == "" || strings.IndexByte(" \t\n;&|)", r.rest[0]) >= 0)
	}
	if !r.takes(">>") && !r.takes(">") {
		r.takes("<")
	}
	r.skip(" \t")
	isWord := r.rest != "" && strings.IndexByte("#!", r.rest[0]) < 0 && r.word(depth)
	return isWord && !strings.HasPrefix(r.rest, "<") && !strings.HasPrefix(r.rest, ">")
}

// word reads at least one character.
func (r *lineReader) word(depth int) bool {
	before := len(r.rest)
	for r.rest != "" {
		switch c := r.rest[0]; {
		case strings.IndexByte(" \t\n;&|<>()", c) >= 0:
			return len(r.rest) < before
		case r.takes("\\"):
			if r.rest == "" || r.takes("\n") {
				return false
			}
			r.rest = r.rest[1:]
		case r.takes("'"):
			_, rest, isClosed := strings.Cut(r.rest, "'")
			if !isClosed {
				return false
			}
			r.rest = rest
		case r.takes(`"`):
			if !r.doubleQuoted(depth) {
				return false
			}
		case r.takes("$"):
			if !r.expansion(depth) {
				return false
			}
		case c == '[': // bash looks for the ] of a[1 2]=x
			isTest := len(r.rest) == before && len(r.rest) > 1 && strings.IndexByte(" \t", r.rest[1]) >= 0
			if !isTest {
				return false
			}
			r.rest = r.rest[1:]
		case c == '`':
			return false
		default:
			r.rest = r.rest[1:]
		}
	}
	return before > 0
}

// doubleQuoted reads the text behind a ", and the other ".
func (r *lineReader) doubleQuoted(depth int) bool {
	for r.rest != "" {
		switch {
		case r.takes(`"`):
			return true
		case r.takes(`\`):
			if r.rest == "" {
				return false
			}
			r.rest = r.rest[1:]
		case r.takes("$"):
			if !r.expansion(depth) {
				return false
			}
		case r.rest[0] == '`':
			return false
		default:
			r.rest = r.rest[1:]
		}
	}
	return false
}

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
	digits  = "0123456789"
)

// expansion reads what comes behind a $.
func (r *lineReader) expansion(depth int) bool {
	switch {
	case r.takes("(("):
		return false
	case r.takes("("):
		return r.list(depth + 1)
	case r.takes("{"):
		if !r.takesOneOf(letters) {
			return false
		}
		r.skip(letters + digits)
		return r.takes("}")
	case r.takesOneOf(letters):
		r.skip(letters + digits)
		return true
	}
	return r.takesOneOf(digits + "@*#?!-")
}

// emptyLines leaves out empty lines and, except in $(…), comments.
func (r *lineReader) emptyLines(depth int) {
	for r.skip(" \t\n"); depth == 0 && strings.HasPrefix(r.rest, "#"); r.skip(" \t\n") {
		r.comment()
	}
}

func (r *lineReader) comment() {
	if end := strings.IndexByte(r.rest, '\n'); end >= 0 {
		r.rest = r.rest[end:]
	} else {
		r.rest = ""
	}
}

// skip leaves out the characters at the beginning that are among these.
func (r *lineReader) skip(characters string) { r.rest = strings.TrimLeft(r.rest, characters) }

// takes reads the text, if the rest begins with it.
func (r *lineReader) takes(text string) (taken bool) {
	r.rest, taken = strings.CutPrefix(r.rest, text)
	return taken
}

func (r *lineReader) takesOneOf(characters string) bool {
	if r.rest == "" || strings.IndexByte(characters, r.rest[0]) < 0 {
		return false
	}
	r.rest = r.rest[1:]
	return true
}
