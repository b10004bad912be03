package console

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"sched/cmd/terminal"
	"sched/schedule/humanize"
)

// A resultWriter writes what a command prints to stdout, and remembers the first error. It is safe
// for concurrent use as far as its Writer is.
type resultWriter struct {
	io.Writer
	failed atomic.Pointer[error]
}

func (w *resultWriter) Write(text []byte) (int, error) {
	n, err := w.Writer.Write(text)
	if err != nil {
		w.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// firstError is nil when all was written, and for a nil resultWriter.
func (w *resultWriter) firstError() error {
	if w == nil || w.failed.Load() == nil {
		return nil
	}
	return *w.failed.Load()
}

func (w *resultWriter) File() *os.File { return terminal.File(w.Writer) }

// Harmless returns w or, if that is a terminal, a writer to it that cleans what it writes: a
// terminal obeys control characters.
func Harmless(w io.Writer, clean func(text string) string) io.Writer {
	if !terminal.Is(w) {
		return w
	}
	return &harmlessWriter{to: w, clean: clean}
}

type harmlessWriter struct {
	to    io.Writer
	clean func(text string) string
	rest  []byte // the beginning of a character whose end was not written yet
}

func (w *harmlessWriter) Write(text []byte) (int, error) {
	all := append(w.rest, text...)
	whole := len(all)
	for back := 1; back < utf8.UTFMax && back <= len(all); back++ {
		if start := len(all) - back; utf8.RuneStart(all[start]) && !utf8.FullRune(all[start:]) {
			whole = start
		}
	}
	w.rest = bytes.Clone(all[whole:])
	_, err := io.WriteString(w.to, w.clean(string(all[:whole])))
	return len(text), err
}

func (w *harmlessWriter) File() *os.File { return terminal.File(w.to) }

var colour = humanize.Pattern("\x1b\\[[0-9;]*m")

// OnlyColours removes the control characters of a text (humanize.Plain) but for its colours.
func OnlyColours(text string) string {
	var b strings.Builder
	end := 0
	for _, at := range colour().FindAllStringIndex(text, -1) {
		b.WriteString(humanize.Plain(text[end:at[0]]) + text[at[0]:at[1]])
		end = at[1]
	}
	return b.String() + humanize.Plain(text[end:])
}
