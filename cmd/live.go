package cmd

import (
	"io"
	"os"
	"sync"
	"time"
)

// A live line is the last line of a terminal while something runs: it says how far that is. Whatever is
// printed meanwhile goes through above, which erases it first. It is drawn again ten times a second at
// most, and only where nothing else is: at the start of a line, in the foreground.
//
// It is cut to the width that the terminal has now, so it takes one line. The cursor is never hidden, and
// no signal is caught for it: what ends sched properly erases it, and after kill -9 the prompt comes
// behind it.
type live struct {
	screen screen
	rest   time.Duration // how long nothing may have been printed before it is drawn

	mu      sync.Mutex
	text    func(width int) string // what to draw; nil while nothing runs
	over    chan struct{}          // closed when that has ended
	drawn   string                 // what stands there now
	inside  bool                   // what was printed last has not ended its line
	printed time.Time
}

// drawEvery is how often the line is looked at: what it says changes no faster.
const drawEvery = 100 * time.Millisecond

// newLive returns the live line of an app, through which all that it prints goes from now on until restore
// is called. It is nil unless stdout and stderr both are terminals that obey: what goes elsewhere may
// come to the same terminal by another way, as with `| tee`.
func (a *app) newLive(rest time.Duration) (l *live, restore func()) {
	out, errs := terminalOf(a.out), terminalOf(a.err)
	if out == nil || errs == nil || !look(a.out).escapes {
		return nil, func() {}
	}
	l = &live{screen: look(a.out), rest: rest}
	a.out, a.err = above{l, out}, above{l, errs}
	return l, func() {
		l.hide()
		a.out, a.err = out, errs
	}
}

// show draws text from now on, until hide. The first time is a moment later: what ends at once has no line.
func (l *live) show(text func(width int) string) {
	if l == nil {
		return
	}
	l.hide()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text, l.over = text, make(chan struct{})
	go l.redraw(l.over)
}

func (l *live) redraw(over chan struct{}) {
	ticker := time.NewTicker(drawEvery)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
			l.draw()
		}
	}
}

// hide erases the line.
func (l *live) hide() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text != nil {
		l.erase()
		close(l.over)
		l.text = nil
	}
}

func (l *live) draw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == nil || l.inside || time.Since(l.printed) < l.rest || !l.screen.ours() {
		return
	}
	width := l.screen.width()
	if width == 0 {
		width = 80
	}
	width -= len("^C") + 1 // which the terminal may add; a full line might already wrap
	if text := l.screen.cut(l.text(width), width); text != l.drawn {
		io.WriteString(l.screen.file, "\r"+text+"\x1b[K")
		l.drawn = text
	}
}

func (l *live) erase() {
	if l.drawn != "" && l.screen.ours() {
		io.WriteString(l.screen.file, "\r\x1b[K")
	}
	l.drawn = ""
}

// endLine ends a line that what was printed has left open.
func (l *live) endLine() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside {
		io.WriteString(l.screen.file, "\n")
		l.inside = false
	}
}

// above is a stream to a terminal that has a live line.
type above struct {
	*live
	file *os.File
}

func (a above) Write(text []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.erase()
	n, err := a.file.Write(text)
	if n > 0 {
		a.inside, a.printed = text[n-1] != '\n', time.Now()
	}
	return n, err
}
