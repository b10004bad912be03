package systemd

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"sched/schedule"
	"sched/schedule/machine/oncalendar"
)

// years is how far a proof goes: after 28 years the calendar repeats. maxStarts bounds it for
// timers that start every few minutes.
const (
	years     = 28
	maxStarts = 3_000_000
)

// A Proof is the comparison of tasks with the timers that they come from.
type Proof struct {
	From, To    time.Time // To is the earliest end of all comparisons
	Tasks       int       // that were compared
	Changes     int       // of the clocks, in all zones
	Zones       []string
	Boots       []*Task // tasks that are due at a boot alone, as the timer
	Uncompared  []*Task // systemd counts from the last run
	Differences []Difference
}

// A Difference is a task that is not due when systemd starts its timer.
type Difference struct {
	Task      *Task
	At        time.Time // the first time that differs; zero for another command
	Systemd   bool      // systemd starts the timer then, and the task is not due; false: the other way round
	Times     int       // how many differ, in the first year with a difference
	AtChanges bool      // all these are within three hours of a change of the clocks
}

// Prove compares the tasks with the schedule that was loaded from their YAML: their commands, and
// each of their times by an evaluator that shares no code with package cron. Delays of spread are
// left out.
func Prove(tasks []*Task, loaded *schedule.Schedule, from time.Time) *Proof {
	from = from.UTC().Truncate(time.Minute)
	p := &Proof{From: from, To: from.AddDate(years, 0, 0)}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	results := make([]comparison, len(tasks))
	alike := map[string]*comparison{}
	var compared []int
	for i, t := range tasks {
		task := loaded.Task(t.Name)
		switch {
		case task == nil || task.Command.Line != t.Command || task.When.Boot != t.Boot:
			p.Differences = append(p.Differences, Difference{Task: t})
			continue
		case t.Counts:
			p.Uncompared = append(p.Uncompared, t)
			continue
		case t.Calendar == nil:
			p.Boots = append(p.Boots, t)
			continue
		}
		compared = append(compared, i)
		key := fmt.Sprint(t.Calendar, task.When.Texts(), task.When.Location, task.When.From, task.When.Until,
			task.Conditions.Days)
		if results[i].same = alike[key]; results[i].same == nil {
			alike[key] = &results[i]
			group.Go(func() error {
				results[i].compare(t.Calendar, task, p.From, p.From.AddDate(years, 0, 0))
				return nil
			})
		}
	}
	group.Wait()
	p.Tasks = len(compared)
	for _, i := range compared {
		result := results[i]
		if result.same != nil {
			result = *result.same
		}
		if result.to.Before(p.To) {
			p.To = result.to
		}
		if d := result.difference; d.Times > 0 {
			d.Task = tasks[i]
			p.Differences = append(p.Differences, d)
		}
	}
	for _, i := range compared {
		p.addZone(loaded.Task(tasks[i].Name).When.Location)
	}
	return p
}

// addZone counts the changes of the clocks in a zone, up to To.
func (p *Proof) addZone(zone *time.Location) {
	if slices.Contains(p.Zones, zone.String()) {
		return
	}
	p.Zones = append(p.Zones, zone.String())
	_, offset := p.From.In(zone).Zone()
	for at := p.From; at.Before(p.To); at = at.Add(24 * time.Hour) {
		if _, now := at.In(zone).Zone(); now != offset {
			offset = now
			p.Changes++
		}
	}
}

// A comparison is the result for one pair of a timer and a task.
type comparison struct {
	same       *comparison // the pair has the result of another one, which has the same times
	to         time.Time
	difference Difference
}

// compare goes on to the end of the first year with a difference, or until the timer has started
// some millions of times.
func (c *comparison) compare(calendar []oncalendar.Spec, task *schedule.Task, from, to time.Time) {
	when := task.When
	when.Shift = 0
	starts := 0
	for range oncalendar.Starts(calendar, from, from.AddDate(0, 0, 1)) {
		starts++
	}
	if days := maxStarts / max(starts, 1); from.AddDate(0, 0, days).Before(to) {
		to = from.AddDate(0, 0, days)
	}
	c.to, starts = to, 0
	for year := from; year.Before(to) && c.difference.Times == 0; year = year.AddDate(1, 0, 0) {
		if starts > maxStarts {
			c.to = year
			return
		}
		until := year.AddDate(1, 0, 0)
		if until.After(to) {
			until = to
		}
		due := func(yield func(time.Time) bool) {
			for at := range when.Forward(year, until) {
				if task.Conditions.Days.Contains(at.In(when.Location).Weekday()) && !yield(at) {
					return
				}
			}
		}
		starts += c.compareYear(oncalendar.Starts(calendar, year, until), due, when.Location)
	}
}

// compareYear notes the times that only one of the two has, and returns how many the timer has.
func (c *comparison) compareYear(starts, due iter.Seq[time.Time], zone *time.Location) (count int) {
	next, stop := iter.Pull(due)
	defer stop()
	at, more := next()
	note := func(at time.Time, bySystemd bool) {
		d := &c.difference
		if d.Times++; d.Times == 1 {
			d.At, d.Systemd, d.AtChanges = at.UTC(), bySystemd, true
		}
		_, before := at.In(zone).Add(-3 * time.Hour).Zone()
		_, after := at.In(zone).Add(3 * time.Hour).Zone()
		d.AtChanges = d.AtChanges && before != after
	}
	for start := range starts {
		for count++; more && at.Before(start); at, more = next() {
			note(at, false)
		}
		if more && at.Equal(start) {
			at, more = next()
			continue
		}
		note(start, true)
	}
	for ; more; at, more = next() {
		note(at, false)
	}
	return count
}
