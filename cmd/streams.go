package cmd

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"sched/cmd/terminal"
	"sched/schedule/humanize"
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
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, cell(v.Index(i)))
		}
		return strings.Join(parts, "; ")
	}
	return fmt.Sprint(v.Interface())
}
