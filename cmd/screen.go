package cmd

import (
	"io"
	"os"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/mattn/go-isatty"
	"golang.org/x/sys/unix"

	"sched/schedule/outcome"
)

// The rules of what is coloured, cut or drawn:
//
//   - Only on a terminal. Anything else gets plain text: scripts rely on it, and cron mails it.
//   - stdout and stderr are judged each for itself.
//   - No colour where NO_COLOR is not empty (no-color.org). No escape sequence at all where TERM is dumb or missing.
//   - A tone means the same everywhere, and says nothing that no word says.
//   - Marks beyond ASCII only where the locale is UTF-8.

// A tone is what a colour means (ECMA-48, SGR).
type tone string

const (
	good  tone = "32" // green: it succeeded
	bad   tone = "31" // red: it failed, timed out, was lost
	wary  tone = "33" // yellow: it did not run, or was stopped
	busy  tone = "36" // cyan: it runs
	faint tone = "2"  // beside the point
)

func toneOf(o outcome.Outcome) tone {
	switch o {
	case outcome.Succeeded:
		return good
	case outcome.Failed, outcome.TimedOut, outcome.Lost:
		return bad
	case outcome.Stopped, outcome.Skipped, outcome.Missed:
		return wary
	}
	return ""
}

// A screen is the terminal behind a stream, and what it can show. It is empty where there is none.
type screen struct {
	file    *os.File
	escapes bool // it obeys escape sequences
	colour  bool
	utf8    bool
}

// look finds the terminal behind a stream.
func look(w io.Writer) screen {
	file := terminalOf(w)
	if file == nil {
		return screen{}
	}
	term := os.Getenv("TERM")
	escapes := term != "" && term != "dumb"
	return screen{file, escapes, escapes && os.Getenv("NO_COLOR") == "", utf8Locale()}
}

// terminal reports whether people look at a stream.
func terminal(stream any) bool { return terminalOf(stream) != nil }

func terminalOf(stream any) *os.File {
	if above, ok := stream.(above); ok {
		stream = above.file
	}
	if file, ok := stream.(*os.File); ok && isatty.IsTerminal(file.Fd()) {
		return file
	}
	return nil
}

// utf8Locale reports whether the locale's characters are UTF-8; the first of the variables that is not
// empty decides (POSIX, 8.2).
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(os.Getenv(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return false
}

func (s screen) there() bool { return s.file != nil }

// width is how many columns the terminal has at this moment: people resize it. It is 0 for one that does
// not tell.
func (s screen) width() int {
	if !s.there() {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(s.file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// ours reports whether the terminal listens to this process, and not to the shell that sent it to the
// background.
func (s screen) ours() bool {
	group, err := unix.IoctlGetInt(int(s.file.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// paint gives text the colour of a tone, where there are colours.
func (s screen) paint(t tone, text string) string {
	if !s.colour || t == "" || text == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// paint is screen.paint for a stream.
func paint(w io.Writer, t tone, text string) string { return look(w).paint(t, text) }

// mark is the sign in front of a line whose tone is t, one column wide.
func (s screen) mark(t tone) string {
	sign, ascii := "…", ">"
	switch t {
	case good:
		sign, ascii = "✓", "+"
	case bad:
		sign, ascii = "✗", "x"
	case wary:
		sign, ascii = "–", "-"
	}
	if !s.utf8 {
		sign = ascii
	}
	return s.paint(t, sign)
}

// measure knows how wide text is on a terminal, in which colours take no place.
var measure = displaywidth.Options{ControlSequences: true}

// cut shortens text to n columns.
func (s screen) cut(text string, n int) string {
	switch {
	case n <= 0:
		return ""
	case s.utf8:
		return measure.TruncateString(text, n, "…")
	}
	return measure.TruncateString(text, n, "..."[:min(3, n)])
}

// pad fills text up to n columns.
func pad(text string, n int) string { return text + blanks(n-measure.String(text)) }

func blanks(n int) string { return strings.Repeat(" ", max(n, 0)) }
