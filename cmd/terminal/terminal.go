// Package terminal is how text looks on a terminal and in a pipe: colours, marks, widths, tables,
// and a live line. It knows nothing of tasks or runs. It reads the environment through a given
// function, and writes only to given streams. Text from elsewhere must be made one harmless line
// before (humanize.Line): here text may have colours.
//
// The rules of what is coloured, cut or drawn:
//
//   - Only on a terminal. Anything else gets plain text: scripts rely on it, and cron mails it.
//   - stdout and stderr are judged separately.
//   - No colour if NO_COLOR is not empty (no-color.org). No escape sequence at all if TERM is
//     dumb or missing.
//   - A tone means the same everywhere, and says nothing that no word says.
//   - Marks beyond ASCII only if the locale is UTF-8.
package terminal

import (
	"io"
	"os"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// A Stream is where text is written to, and what can be shown there. The zero value, without a
// Writer, is for layouts alone: it shows plain ASCII.
type Stream struct {
	io.Writer
	terminal *os.File // nil if the stream is no terminal
	escapes  bool     // the terminal obeys escape sequences
	colour   bool
	utf8     bool
}

// Of finds out what can be shown on a stream now, from TERM, NO_COLOR and the locale.
func Of(w io.Writer, getenv func(string) string) Stream {
	file := terminalOf(w)
	if file == nil {
		return Stream{Writer: w}
	}
	name := getenv("TERM")
	escapes := name != "" && name != "dumb"
	return Stream{
		Writer:   w,
		terminal: file,
		escapes:  escapes,
		colour:   escapes && getenv("NO_COLOR") == "",
		utf8:     utf8Locale(getenv),
	}
}

// Is reports whether a stream, of input or output, is a terminal.
func Is(stream any) bool { return terminalOf(stream) != nil }

// File returns the file of a stream or of a wrapper with a method File; nil for none.
func File(stream any) *os.File {
	if wrapper, ok := stream.(interface{ File() *os.File }); ok {
		return wrapper.File()
	}
	file, _ := stream.(*os.File)
	return file
}

// terminalOf returns the terminal of a stream; nil if the stream is no terminal.
func terminalOf(stream any) *os.File {
	if file := File(stream); file != nil && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

// utf8Locale reports whether the first locale variable that is not empty names UTF-8 (POSIX, 8.2).
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return false
}

// IsTerminal reports whether the stream is a terminal.
func (s Stream) IsTerminal() bool { return s.terminal != nil }

// Width is the terminal's width in columns at this moment; 0 if unknown or not a terminal.
func (s Stream) Width() int {
	if !s.IsTerminal() {
		return 0
	}
	width, _, err := term.GetSize(int(s.terminal.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// foreground reports whether the terminal belongs to this process, and not to a shell that sent it
// to the background; true if the terminal does not tell. x/term has no call for it (tcgetpgrp(3)).
func (s Stream) foreground() bool {
	group, err := unix.IoctlGetInt(int(s.terminal.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// Gap is how many columns of the terminal are between two columns of a table.
const Gap = 2

// measure knows how wide text is on a terminal, in which colours take no place.
var measure = displaywidth.Options{ControlSequences: true}

// Width is how many columns text takes: 0 for colours, 2 for East Asian characters and emoji.
func Width(text string) int { return measure.String(text) }

// Pad fills text with blanks up to n columns. Wider text stays as it is.
func Pad(text string, n int) string { return text + Blanks(n-Width(text)) }

// Blanks returns n blanks; none for a negative n.
func Blanks(n int) string { return strings.Repeat(" ", max(n, 0)) }

// Cut shortens text to n columns, including the sign for the missing text. It keeps a character of
// several code points whole, and ends colours.
func (s Stream) Cut(text string, n int) string {
	switch {
	case n <= 0:
		return ""
	case s.utf8:
		return measure.TruncateString(text, n, "…")
	}
	return measure.TruncateString(text, n, "..."[:min(3, n)])
}

// A Tone is the meaning of a colour (ECMA-48, SGR). Plain text has the empty tone.
type Tone string

const (
	Good    Tone = "32" // green: it is as it should be
	Bad     Tone = "31" // red: it failed
	Caution Tone = "33" // yellow: it is not as one may expect
	Active  Tone = "36" // cyan: it goes on now
	Faint   Tone = "2"  // beside the point
)

// Paint gives text the colour of a tone if the stream shows colours.
func (s Stream) Paint(tone Tone, text string) string {
	if !s.colour || tone == "" || text == "" {
		return text
	}
	return "\x1b[" + string(tone) + "m" + text + "\x1b[0m"
}

// Mark is the sign in front of a line with that tone, painted, one column wide.
func (s Stream) Mark(tone Tone) string {
	sign, ascii := "…", ">"
	switch tone {
	case Good:
		sign, ascii = "✓", "+"
	case Bad:
		sign, ascii = "✗", "x"
	case Caution:
		sign, ascii = "–", "-"
	}
	if !s.utf8 {
		sign = ascii
	}
	return s.Paint(tone, sign)
}

// BarWidth is how many columns a bar takes.
const BarWidth = 20

// Bar shows which part of 1 is over. It can be read without colours, too.
func (s Stream) Bar(part float64) string {
	full, empty := "#", "-"
	if s.utf8 {
		full, empty = "━", "─"
	}
	n := min(int(part*BarWidth), BarWidth)
	return s.Paint(Active, strings.Repeat(full, n)) + s.Paint(Faint, strings.Repeat(empty, BarWidth-n))
}

// HeatLevels is how many shades Heat has.
const heatLevels = 4

// Heat returns blue tones, which judge nothing: from level 1, pale, to HeatLevels, strong.
func Heat(level int) Tone {
	shades := [...]Tone{"", "48;5;153;38;5;16", "48;5;75;38;5;16", "48;5;26;38;5;231", "48;5;18;38;5;231"}
	return shades[max(0, min(level, heatLevels))]
}
