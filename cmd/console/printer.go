package console

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sched/cmd/terminal"
)

// copyOf duplicates the descriptor of a writer. It returns the same writer if there is no room.
func copyOf(w io.Writer) io.Writer {
	file, ok := w.(*os.File)
	if !ok {
		return w
	}
	copied, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return w
	}
	return os.NewFile(uintptr(copied), file.Name())
}

const (
	// maxQueued is how many bytes wait for a reader. Further output is dropped.
	maxQueued = 1 << 20

	// DrainWait is how long sched waits at its end for a reader that takes nothing.
	DrainWait = 5 * time.Second

	// WriteWait is how long a caller waits for its text to be written, so that a kill right after
	// it loses nothing. Callers do not wait while the reader is slow.
	WriteWait = 100 * time.Millisecond

	// printChunk is what a printer writes at a time: the most that comes out of a pipe in one piece
	// (PIPE_BUF on Linux).
	printChunk = 4096
)

// A printer writes to one file in a goroutine of its own: a reader that hangs does not stop the
// callers, which may hold locks. Safe for concurrent use.
type printer struct {
	progress chan struct{} // has an element after a chunk was written

	mu      sync.Mutex
	queue   []queuedText
	size    int  // bytes in the queue
	writing bool // the goroutine runs
	slow    bool // a caller waited in vain; false again when the queue is empty
	stuck   bool // the reader took nothing at the end: nothing more is printed
	dropped int  // lines
}

func newPrinter() *printer { return &printer{progress: make(chan struct{}, 1)} }

// A queuedText waits to be written to one of the streams of a printer's file.
type queuedText struct {
	to      io.Writer
	text    []byte
	written chan struct{} // closed when all of the text is written
}

// A printerStream is an output that goes through a printer.
type printerStream struct {
	printer *printer
	to      io.Writer
}

func (s printerStream) File() *os.File { return terminal.File(s.to) }

// Write waits for WriteWait at most. It never fails, because the output to which the printer writes
// remembers errors.
func (s printerStream) Write(text []byte) (int, error) {
	written := s.printer.print(s.to, text)
	if written == nil {
		return len(text), nil
	}
	select {
	case <-written:
	case <-time.After(WriteWait):
		s.printer.mu.Lock()
		s.printer.slow = s.printer.size > 0
		s.printer.mu.Unlock()
	}
	return len(text), nil
}

// print returns a channel that is closed when the text was written; nil if nobody should wait.
func (p *printer) print(to io.Writer, text []byte) (written <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stuck || p.size >= maxQueued {
		p.dropped += bytes.Count(text, []byte("\n"))
		return nil
	}
	queued := queuedText{to: to, text: bytes.Clone(text), written: make(chan struct{})}
	p.queue, p.size = append(p.queue, queued), p.size+len(text)
	if !p.writing {
		p.writing = true
		go p.write()
	}
	if p.slow {
		return nil
	}
	return queued.written
}

// write writes the queue, a chunk at a time, until the queue is empty.
func (p *printer) write() {
	for {
		p.mu.Lock()
		if len(p.queue) == 0 {
			p.writing = false
			p.mu.Unlock()
			return
		}
		to, text := p.queue[0].to, p.queue[0].text
		p.mu.Unlock()

		chunk := text[:min(len(text), printChunk)]
		to.Write(chunk) // meanwhile callers may print

		p.mu.Lock()
		p.size -= len(chunk)
		p.queue[0].text = text[len(chunk):]
		if len(chunk) == len(text) {
			close(p.queue[0].written)
			p.queue = p.queue[1:]
			p.slow = p.slow && len(p.queue) > 0
		}
		p.mu.Unlock()
		select {
		case p.progress <- struct{}{}:
		default:
		}
	}
}

// drain waits until everything is written, or until nothing has been written for DrainWait. It
// returns how many lines are lost.
func (p *printer) drain() (lost int) {
	for p.unfinished() {
		select {
		case <-p.progress:
		case <-time.After(DrainWait):
			p.mu.Lock()
			p.stuck = true
			p.mu.Unlock()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	lost = p.dropped
	for _, unwritten := range p.queue {
		lost += bytes.Count(unwritten.text, []byte("\n"))
	}
	return lost
}

func (p *printer) unfinished() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size > 0 && !p.stuck
}
