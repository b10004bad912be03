// Package terminal is how text looks on a terminal and in a pipe: colours, marks, widths, tables, and a line that
// changes while something runs.
//
// It knows text, tones and streams, and nothing of tasks or runs: which tone an outcome has, and which words describe
// it, is for cmd. It reads the environment through the function that it is given, and writes only to the streams that
// it is given. What comes from elsewhere must be made one harmless line before it is written (text.Line): here
// text may have colours.
//
// The rules of what is coloured, cut or drawn:
//
//   - Only on a terminal. Anything else gets plain text: scripts rely on it, and cron mails it.
//   - stdout and stderr are judged each for itself.
//   - No colour where NO_COLOR is not empty (no-color.org). No escape sequence at all where TERM is dumb or missing.
//   - A tone means the same everywhere, and says nothing that no word says.
//   - Marks beyond ASCII only where the locale is UTF-8.
package terminal

import (
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// A Stream is where text is written to, and what can be shown there. The zero value, without a Writer, is for layouts
// alone: it shows plain ASCII.
type Stream struct {
	io.Writer
	terminal *os.File // nil where there is none
	escapes  bool     // the terminal obeys escape sequences
	colour   bool
	utf8     bool
}

// Of finds out what can be shown on a stream now. The environment, as os.Getenv returns it, tells what the terminal
// and its person want: TERM, NO_COLOR and the locale.
func Of(w io.Writer, getenv func(string) string) Stream {
	file := fileOf(w)
	if file == nil {
		return Stream{Writer: w}
	}
	name := getenv("TERM")
	escapes := name != "" && name != "dumb"
	return Stream{w, file, escapes, escapes && getenv("NO_COLOR") == "", utf8Locale(getenv)}
}

// Is reports whether a stream, of input or output, is a terminal.
func Is(stream any) bool { return fileOf(stream) != nil }

// File returns the file that a stream writes to or reads from, also through a wrapper that has a method File; nil where
// there is none.
func File(stream any) *os.File {
	if wrapper, ok := stream.(interface{ File() *os.File }); ok {
		return wrapper.File()
	}
	file, _ := stream.(*os.File)
	return file
}

// fileOf returns the terminal that a stream is; nil where it is none.
func fileOf(stream any) *os.File {
	if file := File(stream); file != nil && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

// utf8Locale reports whether the locale's characters are UTF-8; the first of the variables that is not
// empty decides (POSIX, 8.2).
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

// Width is how many columns the terminal has at this moment: people resize it. It is 0 for a terminal that does not
// know, and for a stream that is none.
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

// foreground reports whether the terminal belongs to this process, and not to the shell that sent it to the
// background and prompts for the next command. Where the terminal does not tell, it does.
//
// This asks the kernel directly (tcgetpgrp(3)): x/term, which answers everything else, has no call for it.
func (s Stream) foreground() bool {
	group, err := unix.IoctlGetInt(int(s.terminal.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
