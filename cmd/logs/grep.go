package logs

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/exit"
	"sched/cmd/follow"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A foundLine is a line that fits the pattern, for --json.
type foundLine struct {
	Task string `json:"task"`
	Run  string `json:"run"`
	Slot string `json:"slot"`
	Line int    `json:"line"` // from 1
	Text string `json:"text"`
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
	var q state.Query
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
