// Package console is what a command shares with the person who typed it: the streams, a clock, and
// questions. It has the forms of output that several commands share; cmd/terminal knows how text
// looks.
package console

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sched/cmd/exit"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/statedir"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

// A Console is what a command shares with the person who typed it: the streams and a clock.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	results  *resultWriter // what out writes to
	printers []*printer    // of out and err, after StartPrinters
	Now      func() time.Time
	Zones    []*time.Location // in which times of the schedule are printed; nil before it was read
}

// New returns a console on these streams. It remembers whether out took all that was written.
func New(in io.Reader, out, errs io.Writer) Console {
	results := &resultWriter{Writer: out}
	return Console{In: in, Out: results, Err: errs, results: results, Now: clock.Now}
}

func (c *Console) Stdout() terminal.Stream { return terminal.Of(c.Out, os.Getenv) }

func (c *Console) Stderr() terminal.Stream { return terminal.Of(c.Err, os.Getenv) }

// Table returns an empty table for stdout: see terminal.NewTable.
func (c *Console) Table(shrinks ...terminal.Shrink) *terminal.Table {
	return terminal.NewTable(c.Stdout(), shrinks...)
}

// LiveLine puts a live line below all that the console writes from now on, until restore is called.
// The line is nil if none can be shown. It is drawn when nothing was written for as long as
// quietFor.
func (c *Console) LiveLine(quietFor time.Duration) (line *terminal.LiveLine, restore func()) {
	out, errs := c.Out, c.Err
	line, c.Out, c.Err = terminal.NewLiveLine(c.Stdout(), c.Stderr(), quietFor)
	return line, func() {
		line.Hide()
		c.Out, c.Err = out, errs
	}
}

// SurviveReaders lets writes to a closed pipe fail without a SIGPIPE: a dead logger costs a tick
// its report, and no task. Go ends a process only for descriptors 1 and 2 (package os/signal), so
// writes go to copies. The signal is not ignored: commands would inherit that (execve(2)).
func (c *Console) SurviveReaders() {
	c.results.Writer = copyOf(c.results.Writer)
	c.Err = copyOf(c.Err)
}

// StartPrinters lets printers write all that is printed from now on, until FinishOutput. If stdout
// and stderr are the same file, they share one printer, so that lines keep their order.
func (c *Console) StartPrinters() {
	out := newPrinter()
	c.printers = []*printer{out}
	errs := out
	if !statedir.SameFile(terminal.File(c.Out), terminal.File(c.Err)) {
		errs = newPrinter()
		c.printers = append(c.printers, errs)
	}
	c.Out = printerStream{printer: out, to: c.Out}
	c.Err = printerStream{printer: errs, to: c.Err}
}

// Unqueued returns stdout without its printer.
func (c *Console) Unqueued() io.Writer {
	if queued, ok := c.Out.(printerStream); ok {
		return queued.to
	}
	return c.Out
}

// FinishOutput waits for the printers, says what was lost, and returns the exit code of sched.
func (c *Console) FinishOutput(code int) int {
	var lost int
	for _, p := range c.printers {
		lost += p.drain()
	}
	if lost > 0 {
		c.Warn("%s of this report are lost: nobody read them", humanize.Count(lost, "line"))
	}
	code = c.codeAfterWriting(code)
	// The lines printed above go through a printer, too.
	for _, p := range c.printers {
		p.drain()
	}
	return code
}

// WriteError returns the first error of writing results; nil if all was written.
func (c *Console) WriteError() error { return c.results.firstError() }

// codeAfterWriting returns the exit code of sched from the exit code of its command. If results
// could not be written, it says so, and the code is no success. A reader that went away is no
// failure: the tasks of a tick ran.
func (c *Console) codeAfterWriting(code int) int {
	err := c.WriteError()
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return code
	}
	c.Warn("what was to be printed is lost: %v", humanize.WithoutPath(err))
	return max(code, exit.Failure)
}

// Warn prints a line to stderr: what is wrong, or what people should know besides the result. The
// hint of an error among the arguments follows. Several goroutines may call it at once.
func (c *Console) Warn(format string, args ...any) {
	text := fmt.Sprintf("sched: "+format+"\n", args...)
	for _, arg := range args {
		if err, ok := arg.(error); ok && exit.HintOf(err) != "" {
			text += "hint: " + exit.HintOf(err) + "\n"
		}
	}
	io.WriteString(c.Err, text) // in one write, so that lines do not mix
}

// WarnWithHint prints a line to stderr as warn does, and the hint below it.
func (c *Console) WarnWithHint(hint, format string, args ...any) {
	c.Warn("%v", exit.Failed(hint, format, args...))
}

// PrintProblems prints all problems of a schedule, each with its hint.
func (c *Console) PrintProblems(problems []schedule.Problem) {
	for _, p := range problems {
		fmt.Fprintf(c.Err, "%s\n", humanize.Plain(p.String()))
	}
}

// PrintJSON prints a value as indented JSON. codeAfterWriting reports errors of writing.
func (c *Console) PrintJSON(v any) error {
	text, err := view.JSON(v)
	if err == nil {
		c.Out.Write(text)
	}
	return err
}

// PrintCSV prints rows, a slice of the structs that --json prints, under a header line of the same
// names (RFC 4180). A null of --json is an empty cell here, and a list is joined with "; ".
// codeAfterWriting reports errors of writing.
func (c *Console) PrintCSV(rows any) {
	w := csv.NewWriter(c.Out)
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

// PrintDiff prints lines of a diff to stderr, in colours on a terminal.
func (c *Console) PrintDiff(lines []string) {
	errs := c.Stderr()
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "+"):
			line = errs.Paint(terminal.Good, line)
		case strings.HasPrefix(line, "-"):
			line = errs.Paint(terminal.Bad, line)
		}
		fmt.Fprintln(c.Err, line)
	}
}

// MinuteText returns a time to the minute with its zone, and with its date unless that is today.
func (c *Console) MinuteText(t time.Time, zone *time.Location) string {
	return humanize.MinuteNearZone(t, c.Now(), zone)
}

// Ago returns how long ago a time was, in words. It is 0 for a time in the future: the clock of
// another server may be ahead.
func (c *Console) Ago(t time.Time) string { return humanize.Age(t, c.Now()) }

// ParseTime reads the time of a flag, see view.ReadTime. If the clocks skip that time, it prints
// which time it takes instead.
func (c *Console) ParseTime(flag, text string, zone *time.Location) (time.Time, error) {
	at, skipped, ok := view.ReadTime(text, c.Now(), zone, c.Zones...)
	if !ok {
		return time.Time{}, NotATime(flag, text)
	}
	c.saySkipped(text, skipped, at, zone)
	return at, nil
}

// saySkipped says which time is taken for a time that the clocks skip, as when summer time begins.
// It says nothing if skipped is empty.
func (c *Console) saySkipped(text, skipped string, at time.Time, zone *time.Location) {
	if skipped != "" {
		c.Warn("the clocks skip %s in %s; it is taken as %s", text, zone, at.Format("15:04"))
	}
}

// ParseSpan reads --since and --until. A flag that is empty is the zero time.
func (c *Console) ParseSpan(since, until string, zone *time.Location) (from, to time.Time, err error) {
	if from, err = c.parsePast("since", since, zone); err != nil {
		return from, to, err
	}
	if to, err = c.parsePast("until", until, zone); err != nil {
		return from, to, err
	}
	if !to.IsZero() && !from.Before(to) {
		return from, to, exit.Usage("", "--until %s is not after --since %s", until, since)
	}
	return from, to, nil
}

// parsePast reads a time, or a duration before now. It returns the zero time for "".
func (c *Console) parsePast(flag, text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := yamldoc.ParseDuration(text); err == nil && ago > 0 {
		return c.Now().Add(-ago), nil
	}
	if at, skipped, ok := view.ReadPast(text, c.Now(), zone, c.Zones...); ok {
		c.saySkipped(text, skipped, at, zone)
		return at, nil
	}
	return time.Time{}, exit.Usage("write it as 90m, 7d, "+TimeForms,
		"--%s %q is neither a time nor a duration", flag, text)
}

// Confirm asks a question on the terminal, and reports whether the answer was yes. With saidYes
// (the flag --yes) it does not ask. It is an error if there is no terminal.
func (c *Console) Confirm(question string, saidYes bool) (goOn bool, err error) {
	if saidYes {
		return true, nil
	}
	if !terminal.Is(c.In) {
		return false, exit.Usage("say --yes, or --dry-run to look", "there is no terminal to ask on")
	}
	answer := strings.ToLower(c.Ask(question + " [y/N] "))
	return answer == "y" || answer == "yes", nil
}

// Ask returns what a person types. It reads the whole line: the shell would take the rest for a
// command.
func (c *Console) Ask(question string) string {
	fmt.Fprint(c.Err, question)
	line, _ := bufio.NewReader(c.In).ReadString('\n')
	return strings.TrimSpace(line)
}

// ToneOf returns the colour of an outcome; "" for a run that has not ended.
func ToneOf(r state.Result) terminal.Tone {
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

// PrintJSONLine prints a value in one line.
func PrintJSONLine(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// TimeForms lists for the help how a time can be written.
const TimeForms = "14:30, tomorrow 9:00, 2006-01-02 15:04, 2h ago, in 2h, or as sched prints it"

// NotATime is the error for a flag whose value is no time.
func NotATime(flag, text string) error {
	return exit.Usage("write it as "+TimeForms, "--%s %q is not a time", flag, text)
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
		values, isText := v.Interface().(map[string]string)
		if !isText {
			values = map[string]string{}
			for _, name := range v.MapKeys() {
				values[name.String()] = csvCell(v.MapIndex(name))
			}
		}
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
