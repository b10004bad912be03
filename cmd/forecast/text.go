package forecast

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/cmd/app"
	"sched/cmd/terminal"
	"sched/schedule/forecast"
	"sched/schedule/humanize"
)

func printForecast(a *app.App, r forecast.Report) {
	zone := r.Schedule.Location
	from, to := forecast.DayAndTime(r.From, zone), forecast.DayAndTime(r.To, zone)
	fmt.Fprintf(a.Out, "%s to %s: %s of %s\n\n", from, to,
		humanize.Count(r.Starts, "run"), humanize.Count(len(r.Tasks), "task"))
	t := a.Table()
	for _, line := range r.Lines() {
		t.Row(line.Name, line.Words)
	}
	t.Flush()
	printLate(a, r)
	printSkipping(a, r)
	printHeatmap(a, r.Sums)
	printNotes(a, r.Notes)
}

// maxRows is how many rows the tables of late and of skipping tasks have; --json has all rows.
const maxRows = 10

// printLate prints the foreground tasks that start late, and behind which tasks.
func printLate(a *app.App, r forecast.Report) {
	late := r.LateTasks()
	if len(late) == 0 {
		return
	}
	fmt.Fprintln(a.Out)
	t := a.Table(terminal.Shrink{Column: 4, Least: 12}, terminal.Shrink{Column: 0, Least: 12})
	t.Head("LATE", "RUNS", "AT MOST", "DUE", "BEHIND")
	for _, task := range late[:min(maxRows, len(late))] {
		runs := fmt.Sprintf("%d of %d", task.LateRuns, task.Starts)
		due := forecast.DayAndTime(task.MostLate.At, r.Schedule.Location)
		behind := cmp.Or(r.Behind(task), "-")
		t.Row(task.Name, runs, humanize.Duration(task.MostLate.Lateness()), due, behind)
	}
	t.Flush()
	printMore(a, len(late))
}

// printSkipping prints the tasks that skip slots because of another run.
func printSkipping(a *app.App, r forecast.Report) {
	skipping := r.SkippingTasks()
	if len(skipping) == 0 {
		return
	}
	fmt.Fprintln(a.Out)
	t := a.Table(terminal.Shrink{Column: 3, Least: 12}, terminal.Shrink{Column: 0, Least: 12})
	t.Head("SKIPS", "SLOTS", "FIRST", "WHY")
	for _, task := range skipping[:min(maxRows, len(skipping))] {
		slots := fmt.Sprintf("%d of %d", task.TroubleSkips(), task.TroubleSkips()+task.Starts)
		first := forecast.DayAndTime(task.FirstTroubleSkip.At, r.Schedule.Location)
		t.Row(task.Name, slots, first, r.SkipReason(task))
	}
	t.Flush()
	printMore(a, len(skipping))
}

func printMore(a *app.App, rows int) {
	if rows > maxRows {
		fmt.Fprintf(a.Out, "and %s: see --json\n", humanize.Count(rows-maxRows, "more task"))
	}
}

func printNotes(a *app.App, notes []forecast.Note) {
	for _, n := range notes {
		a.WarnWithHint(n.Hint, "%s", n.Text)
	}
}

// heatSigns has a sign for each level of heat, for a terminal that is too narrow for numbers.
const heatSigns = ".-+x#"

// printHeatmap prints for each hour the largest number of runs at once. On a narrow terminal it
// prints signs.
func printHeatmap(a *app.App, sums *forecast.Sums) {
	out := a.Stdout()
	width := max(2, len(fmt.Sprint(sums.Peak.Most)))
	narrow := out.Width() > 0 && out.Width() < dayWidth+24*(width+1)
	if narrow {
		width = signsOnly
	}
	fmt.Fprintln(a.Out)
	heads := terminal.Pad("AT ONCE", dayWidth) + hourHeads(width)
	fmt.Fprintln(a.Out, strings.TrimRight(out.Paint(terminal.Faint, heads), " "))
	trouble := false
	for _, day := range sums.Days() {
		line := terminal.Pad(day.Date.Format("Mon 01-02"), dayWidth)
		for _, cell := range day.Hours {
			line += heatCell(out, cell, width)
			trouble = trouble || cell.HasTrouble()
		}
		fmt.Fprintln(a.Out, strings.TrimRight(line, " "))
	}
	switch {
	case narrow:
		fmt.Fprintf(a.Out, "%s: from none to %s at once\n", heatSigns, humanize.Count(int(sums.Peak.Most), "run"))
	case trouble:
		fmt.Fprintln(a.Out, "! in this hour some start late or are skipped")
	}
}

const (
	dayWidth  = len("Mon 01-02 ")
	signsOnly = 0 // the width of cells on a narrow terminal: signs without space between them
)

// hourHeads names the hours above cells of this width. For signsOnly it names each sixth hour.
func hourHeads(width int) string {
	var heads strings.Builder
	for hour := range 24 {
		switch {
		case width != signsOnly:
			fmt.Fprintf(&heads, "%*s%02d ", width-2, "", hour)
		case hour%6 == 0:
			heads.WriteString(terminal.Pad(fmt.Sprintf("%02d", hour), 6))
		}
	}
	return heads.String()
}

// heatCell returns the cell of an hour: the number of runs, and "!" if some start late or are
// skipped. For signsOnly it is the sign of the level.
func heatCell(out terminal.Stream, cell forecast.Cell, width int) string {
	switch {
	case !cell.Exists:
		return terminal.Blanks(max(1, width+1))
	case width == signsOnly:
		return out.Paint(terminal.Heat(cell.Level), heatSigns[cell.Level:cell.Level+1])
	}
	number, mark := ".", " "
	if cell.Most > 0 {
		number = fmt.Sprint(cell.Most)
	}
	if cell.HasTrouble() {
		mark = out.Paint(terminal.Bad, "!")
	}
	return out.Paint(terminal.Heat(cell.Level), terminal.Blanks(width-len(number))+number) + mark
}

func printComparison(a *app.App, before, after forecast.Report) {
	zone := before.Schedule.Location
	from, to := forecast.DayAndTime(before.From, zone), forecast.DayAndTime(before.To, zone)
	file := filepath.Base(after.Schedule.File)
	fmt.Fprintf(a.Out, "%s to %s: what changes with %s\n\n", from, to, file)
	t := a.Table()
	t.Head("", "NOW", "THEN")
	row := func(name string, value func(forecast.Report) string) {
		t.Row(name, value(before), value(after))
	}
	row("tasks", func(r forecast.Report) string { return fmt.Sprint(len(r.Tasks)) })
	row("runs", func(r forecast.Report) string { return fmt.Sprint(r.Starts) })
	row("at once", func(r forecast.Report) string {
		if r.Peak.Most == 0 {
			return "0"
		}
		return fmt.Sprintf("%d, %s", r.Peak.Most, r.Peak.At.In(zone).Format("Mon 15:04"))
	})
	row("late starts", func(r forecast.Report) string { return fmt.Sprint(r.LateRuns()) })
	row("skipped slots", func(r forecast.Report) string { return fmt.Sprint(r.TroubleSkips()) })
	t.Flush()
	printChanges(a, before.Tasks, after.Tasks, zone)
	printHeatmap(a, after.Sums)
	printNotes(a, after.Notes)
}

// printChanges prints the tasks whose times or numbers differ. If only one schedule has the task,
// the other one counts as no times and zeros.
func printChanges(a *app.App, before, after []forecast.Task, zone *time.Location) {
	tasksBefore, tasksAfter := tasksByName(before), tasksByName(after)
	tasks := maps.Clone(tasksBefore)
	maps.Copy(tasks, tasksAfter)
	table := a.Table()
	table.Head("TASK", "FIRST DUE", "RUNS", "LATE", "AT MOST", "SKIPS")
	changed := false
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		if cells, differ := compareTasks(tasksBefore[name], tasksAfter[name], zone); differ {
			changed = true
			table.Row(append([]string{name}, cells...)...)
		}
	}
	fmt.Fprintln(a.Out)
	if !changed {
		fmt.Fprintln(a.Out, "no task has other times, runs, late starts or skips")
		return
	}
	table.Flush()
}

func tasksByName(tasks []forecast.Task) map[string]forecast.Task {
	byName := map[string]forecast.Task{}
	for _, t := range tasks {
		byName[t.Name] = t
	}
	return byName
}

// compareTasks returns the cells for one task in two forecasts, and whether it differs.
func compareTasks(before, after forecast.Task, zone *time.Location) (cells []string, differ bool) {
	first := fromTo(dayText(before.First, zone), dayText(after.First, zone))
	differ = before.TimesHash != after.TimesHash
	if differ && before.First.Equal(after.First) {
		first += ", then other times"
	}
	cells = []string{first}
	numbersBefore := numbersOf(before)
	for i, number := range numbersOf(after) {
		differ = differ || number != numbersBefore[i]
		cells = append(cells, fromTo(numbersBefore[i], number))
	}
	return cells, differ
}

// numbersOf returns the cells of a task: its runs, late runs, latest start and skipped slots.
func numbersOf(t forecast.Task) []string {
	return []string{fmt.Sprint(t.Starts), fmt.Sprint(t.LateRuns), lateText(t), fmt.Sprint(t.TroubleSkips())}
}

func dayText(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(zone).Format("Mon 15:04")
}

func lateText(t forecast.Task) string {
	if t.LateRuns == 0 {
		return "-"
	}
	return humanize.Duration(t.MostLate.Lateness())
}

// fromTo returns a value, or both values if it changes.
func fromTo(before, after string) string {
	if before == after {
		return after
	}
	return before + " to " + after
}
