package view

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/pause"
)

// CalendarSpan is how far a calendar looks ahead.
const CalendarSpan = 60 * 24 * time.Hour

const (
	// maxDaily is how often a task of a calendar may run within 24 hours: hourly, and once more.
	maxDaily = 25
	// maxEvents is how many runs a calendar has: its text has at most about two megabytes.
	maxEvents = 5000
)

// A Calendar is what will run in the next 60 days, as far as time decides.
type Calendar struct {
	Name   string // of the schedule
	Made   time.Time
	Events []Event  // in the order of their times
	Notes  []string // what is left out, and why
}

// An Event is a run in a calendar.
type Event struct {
	Task  *schedule.Task
	Slot  time.Time
	Usual time.Duration // the median of past runs; 0 if nothing is known
}

// CalendarOf returns what the tasks with the names will run, all tasks without names. It begins
// with the current hour, so that it changes once an hour. It leaves out:
//
//   - tasks that run more than maxDaily times within 24 hours, because they would hide all others;
//   - tasks that are paused without an end;
//   - slots that a condition of time or a pause keeps from running.
//
// The error is about a name that no task has.
func CalendarOf(ctx context.Context, source Source, now time.Time, names []string) (Calendar, error) {
	c := Calendar{Name: source.Schedule.Name, Made: now.Truncate(time.Hour)}
	var tasks []*schedule.Task
	for _, name := range names {
		if _, err := FindTask(source.Schedule, name); err != nil {
			return c, err
		}
	}
	for t := range source.Schedule.ActiveTasks() {
		if len(names) == 0 || slices.Contains(names, t.Name) {
			tasks = append(tasks, t)
		}
	}
	frequent, paused, end := c.addEvents(source, tasks)
	note := func(format string, args ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, args...)) }
	if len(frequent) > 0 {
		note("left out, because they run more than %d times within 24 hours: %s",
			maxDaily, humanize.Names(frequent, maxNamed))
	}
	if len(paused) > 0 {
		note("left out, because they are paused without an end: %s", humanize.Names(paused, maxNamed))
	}
	if !end.IsZero() {
		note("it ends with %s, because it has %d runs until then",
			humanize.MinuteZone(end, source.Schedule.Location), maxEvents)
	}
	c.addUsual(ctx, source, tasks)
	return c, nil
}

const maxNamed = 20 // tasks in a note

// addEvents adds the runs, one after another over all tasks, so that a calendar with too many ends
// earlier for all of them. end is the last time of such a calendar; zero if the calendar is whole.
func (c *Calendar) addEvents(source Source, tasks []*schedule.Task) (frequent, paused []string, end time.Time) {
	pauses := source.Pauses()
	var next []*calendarTask
	for _, t := range tasks {
		at, ok := nextRun(t, c.Made.Add(-1), pauses)
		switch {
		case !ok:
		case PauseOf(pauses, t, at) != nil:
			paused = append(paused, t.Name)
		case isFrequent(t, at, pauses):
			frequent = append(frequent, t.Name)
		default:
			next = append(next, &calendarTask{task: t, at: at})
		}
	}
	until := c.Made.Add(CalendarSpan)
	for {
		next = slices.DeleteFunc(next, func(n *calendarTask) bool { return !n.at.Before(until) })
		if len(next) == 0 {
			break
		}
		first := slices.MinFunc(next, func(a, b *calendarTask) int { return a.at.Compare(b.at) })
		if first.isFrequent() {
			frequent = append(frequent, first.task.Name)
			c.Events = slices.DeleteFunc(c.Events, func(e Event) bool { return e.Task == first.task })
			first.at = until
			continue
		}
		if len(c.Events) == maxEvents {
			end = c.Events[maxEvents-1].Slot
			break
		}
		c.Events = append(c.Events, Event{Task: first.task, Slot: first.at.UTC()})
		at, ok := nextRun(first.task, first.at, pauses)
		if first.at = at; !ok {
			first.at = until
		}
	}
	return frequent, paused, end
}

// isFrequent reports whether a task is frequent from its first run on. Such tasks must be known
// before the runs are counted, because many of them would fill the calendar of the first hours.
func isFrequent(t *schedule.Task, first time.Time, pauses pause.Pauses) bool {
	at := first
	for range maxDaily {
		next, ok := nextRun(t, at, pauses)
		if !ok || next.Sub(first) >= 24*time.Hour {
			return false
		}
		at = next
	}
	return true
}

// A calendarTask is a task at its next run, while a calendar is made.
type calendarTask struct {
	task *schedule.Task
	at   time.Time
	last []time.Time // the runs before at, at most maxDaily
}

// isFrequent reports whether the run is one too many within 24 hours. It is called once for each.
func (n *calendarTask) isFrequent() bool {
	n.last = append(n.last, n.at)
	if len(n.last) <= maxDaily {
		return false
	}
	earliest := n.last[0]
	n.last = slices.Delete(n.last, 0, 1)
	return n.at.Sub(earliest) < 24*time.Hour
}

// addUsual says how long the runs usually take. If the history cannot be read, the source is told.
func (c *Calendar) addUsual(ctx context.Context, source Source, tasks []*schedule.Task) {
	records, err := source.Records(ctx)
	if err != nil {
		source.Problem("the history cannot be read: %v", err)
		return
	}
	defer records.Close()
	var names []string
	for _, t := range tasks {
		names = append(names, t.Name)
	}
	known, err := records.Usual(ctx, names)
	if err != nil {
		source.Problem("the history cannot be read: %v", err)
	}
	for i, e := range c.Events {
		c.Events[i].Usual = known[e.Task.Name].Duration
	}
}
