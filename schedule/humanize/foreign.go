package humanize

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes one line of foreign text, safe for a terminal or a table. Control characters become
// spaces, marks of direction are removed, and bytes that are not UTF-8 become U+FFFD.
func Line(foreign string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, foreign)
}

// Plain makes valid lines of a command's output, without control characters (tabs excepted) and
// escape sequences. If a line was drawn over with \r, each version of it becomes a line. Plain is
// idempotent.
func Plain(printed string) string {
	text := strings.ToValidUTF8(printed, "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(text))
	for text != "" {
		if n := Escape(text); n > 0 {
			text = text[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		switch {
		case r == '\r':
			b.WriteByte('\n')
		case r == '\n', r == '\t', !unicode.IsControl(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Escape is the length of the escape sequence that text begins with (ECMA-35 and ECMA-48); 0 if it
// begins with no such sequence.
func Escape(text string) int {
	if len(text) < 2 || text[0] != 0x1b {
		return 0
	}
	switch text[1] {
	case '[': // parameters, then a final byte
		return sequenceEnd(text, 2, 0x20, 0x3f)
	case ']', 'P', '^', '_': // text until BEL or ESC \; a line break ends a sequence that was broken off
		end := strings.IndexAny(text[2:], "\a\x1b\n")
		switch {
		case end < 0:
			return len(text)
		case text[2+end] == '\a':
			return 2 + end + 1
		case strings.HasPrefix(text[2+end:], "\x1b\\"):
			return 2 + end + 2
		}
		return 2 + end
	}
	return sequenceEnd(text, 1, 0x20, 0x2f)
}

// sequenceEnd returns the index at which a sequence ends: after bytes in from..to and one final
// byte, if it is there.
func sequenceEnd(text string, i int, from, to byte) int {
	for i < len(text) && text[i] >= from && text[i] <= to {
		i++
	}
	if i < len(text) && text[i] > to && text[i] <= '~' {
		i++
	}
	return i
}
