package cmd

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

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

// chooseTask returns the name, or for "" the name of the task whose number or name a person types.
// If nobody can be asked, the error says how the command is called.
func (a *app) chooseTask(s *schedule.Schedule, name, use string) (string, error) {
	if name != "" {
		return name, nil
	}
	if !terminal.Is(a.in) || !terminal.Is(a.err) {
		return "", usage("`sched list` has the names", "name a task: sched %s", use)
	}
	if len(s.Tasks) == 0 {
		return "", failed("", "the schedule has no tasks")
	}
	for i, t := range s.Tasks {
		fmt.Fprintf(a.err, "%3d  %s\n", i+1, t.Name)
	}
	answer := a.ask("which one? ")
	t, err := view.FindTask(s, answer)
	if err == nil {
		return t.Name, nil
	}
	const unknown = "no task has that name or number"
	number, numberErr := strconv.Atoi(answer)
	switch {
	case answer == "":
		return "", usage("type a number or a name", unknown)
	case numberErr != nil:
		return "", err
	case number < 1 || number > len(s.Tasks):
		return "", usage(fmt.Sprintf("type a number from 1 to %d, or a name", len(s.Tasks)), unknown)
	}
	return s.Tasks[number-1].Name, nil
}

// confirm asks a question on the terminal, and reports whether the answer was yes. It does not ask
// if yes is true, as with --yes. It is an error if there is no terminal.
func (c *console) confirm(question string, yes bool) (goOn bool, err error) {
	switch {
	case yes:
		return true, nil
	case !terminal.Is(c.in):
		return false, usage("say --yes, or --dry-run to look", "there is no terminal to ask on")
	}
	answer := strings.ToLower(c.ask(question + " [y/N] "))
	return answer == "y" || answer == "yes", nil
}

// ask returns what a person types. It reads the whole line: the shell would take the rest for a
// command.
func (c *console) ask(question string) string {
	fmt.Fprint(c.err, question)
	line, _ := bufio.NewReader(c.in).ReadString('\n')
	return strings.TrimSpace(line)
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
			cells = append(cells, cell(list.Index(i).Field(field)))
		}
		w.Write(cells)
	}
	w.Flush()
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

// minuteText writes a time to the minute with its zone, and with its date unless that is today.
func (c *console) minuteText(t time.Time, zone *time.Location) string {
	return humanize.MinuteNear(t, c.now(), zone)
}

// ago writes how long ago a time was. It is 0 for a time in the future: the clock of another server
// may be ahead.
func (c *console) ago(t time.Time) string { return humanize.Age(t, c.now()) }
