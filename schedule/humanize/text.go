// Package humanize writes times, durations, counts and foreign text for people, each in one way.
//
// All functions are pure and safe for concurrent use: no function reads a clock, the environment or
// the locale. Times are written in the zone that the caller names. Package cmd/terminal handles
// terminals.
package humanize

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Count writes a number with its noun, which takes an s in the plural: "1 slot", "0 slots", "12
// slots".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Names lists the first names: "a, b, c and 4 more".
func Names(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// ShellWord writes a text as one word for a POSIX shell: in quotes if it needs them.
func ShellWord(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:@%="
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Pattern returns a regular expression that is compiled at its first use: a tick starts each
// minute, and needs few.
func Pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// Bytes writes a size of memory or of a file in units of 1,024 (IEC 80000-13): "512 KiB", "41 MiB",
// "1.5 GiB".
func Bytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
}

// ShortRun is the last 12 characters of a run's id, which people see and commands accept. They
// differ between runs of the same second. A text that is no id stays as it is.
func ShortRun(id string) string {
	const long, short = 36, 12
	if len(id) != long {
		return id
	}
	return id[long-short:]
}

// WithoutPath returns err without its path, for a message that has the path already.
func WithoutPath(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}

// Nearest returns the known word nearest to word, or "". It ignores case and takes "-" for "_".
func Nearest(word string, known []string) string {
	word = strings.ReplaceAll(strings.ToLower(word), "-", "_")
	best, nearest := 1+min(len(word)/3, 3), ""
	for _, k := range known {
		if k == word {
			return k
		}
		if d := Distance(word, k, best); d < best {
			best, nearest = d, k
		}
	}
	return nearest
}

// Distance returns how many letters must be added, left out, changed or swapped with the next one
// to turn a into b (Damerau's distance). If the lengths of a and b differ by at least enough, it
// returns enough.
func Distance(a, b string, enough int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= enough {
		return enough
	}
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

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
