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
	"slices"
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
const HeatLevels = 4

// Heat returns blue tones, which judge nothing: from level 1, pale, to HeatLevels, strong.
func Heat(level int) Tone {
	shades := [...]Tone{"", "48;5;153;38;5;16", "48;5;75;38;5;16", "48;5;26;38;5;231", "48;5;18;38;5;231"}
	return shades[max(0, min(level, HeatLevels))]
}

// A Table aligns cells in columns, Gap columns apart, when Flush writes it. On a narrow terminal
// columns shrink in the caller's order, then vanish, and later ones get back what is left. No
// library that we know has such an order.
type Table struct {
	out     Stream
	shrinks []Shrink
	rows    [][]string
}

// A Shrink says that a column may become as narrow as Least, or vanish if Least is 0.
type Shrink struct{ Column, Least int }

// Table returns an empty table. On a narrow terminal its columns shrink in this order, each as far
// as it may before the next one. If that is not enough, lines are cut. Without shrinks, and in a
// pipe, nothing is cut.
func (s Stream) Table(shrinks ...Shrink) *Table { return &Table{out: s, shrinks: shrinks} }

// Head adds a row with the names of the columns.
func (t *Table) Head(names ...string) {
	row := make([]string, len(names))
	for i, name := range names {
		row[i] = t.out.Paint(Faint, name)
	}
	t.Row(row...)
}

// Row adds a row. All rows of a table have the same number of cells; a cell is one line, and may
// have colours.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Flush writes the table at once, and empties it.
func (t *Table) Flush() error {
	limit := 0
	if len(t.shrinks) > 0 {
		limit = t.out.Width()
	}
	text := t.layOut(limit)
	t.rows = nil
	_, err := io.WriteString(t.out, text)
	return err
}

func (t *Table) layOut(limit int) string {
	widths := fit(widest(t.rows), t.shrinks, limit)
	var text strings.Builder
	for _, row := range t.rows {
		text.WriteString(t.line(row, widths, limit) + "\n")
	}
	return text.String()
}

// line is one row of the table. In a pipe each column has its place in each line, and blanks at the
// end stay, because programs may count them. On a terminal a column without text takes no place,
// and there are no blanks at the end, because they might wrap.
func (t *Table) line(row []string, widths []int, limit int) string {
	line := ""
	for i, cell := range row {
		switch {
		case t.out.IsTerminal() && widths[i] == 0:
			continue
		case limit > 0:
			cell = t.out.Cut(cell, widths[i])
		}
		if i < len(row)-1 {
			cell = Pad(cell, widths[i]+Gap)
		}
		line += cell
	}
	if t.out.IsTerminal() {
		line = strings.TrimRight(line, " ")
	}
	if limit > 0 {
		line = t.out.Cut(line, limit)
	}
	return line
}

// widest returns the width of each column.
func widest(rows [][]string) (widths []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell))
		}
	}
	return widths
}

// fit makes columns narrower until a row has at most limit columns, if they can become that narrow.
// Each column shrinks as far as it may before the next one. If a column vanishes, the others get
// back the space that is left over.
func fit(widths []int, shrinks []Shrink, limit int) []int {
	if limit == 0 {
		return widths
	}
	natural := slices.Clone(widths)
	excess := -Gap - limit // behind the last column is no gap
	for _, w := range widths {
		if w > 0 {
			excess += w + Gap
		}
	}
	// 1. Columns shrink in their order while the row is too wide.
	for _, s := range shrinks {
		w := widths[s.Column]
		switch {
		case excess <= 0 || w == 0:
		case s.Least == 0:
			widths[s.Column] = 0
			excess -= w + Gap
		case w > s.Least:
			widths[s.Column] = max(s.Least, w-excess)
			excess -= w - widths[s.Column]
		}
	}
	// 2. If a column vanished, the other ones get back what is left over.
	for _, s := range shrinks {
		if w := widths[s.Column]; excess < 0 && w > 0 {
			widths[s.Column] = min(natural[s.Column], w-excess)
			excess += widths[s.Column] - w
		}
	}
	return widths
}
