package terminal

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Gap is how many columns of the terminal are between two of a table.
const Gap = 2

// measure knows how wide text is on a terminal, in which colours take no place.
var measure = displaywidth.Options{ControlSequences: true}

// Width is how many columns text takes: 0 for colours, 2 for East Asian characters and emoji.
func Width(text string) int { return measure.String(text) }

// Pad fills text with blanks up to n columns. Wider text stays as it is.
func Pad(text string, n int) string { return text + Blanks(n-Width(text)) }

// Blanks returns n blanks; none for a negative n.
func Blanks(n int) string { return strings.Repeat(" ", max(n, 0)) }

// Cut shortens text to n columns, the sign for what is missing included. It keeps what looks like
// one character whole, and lets colours end.
func (s Stream) Cut(text string, n int) string {
	switch {
	case n <= 0:
		return ""
	case s.utf8:
		return measure.TruncateString(text, n, "…")
	}
	return measure.TruncateString(text, n, "..."[:min(3, n)])
}
