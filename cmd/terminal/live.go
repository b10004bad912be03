package terminal

import (
	"io"
	"os"
	"sync"
	"time"
)

// A LiveLine is the last line of a terminal while something runs. Writes to the streams of
// NewLiveLine erase it first, so they come before it. It is drawn ten times a second at most, at
// the start of a line, in the foreground, and cut to the terminal's width at that moment. The
// cursor stays visible and no signal is caught: after kill -9 the prompt comes behind the line. All
// methods are safe for concurrent use, and do nothing for nil.
type LiveLine struct {
	stream   Stream
	quietFor time.Duration

	mu      sync.Mutex
	text    func(width int) string // nil while nothing is shown
	stopped chan struct{}          // closed when text is not shown any more
	drawn   string                 // on the terminal now
	midLine bool                   // the last write did not end its line
	written time.Time
}

const drawEvery = 100 * time.Millisecond

// NewLiveLine returns a live line, and the streams to use in place of out and errs. The line
// is drawn when nothing was written to them for the time quietFor. The line is nil, and the streams
// are the same, unless both are terminals with escape sequences: `| tee` may write to one of them.
func NewLiveLine(out, errs Stream, quietFor time.Duration) (l *LiveLine, toOut, toErrs io.Writer) {
	if !out.IsTerminal() || !errs.IsTerminal() || !out.escapes {
		return nil, out.Writer, errs.Writer
	}
	l = &LiveLine{stream: out, quietFor: quietFor}
	return l, liveWriter{line: l, to: out}, liveWriter{line: l, to: errs}
}

// Show draws text from now on, until Hide. The first time is a moment later, so something that ends
// at once has no line. The function gets the available width, and is not called again after Hide
// has returned.
func (l *LiveLine) Show(text func(width int) string) {
	if l == nil {
		return
	}
	l.Hide()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text, l.stopped = text, make(chan struct{})
	go l.redraw(l.stopped)
}

func (l *LiveLine) redraw(stopped chan struct{}) {
	ticker := time.NewTicker(drawEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stopped:
			return
		case <-ticker.C:
			l.draw()
		}
	}
}

// Hide erases the line.
func (l *LiveLine) Hide() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text != nil {
		l.erase()
		close(l.stopped)
		l.text = nil
	}
}

func (l *LiveLine) draw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == nil || l.midLine || time.Since(l.written) < l.quietFor || !l.stream.foreground() {
		return
	}
	width := l.stream.Width()
	if width == 0 {
		width = 80
	}
	width -= len("^C") + 1 // the terminal may add ^C, and a full line might already wrap
	if text := l.stream.Cut(l.text(width), width); text != l.drawn {
		io.WriteString(l.stream, "\r"+text+"\x1b[K")
		l.drawn = text
	}
}

func (l *LiveLine) erase() {
	if l.drawn != "" && l.stream.foreground() {
		io.WriteString(l.stream, "\r\x1b[K")
	}
	l.drawn = ""
}

// EndLine ends the line that was written last, if it was left open.
func (l *LiveLine) EndLine() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.midLine {
		io.WriteString(l.stream, "\n")
		l.midLine = false
	}
}

// A liveWriter erases the live line before it writes.
type liveWriter struct {
	line *LiveLine
	to   Stream
}

func (w liveWriter) File() *os.File { return w.to.terminal }

func (w liveWriter) Write(text []byte) (int, error) {
	l := w.line
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	n, err := w.to.Write(text)
	if n > 0 {
		l.midLine, l.written = text[n-1] != '\n', time.Now()
	}
	return n, err
}
