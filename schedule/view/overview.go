package view

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// An Overview is what a team wants to know in the morning: what is wrong, what went wrong since the
// evening before, and what comes next.
type Overview struct {
	Status
	Since     time.Time // the evening before: see Evening
	Incidents []Incident
	More      int        // how many incidents are left out
	Next      []Upcoming // the next run of each task, the earliest first
}

// An Incident is something that is wrong with a task, or that went wrong since the evening before.
type Incident struct {
	Trouble
	Over     bool      // it is not so any more
	Failures int       // how many of its last runs failed one after another, counted up to MostFailures
	First    time.Time // when the first of these ended
	Printed  []string  // the last lines that the run printed
	failed   state.Row
}

const (
	mostIncidents = 20
	mostNext      = 8
	printedLines  = 3
	evening       = 18   // o'clock
	mostLately    = 1000 // runs that failed after the evening, or slots that were missed
)

// Evening returns 18:00 of the last working day before today, in the zone.
func Evening(now time.Time, zone *time.Location) time.Time {
	year, month, day := now.In(zone).Date()
	for {
		day--
		at := time.Date(year, month, day, evening, 0, 0, 0, zone)
		if at.Weekday() != time.Saturday && at.Weekday() != time.Sunday {
			return at
		}
	}
}

// Overview returns the overview for a Health. Its cost depends on the tasks and on what failed, not
// on the length of the history.
func (s Source) Overview(ctx context.Context, of *Health) Overview {
	o := Overview{Status: s.Status(of), Since: Evening(of.At, s.Schedule.Location), Next: nextOfEach(of)}
	for _, t := range o.Troubles {
		if t.Task != "" {
			o.Incidents = append(o.Incidents, Incident{Trouble: t})
		}
	}
	all, err := s.Records(ctx)
	if err != nil { // a trouble says so
		return o
	}
	defer all.Close()
	over, err := sinceEvening(ctx, all, of, o.Since)
	if err == nil {
		known := map[string]bool{}
		for _, i := range o.Incidents {
			known[i.Task] = true
		}
		o.Incidents = append(o.Incidents, slices.DeleteFunc(over, func(i Incident) bool { return known[i.Task] })...)
		o.More = max(0, len(o.Incidents)-mostIncidents)
		o.Incidents = o.Incidents[:len(o.Incidents)-o.More]
		err = explain(ctx, s, all, of, o.Incidents)
	}
	if err != nil {
		s.Problem("the history cannot be read: %v", err)
	}
	return o
}

// nextOfEach returns the next run of each active task, as far as time and pauses decide: the first
// of all tasks.
func nextOfEach(of *Health) (next []Upcoming) {
	for _, t := range of.Tasks {
		if at, ok := nextRun(t.Task, of.At, of.Pauses); ok {
			next = append(next, Upcoming{Task: t.Name, Slot: timeText(at), At: at.UTC()})
		}
	}
	slices.SortStableFunc(next, func(a, b Upcoming) int { return a.At.Compare(b.At) })
	return next[:min(mostNext, len(next))]
}

// sinceEvening returns what went wrong since a time: runs that failed, slots that were missed, and
// last runs that were slow. It has one incident for each task.
func sinceEvening(ctx context.Context, all *Records, of *Health, since time.Time) (over []Incident, err error) {
	query := state.Query{Since: since, Limit: mostLately}
	failed, err := failures(ctx, all, query)
	if err != nil {
		return nil, err
	}
	query.Outcomes = []outcome.Outcome{outcome.Missed}
	missed, err := all.Find(ctx, query)
	if err != nil {
		return nil, err
	}
	slow, err := tookLong(ctx, all, of, since)
	byTask := func(rows []state.Row) map[string][]state.Row {
		tasks := map[string][]state.Row{}
		for _, r := range rows {
			tasks[r.Task] = append(tasks[r.Task], r)
		}
		return tasks
	}
	failedOf, gaps := byTask(failed), byTask(missed)
	var ranks [3][]Incident
	for _, t := range of.Tasks {
		i := Incident{Over: true, Trouble: Trouble{Task: t.Name}}
		switch {
		case len(failedOf[t.Name]) > 0:
			i.failed = failedOf[t.Name][0]
			i.Run, i.Trouble.Trouble = i.failed.ID, string(i.failed.Outcome)
			age := max(0, of.At.Sub(i.failed.Ended))
			i.Text = times(len(failedOf[t.Name])) + ", the last " + humanize.Duration(age) + " ago"
			if i.failed.Reason != "" {
				i.Text += " (" + i.failed.Reason + ")"
			}
			ranks[0] = append(ranks[0], i)
		case len(gaps[t.Name]) > 0:
			gap := TaskTrouble{Kind: HasMissed, Task: t.Name}
			gap.add(gaps[t.Name])
			i.Trouble.Trouble, i.Text = string(HasMissed), missedText(gap, of.Schedule.Location)
			ranks[1] = append(ranks[1], i)
		case slow[t.Name] != "":
			i.Run, i.Trouble.Trouble, i.Text = t.Last.ID, string(RunsLong), slow[t.Name]
			ranks[2] = append(ranks[2], i)
		}
	}
	return slices.Concat(ranks[:]...), err
}

// failures returns the rows of a query that failed.
func failures(ctx context.Context, all *Records, q state.Query) ([]state.Row, error) {
	q.Outcomes = outcome.Failures
	rows, err := all.Find(ctx, q)
	return slices.DeleteFunc(rows, func(r state.Row) bool { return !r.Wrong() }), err
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// tookLong says of tasks whose last run has ended since a time how long it took, if it was slow.
func tookLong(ctx context.Context, all *Records, of *Health, since time.Time) (map[string]string, error) {
	took := map[string]time.Duration{}
	var names []string
	for _, t := range of.Tasks {
		if d := t.Last.Duration(); d > slowLeast && !t.Last.Ended.Before(since) {
			took[t.Name], names = d, append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	usual, err := all.Usual(ctx, names)
	text := map[string]string{}
	for name, d := range took {
		if slow(d, usual[name]) {
			text[name] = fmt.Sprintf("its last run took %s, usually %s",
				humanize.Duration(d), humanize.Duration(usual[name].Duration))
		}
	}
	return text, err
}

// explain adds to failures how many there are in a row, since when, and what the run printed.
func explain(ctx context.Context, s Source, all *Records, of *Health, incidents []Incident) error {
	tasks := map[string]TaskHealth{}
	for _, t := range of.Tasks {
		tasks[t.Name] = t
	}
	for n := range incidents {
		i := &incidents[n]
		if !outcome.Outcome(i.Trouble.Trouble).Failure() {
			continue
		}
		if !i.Over {
			var success time.Time
			for _, total := range tasks[i.Task].Totals {
				if total.Outcome == outcome.Succeeded {
					success = total.Slot.Add(time.Microsecond)
				}
			}
			failed, err := failures(ctx, all, state.Query{Task: i.Task, Since: success, Limit: MostFailures})
			if err != nil {
				return err
			}
			if i.Failures = len(failed); len(failed) > 0 {
				i.failed, i.First = failed[0], failed[len(failed)-1].Ended
			}
		}
		i.Printed = lastLines(s, i.failed)
	}
	return nil
}

// lastLines returns the last lines that a run printed, without those that are empty.
func lastLines(s Source, r state.Row) (lines []string) {
	const tail = 4 << 10
	log, err := s.Log(Run{Begin: r}, false, 0, tail, tail)
	if err != nil || r.Output == "" {
		return nil
	}
	for line := range strings.Lines(humanize.Plain(string(log.Text))) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-printedLines):]
}
