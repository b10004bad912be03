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
func (s Source) Overview(ctx context.Context, h *Health) Overview {
	o := Overview{Status: s.Status(h), Since: Evening(h.At, s.Schedule.Location), Next: nextOfEach(h)}
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
	over, err := sinceEvening(ctx, all, h, o.Since)
	if err == nil {
		o.add(over)
		err = explain(ctx, s, all, h, o.Incidents)
	}
	if err != nil {
		s.Problem("the history cannot be read: %v", err)
	}
	return o
}

// add adds the incidents of tasks that are in no trouble now, and cuts the list.
func (o *Overview) add(over []Incident) {
	inTrouble := map[string]bool{}
	for _, i := range o.Incidents {
		inTrouble[i.Task] = true
	}
	over = slices.DeleteFunc(over, func(i Incident) bool { return inTrouble[i.Task] })
	o.Incidents = append(o.Incidents, over...)
	o.More = max(0, len(o.Incidents)-mostIncidents)
	o.Incidents = o.Incidents[:len(o.Incidents)-o.More]
}

// sinceEvening returns what went wrong since a time, one incident for each task: runs that failed
// come first, then slots that were missed, then last runs that were slow.
func sinceEvening(ctx context.Context, all *Records, h *Health, since time.Time) ([]Incident, error) {
	failed, err := failures(ctx, all, state.Query{Since: since, Limit: mostLately})
	if err != nil {
		return nil, err
	}
	query := state.Query{Since: since, Limit: mostLately, Outcomes: []outcome.Outcome{outcome.Missed}}
	missed, err := all.Find(ctx, query)
	if err != nil {
		return nil, err
	}
	slow, err := tookLong(ctx, all, h, since)
	if err != nil {
		return nil, err
	}
	failedOf, missedOf := byTask(failed), byTask(missed)
	var ranks [3][]Incident
	for _, t := range h.Tasks {
		switch {
		case len(failedOf[t.Name]) > 0:
			ranks[0] = append(ranks[0], failedLately(failedOf[t.Name], h.At))
		case len(missedOf[t.Name]) > 0:
			ranks[1] = append(ranks[1], missedLately(missedOf[t.Name], h.Schedule.Location))
		case slow[t.Name] != "":
			trouble := Trouble{Task: t.Name, Trouble: string(RunsLong), Text: slow[t.Name], Run: t.Last.ID}
			ranks[2] = append(ranks[2], Incident{Trouble: trouble, Over: true})
		}
	}
	return slices.Concat(ranks[:]...), nil
}

func byTask(rows []state.Row) map[string][]state.Row {
	tasks := map[string][]state.Row{}
	for _, r := range rows {
		tasks[r.Task] = append(tasks[r.Task], r)
	}
	return tasks
}

// failedLately returns the incident of runs of a task that failed, given newest first.
func failedLately(rows []state.Row, now time.Time) Incident {
	last := rows[0]
	text := times(len(rows)) + ", the last " + humanize.Age(last.Ended, now) + " ago"
	if last.Reason != "" {
		text += " (" + last.Reason + ")"
	}
	trouble := Trouble{Task: last.Task, Trouble: string(last.Outcome), Text: text, Run: last.ID}
	return Incident{Trouble: trouble, Over: true, failed: last}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// missedLately returns the incident of records of missed slots of a task, given newest first.
func missedLately(rows []state.Row, zone *time.Location) Incident {
	missed := TaskTrouble{Kind: HasMissed, Task: rows[0].Task}
	missed.addMissed(rows)
	trouble := Trouble{Task: missed.Task, Trouble: string(HasMissed), Text: missedText(missed, zone)}
	return Incident{Trouble: trouble, Over: true}
}

// failures returns the rows of a query that failed.
func failures(ctx context.Context, all *Records, q state.Query) ([]state.Row, error) {
	q.Outcomes = outcome.Failures
	rows, err := all.Find(ctx, q)
	return slices.DeleteFunc(rows, func(r state.Row) bool { return !r.Wrong() }), err
}

// tookLong says of tasks whose last run has ended since a time how long it took, if it was slow.
func tookLong(ctx context.Context, all *Records, h *Health, since time.Time) (map[string]string, error) {
	took := map[string]time.Duration{}
	var names []string
	for _, t := range h.Tasks {
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
func explain(ctx context.Context, s Source, all *Records, h *Health, incidents []Incident) error {
	tasks := map[string]TaskHealth{}
	for _, t := range h.Tasks {
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
