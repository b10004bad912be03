package cmd

import (
	"encoding/csv"
	"encoding/json"
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
	"sched/schedule"
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

// codeAfterWriting returns the exit code of sched. If results could not be written, it says so, and
// the code is no success. A reader that went away is no failure: the tasks of a tick ran.
func (c *console) codeAfterWriting(code int) int {
	err := c.results.firstError()
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return code
	}
	c.problem("what was to be printed is lost: %v", humanize.WithoutPath(err))
	return max(code, exitFailed)
}

// liveLine puts a live line below all that the app writes from now on, until restore is called. The
// line is nil if none can be shown. It is drawn when nothing was written for as long as quietFor.
func (c *console) liveLine(quietFor time.Duration) (line *terminal.LiveLine, restore func()) {
	out, errs := c.out, c.err
	line, c.out, c.err = terminal.NewLiveLine(c.stdout(), c.stderr(), quietFor)
	return line, func() {
		line.Hide()
		c.out, c.err = out, errs
	}
}

// printJSON prints a value as indented JSON. codeAfterWriting reports errors of writing.
func (c *console) printJSON(v any) error {
	text, err := view.JSON(v)
	if err == nil {
		c.out.Write(text)
	}
	return err
}

// printJSONLine prints a value in one line.
func printJSONLine(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// minuteText writes a time to the minute with its zone, and with its date unless that is today.
func (c *console) minuteText(t time.Time, zone *time.Location) string {
	return humanize.MinuteNear(t, c.now(), zone)
}

// ago writes how long ago a time was. It is 0 for a time in the future: the clock of another server
// may be ahead.
func (c *console) ago(t time.Time) string { return humanize.Duration(max(0, c.now().Sub(t))) }

// printDiff prints lines of a diff to stderr, in colours on a terminal.
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
// names (RFC 4180). A null of --json is an empty cell here, and a list is joined with "; ".
// codeAfterWriting reports errors of writing.
func (c *console) printCSV(rows any) error {
	w := csv.NewWriter(c.out)
	w.UseCRLF = true
	list := reflect.ValueOf(rows)
	rowType := list.Type().Elem()
	var header []string
	var fields []int // the field of the row for each column
	for i := range rowType.NumField() {
		if name, _, _ := strings.Cut(rowType.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			header, fields = append(header, name), append(fields, i)
		}
	}
	w.Write(header) // the output remembers an error
	for i := range list.Len() {
		var cells []string
		for _, field := range fields {
			cells = append(cells, cell(list.Index(i).Field(field)))
		}
		w.Write(cells)
	}
	w.Flush()
	return nil
}

// cell writes a value as one cell of CSV.
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
