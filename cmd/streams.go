package cmd

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/statedir"
	"sched/schedule/view"
)

func (c *console) stdout() terminal.Stream { return terminal.Of(c.out, os.Getenv) }

func (c *console) stderr() terminal.Stream { return terminal.Of(c.err, os.Getenv) }

// An output is where results go. It remembers the first error of a write. Safe for concurrent use
// as far as its Writer is.
type output struct {
	io.Writer
	failed atomic.Pointer[error]
}

func (o *output) Write(text []byte) (int, error) {
	n, err := o.Writer.Write(text)
	if err != nil {
		o.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// firstError is nil when all was written, and for a nil output.
func (o *output) firstError() error {
	if o == nil || o.failed.Load() == nil {
		return nil
	}
	return *o.failed.Load()
}

func (o *output) File() *os.File { return terminal.File(o.Writer) }

// exitOfResults prints that results could not be written, and returns the exit code of sched, which
// is no success then. A reader of a tick's report that went away is no failure: the tasks ran.
func (c *console) exitOfResults(code int) int {
	failed := c.results.firstError()
	if failed == nil || errors.Is(failed, syscall.EPIPE) {
		return code
	}
	c.problem("what was to be printed is lost: %v", humanize.WithoutPath(failed))
	return max(code, exitFailed)
}

// liveLine puts a live line below all that the app writes from now on, until restore is called. The
// line is nil if none can be shown. It is drawn when nothing was written for as long as rest.
func (c *console) liveLine(rest time.Duration) (line *terminal.LiveLine, restore func()) {
	out, errs := c.out, c.err
	line, c.out, c.err = terminal.NewLiveLine(c.stdout(), c.stderr(), rest)
	return line, func() {
		line.Hide()
		c.out, c.err = out, errs
	}
}

// printJSON indents for people. exitOfResults reports its write errors.
func (c *console) printJSON(v any) error {
	text, err := view.JSON(v)
	if err == nil {
		c.out.Write(text)
	}
	return err
}

func (c *console) clock(t time.Time, zone *time.Location) string {
	return humanize.MinuteNear(t, c.now(), zone)
}

// ago is 0 for a time in the future: the clock of another server may be ahead.
func (c *console) ago(t time.Time) string { return humanize.Duration(max(0, c.now().Sub(t))) }

func (c *console) printDiff(lines []string) {
	out := c.stderr()
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "+"):
			line = out.Paint(terminal.Good, line)
		case strings.HasPrefix(line, "-"):
			line = out.Paint(terminal.Bad, line)
		}
		fmt.Fprintf(c.err, "%s\n", line)
	}
}

// printCSV prints rows, a slice of the structs that --json prints, under a header line of the same
// names (RFC 4180). exitOfResults reports its write errors. A null of --json is an empty cell here,
// and a list is joined with "; ".
func (c *console) printCSV(rows any) error {
	w := csv.NewWriter(c.out)
	w.UseCRLF = true
	all := reflect.ValueOf(rows)
	kind := all.Type().Elem()
	var header []string
	var columns []int
	for i := range kind.NumField() {
		if name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			header, columns = append(header, name), append(columns, i)
		}
	}
	w.Write(header) // the writer keeps its first error until the end
	for i := range all.Len() {
		var cells []string
		for _, j := range columns {
			cells = append(cells, cell(all.Index(i).Field(j)))
		}
		w.Write(cells)
	}
	w.Flush()
	return nil
}

func cell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return cell(v.Elem())
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case reflect.Map:
		values, _ := v.Interface().(map[string]string)
		return cell(reflect.ValueOf(schedule.Pairs(values)))
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, cell(v.Index(i)))
		}
		return strings.Join(parts, "; ")
	}
	return fmt.Sprint(v.Interface())
}

// Only tests set these limits (cmd/testclock.go).
var (
	mostPrinted   = 1 << 20         // bytes that wait; above it further output is dropped
	printPatience = 5 * time.Second // at the end of sched, for a reader that takes nothing meanwhile
)

// printHurry is how long a caller waits for its text to be written, so that a kill right after it
// loses nothing. It does not wait while the reader is slow.
const printHurry = 100 * time.Millisecond

// printChunk is what a printer writes at a time: the most that comes out of a pipe in one piece
// (PIPE_BUF on Linux).
const printChunk = 4096

// A printer writes to one file in a goroutine of its own: a reader that hangs does not stop the
// callers, which may hold locks. Safe for concurrent use.
type printer struct {
	moved chan struct{} // has an element when some of what waits was written

	mu      sync.Mutex
	waiting []printed
	size    int  // bytes of what waits
	writing bool // the goroutine runs
	slow    bool // its reader has let somebody wait for printHurry, and something waits since
	stuck   bool // its reader took nothing at the end: nothing more is printed
	dropped int  // lines
}

// A printed text goes to one of the streams of a file.
type printed struct {
	to      io.Writer
	text    []byte
	written chan struct{} // closed when it is
}

// printAside makes all that is printed from now on wait in printers, until endPrinting. If stdout
// and stderr are the same file, they share one printer, so that lines keep their order.
func (c *console) printAside() {
	out := &printer{moved: make(chan struct{}, 1)}
	c.printers = []*printer{out}
	errs := out
	if !statedir.SameFile(terminal.File(c.out), terminal.File(c.err)) {
		errs = &printer{moved: make(chan struct{}, 1)}
		c.printers = append(c.printers, errs)
	}
	c.out, c.err = printerStream{out, c.out}, printerStream{errs, c.err}
}

// endPrinting waits for the printers, says what was lost, and returns the exit code of sched.
func (c *console) endPrinting(code int) int {
	var lost int
	for _, p := range c.printers {
		lost += p.drain()
	}
	if lost > 0 {
		c.problem("%s of this report are lost: nobody read them", humanize.Count(lost, "line"))
	}
	code = c.exitOfResults(code)
	for _, p := range c.printers {
		p.drain()
	}
	return code
}

type printerStream struct {
	printer *printer
	to      io.Writer
}

func (s printerStream) File() *os.File { return terminal.File(s.to) }

// Write waits for printHurry at most, and never fails: the output to which the printer writes
// remembers errors.
func (s printerStream) Write(text []byte) (int, error) {
	written := s.printer.print(s.to, text)
	if written == nil {
		return len(text), nil
	}
	select {
	case <-written:
	case <-time.After(printHurry):
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
	if p.stuck || p.size >= mostPrinted {
		p.dropped += bytes.Count(text, []byte("\n"))
		return nil
	}
	item := printed{to, bytes.Clone(text), make(chan struct{})}
	p.waiting, p.size = append(p.waiting, item), p.size+len(text)
	if !p.writing {
		p.writing = true
		go p.write()
	}
	if p.slow {
		return nil
	}
	return item.written
}

func (p *printer) write() {
	for {
		p.mu.Lock()
		if len(p.waiting) == 0 {
			p.writing = false
			p.mu.Unlock()
			return
		}
		to, text := p.waiting[0].to, p.waiting[0].text
		p.mu.Unlock()

		chunk := text[:min(len(text), printChunk)]
		to.Write(chunk)

		p.mu.Lock()
		p.size -= len(chunk)
		if p.waiting[0].text = text[len(chunk):]; len(chunk) == len(text) {
			close(p.waiting[0].written)
			p.waiting = p.waiting[1:]
			p.slow = p.slow && len(p.waiting) > 0
		}
		p.mu.Unlock()
		select {
		case p.moved <- struct{}{}:
		default:
		}
	}
}

// drain waits until all is written, or nothing was for printPatience. It counts lost lines.
func (p *printer) drain() (lost int) {
	for p.open() {
		select {
		case <-p.moved:
		case <-time.After(printPatience):
			p.mu.Lock()
			p.stuck = true
			p.mu.Unlock()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	lost = p.dropped
	for _, item := range p.waiting {
		lost += bytes.Count(item.text, []byte("\n"))
	}
	return lost
}

func (p *printer) open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size > 0 && !p.stuck
}
