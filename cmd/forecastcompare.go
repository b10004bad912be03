package cmd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"sched/schedule/forecast"
	"sched/schedule/humanize"
	"sched/schedule/load"
)

func (a forecastCommand) compare(in *forecast.Inputs, o forecastOptions) error {
	other, err := load.File(o.compare, a.options())
	if err != nil {
		return err
	}
	if o.servers > 1 && len(other.Store.Servers) == 0 {
		return usage("leave --servers out", "--servers %d: %s has no store", o.servers, o.compare)
	}
	before, after := forecast.Foresee(in), forecast.Foresee(in.Of(other))
	if o.json {
		err = a.printJSON(map[string]forecast.Forecast{"before": before.JSON(), "after": after.JSON()})
	} else {
		a.printComparison(before, after)
	}
	if err != nil {
		return err
	}
	return o.exceeded(after)
}

func (a forecastCommand) printComparison(before, after forecast.Report) {
	zone := before.Schedule.Location
	fmt.Fprintf(a.out, "%s to %s: what changes with %s\n\n", forecast.DayAndTime(before.From, zone), forecast.DayAndTime(before.To, zone), filepath.Base(after.Schedule.File))
	t := a.stdout().Table()
	t.Head("", "NOW", "THEN")
	row := func(what string, of func(forecast.Report) string) {
		t.Row(what, of(before), of(after))
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
	row("skipped slots", func(r forecast.Report) string { return fmt.Sprint(r.Troubles()) })
	t.Flush()
	a.printChanges(before.Tasks, after.Tasks)
	a.printHeatmap(after.Sums)
	a.printNotes(after.Notes)
}

func (a forecastCommand) printChanges(before, after []forecast.Task) {
	changes := taskChanges(before, after)
	if len(changes) == 0 {
		fmt.Fprintln(a.out, "\nno task has other runs, late starts or skips")
		return
	}
	fmt.Fprintln(a.out)
	t := a.stdout().Table()
	t.Head("TASK", "RUNS", "LATE", "AT MOST", "SKIPS")
	for _, c := range changes {
		t.Row(c.name, fromTo(c.was.Starts, c.is.Starts), fromTo(c.was.LateRuns, c.is.LateRuns),
			fromTo(lateText(c.was), lateText(c.is)), fromTo(c.was.Trouble(), c.is.Trouble()))
	}
	t.Flush()
}

// A taskChange is a task in both forecasts; it is empty in a forecast without the task.
type taskChange struct {
	name    string
	was, is forecast.Task
}

func taskChanges(before, after []forecast.Task) (changes []taskChange) {
	byName := map[string]*taskChange{}
	of := func(name string) *taskChange {
		if byName[name] == nil {
			byName[name] = &taskChange{name: name}
		}
		return byName[name]
	}
	for _, t := range before {
		of(t.Name).was = t
	}
	for _, t := range after {
		of(t.Name).is = t
	}
	for _, c := range byName {
		if c.was.Starts != c.is.Starts || c.was.LateRuns != c.is.LateRuns || c.was.Trouble() != c.is.Trouble() || lateText(c.was) != lateText(c.is) {
			changes = append(changes, *c)
		}
	}
	slices.SortFunc(changes, func(a, b taskChange) int { return cmp.Compare(a.name, b.name) })
	return changes
}

func lateText(t forecast.Task) string {
	if t.LateRuns == 0 {
		return "-"
	}
	return humanize.Duration(t.Latest.Late())
}

// fromTo writes a value, or both values if it changes.
func fromTo[T comparable](was, is T) string {
	if was == is {
		return fmt.Sprint(is)
	}
	return fmt.Sprintf("%v to %v", was, is)
}
