package cmd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"sched/schedule"
	"sched/schedule/forecast"
	"sched/schedule/text"
	"sched/schedule/view"
)

// compare prints what another schedule would change.
func (a forecastCommand) compare(in *forecastInputs, o forecastOptions, l limits) error {
	other, err := schedule.Load(o.compare, a.options())
	if err != nil {
		return err
	}
	if o.servers > 1 && len(other.Store.Servers) == 0 {
		return usage("leave --servers out", "--servers %d: %s has no store", o.servers, o.compare)
	}
	for name := range in.durations {
		if !slices.Contains(slices.Concat(view.TaskNames(in.Schedule), view.TaskNames(other)), name) {
			return failed("see `sched list`", "--assume: neither schedule has a task %q", name)
		}
	}
	before, after := foresee(in), foresee(in.of(other))
	if o.json {
		err = a.printJSON(map[string]forecastJSON{"before": before.json(), "after": after.json()})
	} else {
		a.printComparison(before, after)
	}
	if err != nil {
		return err
	}
	return l.exceeded(other.Location, after.forecast)
}

// printComparison prints the sums of both schedules beside each other, the tasks that differ, and the heatmap of the other one.
func (a forecastCommand) printComparison(before, after foreseen) {
	zone := before.Schedule.Location
	fmt.Fprintf(a.out, "%s to %s: what changes with %s\n\n", dayAndTime(before.From, zone), dayAndTime(before.To, zone), filepath.Base(after.Schedule.File))
	t := a.stdout().Table()
	t.Head("", "NOW", "THEN")
	row := func(what string, of func(*forecast.Forecast) string) {
		t.Row(what, of(before.forecast), of(after.forecast))
	}
	row("tasks", func(f *forecast.Forecast) string { return fmt.Sprint(len(f.Tasks)) })
	row("runs", func(f *forecast.Forecast) string { return fmt.Sprint(f.Starts) })
	row("at once", func(f *forecast.Forecast) string {
		if f.Peak.Most == 0 {
			return "0"
		}
		return fmt.Sprintf("%d, %s", f.Peak.Most, f.Peak.At.In(zone).Format("Mon 15:04"))
	})
	row("late starts", func(f *forecast.Forecast) string { return fmt.Sprint(lateRuns(f)) })
	row("skipped slots", func(f *forecast.Forecast) string { return fmt.Sprint(troubles(f)) })
	t.Flush()
	a.printChanges(before.forecast, after.forecast)
	a.printHeatmap(after.forecast)
	a.printNotes(after.notes)
}

// printChanges prints the tasks with other numbers of runs, late starts or skips.
func (a forecastCommand) printChanges(before, after *forecast.Forecast) {
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

// A taskChange is a task in both forecasts; in one that has it not it is empty.
type taskChange struct {
	name    string
	was, is forecast.Task
}

func taskChanges(before, after *forecast.Forecast) (changes []taskChange) {
	byName := map[string]*taskChange{}
	of := func(name string) *taskChange {
		if byName[name] == nil {
			byName[name] = &taskChange{name: name}
		}
		return byName[name]
	}
	for _, t := range before.Tasks {
		of(t.Name).was = t
	}
	for _, t := range after.Tasks {
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
	return text.Duration(t.Latest.Late())
}

// fromTo writes a value, or both where it changes.
func fromTo[T comparable](was, is T) string {
	if was == is {
		return fmt.Sprint(is)
	}
	return fmt.Sprintf("%v to %v", was, is)
}
