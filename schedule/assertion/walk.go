package assertion

import (
	"time"

	"sched/schedule"
	"sched/schedule/calendar"
	"sched/schedule/cron"
)

// A proof for 28 years goes over spans of 24 hours from the beginning on. Two spans with the same
// key have the same starts, and a rule that remembers the same says the same of them. So each kind
// of span is judged once, start by start.

// A memory is what a rule knows of the time before a start. The zero memory is nothing.
type memory struct {
	at  int64 // an instant, in seconds since 1970
	day int64 // a day of the wall clock, in days since 1970
}

// shifted returns the memory with its instant and its day so much later.
func (m memory) shifted(spans int64) memory {
	if m.at != 0 {
		m.at += spans * int64(cron.SpanLength/time.Second)
	}
	if m.day != 0 {
		m.day += spans
	}
	return m
}

// A step judges a start of one of the tasks, by its index. It may use the memory, which task it is,
// and what the wall clock of the rule's zone shows, with the day of the week.
type step func(m memory, at time.Time, task int) (memory, *Break)

// walk calls judge for each start of the tasks, the oldest first, and of the same instant the first
// task first. It leaves out the starts of spans that are like earlier ones. It ends with the first
// break, and returns the last memory.
func walk(s span, tasks []*schedule.Task, zone *time.Location, m memory, judge step) (memory, *Break) {
	type situation struct {
		weekday time.Weekday
		clock   cron.SpanKey
		tasks   [2]taskKey
		memory  memory
	}
	known := map[situation]memory{}
	clock, days := cron.SpansOf(cron.When{Location: zone}), newTaskDays(s, tasks)
	for n := days.next(0); n >= 0; n = days.next(n + 1) {
		part := s.part(n)
		now := situation{weekday: part.from.Weekday(), memory: m.shifted(-n)}
		var hasKey bool
		now.clock, _, hasKey = clock.Key(part.from)
		for i := range tasks {
			var has bool
			now.tasks[i], has = days[i].key(part.from)
			hasKey = hasKey && has
		}
		hasKey = hasKey && part.isWhole()
		if after, isKnown := known[now]; hasKey && isKnown {
			m = after.shifted(n)
			continue
		}
		for at, task := range part.startsOf(tasks) {
			var broken *Break
			if m, broken = judge(m, at, task); broken != nil {
				return m, broken
			}
		}
		if hasKey {
			known[now] = m.shifted(-n)
		}
	}
	return m, nil
}

// A taskKey stands for the starts of a task in a span of 24 hours, counted from its beginning.
type taskKey struct {
	due     cron.SpanKey
	clock   cron.SpanKey // by which the conditions are judged; zero for a task without conditions
	allowed uint8        // whether the days of that clock are allowed: the first, the second, the third
	works   uint8        // whether the days of the times are working days: the first, the second, the third
}

// taskDays finds the spans of 24 hours in which tasks start.
type taskDays []*taskSpans

func newTaskDays(s span, tasks []*schedule.Task) (days taskDays) {
	for _, t := range tasks {
		days = append(days, &taskSpans{
			whole: s, task: t, due: cron.SpansOf(t.When),
			clock: cron.SpansOf(cron.When{Location: t.When.Location}),
		})
	}
	return days
}

// next returns the number of the first span, from n on, in which one of the tasks may start; -1 if
// there is no such span. The numbers of later calls must be larger.
func (d taskDays) next(n int64) int64 {
	first := int64(-1)
	for _, t := range d {
		if t.coming >= 0 && t.coming < n || !t.hasBegun {
			t.search(n)
		}
		if t.coming >= 0 && (first < 0 || t.coming < first) {
			first = t.coming
		}
	}
	return first
}

// taskSpans are the spans of one task.
type taskSpans struct {
	whole      span
	task       *schedule.Task
	due, clock *cron.Spans
	coming     int64 // the number of the next span in which the task is due; -1: no span
	hasBegun   bool
}

// search sets coming to the first span from n on.
func (t *taskSpans) search(n int64) {
	t.hasBegun, t.coming = true, -1
	if at, isDue := t.due.Next(t.whole.part(n).from, t.whole.to); isDue {
		t.coming = int64(at.Sub(t.whole.from) / cron.SpanLength)
	}
}

// key returns the key of the span that begins at from; false if it may be like no other.
func (t *taskSpans) key(from time.Time) (key taskKey, ok bool) {
	var day time.Time
	key.due, day, ok = t.due.Key(from)
	for n := range 3 {
		if rule := t.task.When.Rule; ok && rule != nil && rule.Set.Works(calendar.DayOf(day)+int64(n)) {
			key.works |= 1 << n
		}
	}
	c := t.task.Conditions
	if !ok || c.IsAlwaysMet() {
		return key, ok
	}
	key.clock, day, ok = t.clock.Key(from)
	for n := range 3 {
		if day := day.AddDate(0, 0, n); c.Days.Contains(day.Weekday()) && c.Holidays.On(day) == "" {
			key.allowed |= 1 << n
		}
	}
	return key, ok
}
