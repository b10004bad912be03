// Package logs is the command `sched logs`.
package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/cmd/follow"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/mask"
	"sched/schedule/output"
	"sched/schedule/past"
	"sched/schedule/redact"
	"sched/schedule/state"
	"sched/schedule/view"
)

type options struct {
	follow             bool
	lines              int // the last ones of each run; 0 for all
	since, until, grep string
	json               bool
}

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "logs [TASK|RUN]",
		Short: "Print what a run printed: the newest of a task, or the one named",
		Long: `logs prints the output of one run to stdout, as it was. The output of its hooks follows on stderr.
A terminal of root gets no control sequences of another user.
A run is named by its id, or by the last part of it that sched history shows; the first characters
of either are enough.

With --since or --until it prints all runs of the task in that time, the oldest first, each under a
line that says which run it is. The time is the one at which they were due, as in sched history.

With --grep it prints the lines that fit a regular expression, of all runs that are in the history
or of some tasks or runs (sched logs --grep RE [TASK|RUN]...), the newest run first, each with its
slot, its run and its number. Colours in a line do not matter. The output of hooks is not searched.
If no line fits, the exit code is 1.

With --follow it goes on until the run has ended, with all its attempts, and then says on stderr how.

The output of a run of another server of the store is on that server: logs says on which.`,
		Example: `  sched logs nightly-report
  sched logs nightly-report -f
  sched logs nightly-report -n 20
  sched logs nightly-report --since yesterday
  sched logs --grep 'timeout|refused' --since 7d
  sched logs 5c2f9a1b3d4e`,
		Args: func(c *cobra.Command, args []string) error {
			if o.grep != "" {
				return flags.Arguments(0, flags.Unlimited)(c, args)
			}
			return flags.Arguments(0, 1)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if o.grep != "" && !c.Flags().Changed("lines") {
				o.lines = maxFoundLines
			}
			return logs(a, args, o)
		},
	}
	f := c.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "print what is printed until the run ends")
	f.IntVarP(&o.lines, "lines", "n", 0,
		"print at most so many lines: the last of each run (0: all), or with --grep in all (else 1000)")
	f.StringVar(&o.grep, "grep", "",
		"the lines that fit this regular expression (RE2), of all runs or of the named tasks and runs")
	f.BoolVar(&o.json, "json", false, "with --grep: print an object for each line")
	f.StringVar(&o.since, "since", "", "all runs of the task since then: "+console.TimeForms)
	f.StringVar(&o.until, "until", "", "all runs of the task before then")
	return c
}

func (o options) check() error {
	switch {
	case o.lines < 0:
		return exit.Usage("0 prints all", "-n %d is negative", o.lines)
	case o.grep == "" && o.json:
		return exit.Usage("", "--json goes with --grep")
	case o.grep != "" && o.follow:
		return exit.Usage("pipe the output of --follow into grep", "--grep and --follow exclude each other")
	}
	return nil
}

func logs(a *app.App, names []string, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	s, err := a.LoadToShow()
	if err != nil {
		return err
	}
	if o.grep != "" {
		return grep(a, s, names, o)
	}
	name, err := a.ChooseTask(s, flags.Optional(names), "logs TASK|RUN")
	if err != nil {
		return err
	}
	if o.since != "" || o.until != "" {
		return logsOfSpan(a, s, name, o)
	}
	row, err := view.NewestRun(context.Background(), a.View(s), name)
	if err != nil {
		return view.OrNotHere(context.Background(), a.View(s), "logs", name, err)
	}
	if err := logsOf(a, s, row, o); err != nil {
		return err
	}
	if row.Task == name {
		sayNewer(a, s, past.Query{Task: name}, row)
	}
	return nil
}

// sayNewer says on which server the newest run of the query is, if it is not the row.
func sayNewer(a *app.App, s *schedule.Schedule, q past.Query, row state.Row) {
	if newer := view.NewerElsewhere(context.Background(), a.View(s), q, row); newer != nil {
		a.Warn("%v", newer)
	}
}

// logsOfSpan prints all runs of a task in a time, each under a line that says which run it is. It
// follows the newest run.
func logsOfSpan(a *app.App, s *schedule.Schedule, name string, o options) error {
	q := past.Query{Task: name}
	var err error
	if q.Since, q.Until, err = a.ParseSpan(o.since, o.until, s.Location); err != nil {
		return err
	}
	runs, err := runsInSpan(a, s, q)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return sayNoRuns(a, s, q)
	}
	for i, row := range runs {
		if i > 0 {
			fmt.Fprintln(a.Out) // the last line of a run may have no end
		}
		outcomeText := "has not ended"
		if row.Outcome != "" {
			outcomeText = humanize.Line(view.Describe(row))
		}
		slot := humanize.SecondZone(row.Slot, s.Location)
		fmt.Fprintf(a.Out, "==> %s of %s, run %s: %s <==\n", row.Task, slot, humanize.ShortRun(row.ID), outcomeText)
		ofRun := o
		ofRun.follow = o.follow && i == len(runs)-1
		if err := logsOf(a, s, row, ofRun); err != nil {
			return err
		}
	}
	newest := slices.MaxFunc(runs, func(x, y state.Row) int { return cmp.Compare(x.ID, y.ID) })
	sayNewer(a, s, q, newest)
	return nil
}

// runsInSpan returns the runs of a query, the oldest first.
func runsInSpan(a *app.App, s *schedule.Schedule, q past.Query) ([]state.Row, error) {
	live, lost, rows, err := a.View(s).History(context.Background(), q)
	if err != nil {
		return nil, err
	}
	runs := slices.DeleteFunc(rows, func(r state.Row) bool { return !r.Ran() })
	for _, row := range slices.Concat(lost, live) {
		if !row.Waits() && q.Matches(row.WithoutOutcome()) {
			runs = append(runs, row.WithoutOutcome())
		}
	}
	slices.SortFunc(runs, func(x, y state.Row) int {
		return cmp.Or(x.Slot.Compare(y.Slot), cmp.Compare(x.ID, y.ID))
	})
	return runs, nil
}

// sayNoRuns says that a task had no run in the time. It returns an error if the name is not the
// name of a task.
func sayNoRuns(a *app.App, s *schedule.Schedule, q past.Query) error {
	_, err := view.FindTask(s, q.Task)
	if err == nil {
		a.Warn("no run of %s in this time", q.Task)
		sayNewer(a, s, q, state.Row{})
		return nil
	}
	if _, runErr := view.NewestRun(context.Background(), a.View(s), q.Task); runErr == nil {
		return exit.Usage("leave them out for one run", "--since and --until are for all runs of a task")
	}
	return err
}

// logsOf prints what a run and then its hooks printed. With --follow it follows a run that has not
// ended, and says how the run ended.
func logsOf(a *app.App, s *schedule.Schedule, row state.Row, o options) (err error) {
	path := view.OutputOf(s.StateDir, row)
	out, errs := a.Out, a.Err
	if a.IsForeign(s, row.Task) {
		out, errs = console.Harmless(out, humanize.Plain), console.Harmless(errs, humanize.Plain)
	}
	secrets := func() (*mask.Set, error) { return redact.Of(row, a.View(s).Environ, false) }
	if isLive := row.Outcome == ""; o.follow && isLive {
		row, err = follow.Run(context.Background(), a.View(s), out, row, o.lines)
	} else {
		err = copyFile(out, path, o.lines, secrets)
	}
	if err != nil {
		return err
	}
	if err := copyFile(errs, output.HooksPath(path), o.lines, secrets); err != nil {
		return err
	}
	switch {
	case o.follow && row.Outcome == "" && view.IsUnwatched(row):
		a.Warn("run %s of %s: %s", humanize.ShortRun(row.ID), row.Task, view.LostText(row))
	case o.follow && row.Outcome == "":
		a.Warn("%s vanished; the next tick will finish its run", row.Task)
	case o.follow:
		a.Warn("%s %s", row.Task, humanize.Line(view.Describe(row)))
	}
	return nil
}

// copyFile writes the last lines of a file, or all of it if lines is 0. A file that is not there
// counts as empty.
func copyFile(w io.Writer, path string, lines int, secrets func() (*mask.Set, error)) error {
	reader, buffer := follow.NewReader(path, secrets), make([]byte, 64<<10)
	err := reader.Open(lines)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		n, err := reader.CopyTo(w, buffer)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if n == 0 {
			_, err := w.Write(reader.Rest())
			return err
		}
	}
}

const (
	maxFoundLines = 1000 // logs --grep prints at most so many lines, unless -n says otherwise
	maxFoundBytes = 1000 // it prints at most so many bytes of a line, around the match
)

// A foundLine is a line that fits the pattern, for --json.
type foundLine struct {
	Task string            `json:"task"`
	Run  string            `json:"run"`
	Slot humanize.JSONTime `json:"slot"`
	Line int               `json:"line"` // from 1
	Text string            `json:"text"`
}

// A search is a search for lines that fit a pattern.
type search struct {
	*app.App
	source   view.Source
	options  options
	pattern  *regexp.Regexp
	printed  int // lines
	searched int // runs
}

// errEnough ends a search that has printed as many lines as it may.
var errEnough = errors.New("enough")

// grep prints the lines that fit the pattern of --grep. The names are of runs, or of tasks whose
// runs are searched. Without names grep searches all runs.
func grep(a *app.App, s *schedule.Schedule, names []string, o options) error {
	pattern, err := regexp.Compile(o.grep)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return exit.Usage("it is a regular expression of RE2, as in --grep '(?i)timeout|refused'",
			"--grep %s: %s", o.grep, reason)
	}
	g := &search{App: a, source: a.View(s), options: o, pattern: pattern}
	err = g.run(names)
	switch {
	case errors.Is(err, errEnough):
		a.WarnWithHint("-n 0 prints all; --since and --until narrow them",
			"the search stopped after %s", humanize.Count(g.printed, "line"))
		return nil
	case err == nil && g.printed == 0:
		return exit.Failed("", "no line of %s fits %s", humanize.Count(g.searched, "run"), o.grep)
	}
	return err
}

// run searches the named runs, and then the runs of the named tasks. Without names it searches
// all runs.
func (g *search) run(names []string) (err error) {
	var q past.Query
	if q.Since, q.Until, err = g.ParseSpan(g.options.since, g.options.until, g.source.Schedule.Location); err != nil {
		return err
	}
	tasks, runs, err := g.tasksAndRuns(names)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if err := g.searchRun(r); err != nil {
			return err
		}
	}
	if len(tasks) == 0 && len(runs) > 0 {
		return nil // only runs were named
	}
	for r, err := range view.RunsOf(context.Background(), g.source, q, tasks...) {
		if err != nil {
			return err
		}
		if err := g.searchRun(r); err != nil {
			return err
		}
	}
	return nil
}

// tasksAndRuns separates names of tasks from names of runs. A task that is only in the history
// counts, too.
func (g *search) tasksAndRuns(names []string) (tasks []string, runs []view.Run, err error) {
	for _, name := range names {
		if _, err := view.FindTask(g.source.Schedule, name); err == nil {
			tasks = append(tasks, name)
			continue
		}
		row, err := view.NewestRun(context.Background(), g.source, name)
		switch {
		case err != nil:
			return nil, nil, view.OrNotHere(context.Background(), g.source, "logs", name, err)
		case row.Task == name:
			tasks = append(tasks, name)
		default:
			runs = append(runs, view.EndedRun(g.source, row))
		}
	}
	return tasks, runs, nil
}

// searchRun prints the lines of a run that fit. It returns errEnough when it finds one line more
// than it may print.
func (g *search) searchRun(r view.Run) error {
	g.searched++
	fits := func(line []byte) bool { return g.pattern.MatchString(follow.Shown(string(line))) }
	for hit, err := range view.Hits(g.source, r, r.Size, fits) {
		switch {
		case err != nil:
			return err
		case g.options.lines > 0 && g.printed == g.options.lines:
			return errEnough
		}
		g.printed++
		if err := g.print(r, hit); err != nil {
			return err
		}
	}
	return nil
}

// print prints a line. If the line is long, it prints only what surrounds the match.
func (g *search) print(r view.Run, hit view.Hit) error {
	text := g.cut(follow.Shown(hit.Text))
	if g.options.json {
		return console.PrintJSONLine(g.Out, foundLine{
			Task: r.Task,
			Run:  r.Run,
			Slot: r.Slot,
			Line: hit.Line,
			Text: text,
		})
	}
	slot := humanize.SecondZone(r.Row.Slot, g.source.Schedule.Location)
	where := fmt.Sprintf("%s  %s  %s:%d", slot, r.Task, humanize.ShortRun(r.Run), hit.Line)
	_, err := fmt.Fprintf(g.Out, "%s  %s\n", g.Stdout().Paint(terminal.Faint, where), text)
	return err
}

// cut shortens a long line to what surrounds the match. Dots stand where text is left out.
func (g *search) cut(line string) string {
	match := g.pattern.FindStringIndex(line)
	if len(line) <= maxFoundBytes || match == nil {
		return line
	}
	from := max(0, match[0]-maxFoundBytes/4) // a quarter of the room stands before the match
	to := min(len(line), from+maxFoundBytes)
	text := strings.ToValidUTF8(line[from:to], "")
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}
