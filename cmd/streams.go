package cmd

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

// This file has the standard streams, and the forms of output that several commands share.

func (c *console) stdout() terminal.Stream { return terminal.Of(c.out, os.Getenv) }

func (c *console) stderr() terminal.Stream { return terminal.Of(c.err, os.Getenv) }

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

// codeAfterWriting returns the exit code of sched from the exit code of its command. If results
// could not be written, it says so, and the code is no success. A reader that went away is no
// failure: the tasks of a tick ran.
func (c *console) codeAfterWriting(code int) int {
	err := c.results.firstError()
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return code
	}
	c.warn("what was to be printed is lost: %v", humanize.WithoutPath(err))
	return max(code, exitFailed)
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

// printCSV prints rows, a slice of the structs that --json prints, under a header line of the same
// names (RFC 4180). A null of --json is an empty cell here, and a list is joined with "; ".
// codeAfterWriting reports errors of writing.
func (c *console) printCSV(rows any) {
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
			cells = append(cells, csvCell(list.Index(i).Field(field)))
		}
		w.Write(cells)
	}
	w.Flush()
}

// csvCell returns a value as one cell of CSV.
func csvCell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return csvCell(v.Elem())
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case reflect.Map:
		values, _ := v.Interface().(map[string]string)
		return csvCell(reflect.ValueOf(schedule.Pairs(values)))
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, csvCell(v.Index(i)))
		}
		return strings.Join(parts, "; ")
	}
	return fmt.Sprint(v.Interface())
}

// printDiff prints lines of a diff to stderr, in colours on a terminal.
func (c *console) printDiff(lines []string) {
	errs := c.stderr()
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "+"):
			line = errs.Paint(terminal.Good, line)
		case strings.HasPrefix(line, "-"):
			line = errs.Paint(terminal.Bad, line)
		}
		fmt.Fprintln(c.err, line)
	}
}

// toneOf returns the colour of an outcome; "" for a run that has not ended.
func toneOf(r state.Result) terminal.Tone {
	if r.Warned() {
		return terminal.Caution
	}
	switch r.Outcome {
	case outcome.Succeeded:
		return terminal.Good
	case outcome.Failed, outcome.TimedOut, outcome.Lost:
		return terminal.Bad
	case outcome.Stopped, outcome.Skipped, outcome.Missed:
		return terminal.Caution
	}
	return ""
}

// minuteText returns a time to the minute with its zone, and with its date unless that is today.
func (c *console) minuteText(t time.Time, zone *time.Location) string {
	return humanize.MinuteNearZone(t, c.now(), zone)
}

// ago returns how long ago a time was, in words. It is 0 for a time in the future: the clock of
// another server may be ahead.
func (c *console) ago(t time.Time) string { return humanize.Age(t, c.now()) }

// isForeign reports whether root looks at what another user's task prints. A task that the schedule
// has no longer may have been one; s may be nil.
func (a *app) isForeign(s *schedule.Schedule, task string) bool {
	if a.owner != 0 || os.Geteuid() != 0 {
		return a.owner != 0
	}
	var t *schedule.Task
	if s != nil {
		t = s.Task(task)
	}
	return t == nil || !slices.Contains([]string{"", "root", "0"}, t.As.User)
}

// harmlessOn returns w or, if that is a terminal, a writer to it that cleans what it writes: a
// terminal obeys control characters.
func harmlessOn(w io.Writer, clean func(text string) string) io.Writer {
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

// onlyColours removes the control characters of a text (humanize.Plain) but for its colours.
func onlyColours(text string) string {
	var b strings.Builder
	end := 0
	for _, at := range colour().FindAllStringIndex(text, -1) {
		b.WriteString(humanize.Plain(text[end:at[0]]) + text[at[0]:at[1]])
		end = at[1]
	}
	return b.String() + humanize.Plain(text[end:])
}
