package schedule

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sched/schedule/humanize"
)

// A Proof says whether an assertion holds from From until To.
type Proof struct {
	Assertion
	From, To time.Time
	Break    *Break // the first instant that breaks it; nil: it holds
}

// A Break is why an assertion does not hold. At is zero if no instant is to blame, as when no task
// has the name that the assertion gives.
type Break struct {
	At  time.Time
	Why string
}

// Prove judges the assertions of the schedule from the minute of from until to. It knows what is
// written: due times and conditions of time of the tasks that are in use. It knows nothing of
// condition commands, pauses, locks, late ticks and retries.
func (s *Schedule) Prove(from, to time.Time) []Proof {
	from = from.UTC().Truncate(time.Minute)
	proofs := make([]Proof, len(s.Assertions))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, a := range s.Assertions {
		group.Go(func() error {
			broken := a.rule.prove(span{Schedule: s, from: from, to: to})
			proofs[i] = Proof{Assertion: a, From: from, To: to, Break: broken}
			return nil
		})
	}
	group.Wait()
	return proofs
}

// A span is the time for which a rule is proven: from from until to.
type span struct {
	*Schedule
	from, to time.Time
}

// starts yields the slots of the task whose conditions of time are met, the oldest first.
func (in span) starts(t *Task) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		c := t.Conditions
		always := c.Days == 0 && len(c.Holidays)+len(c.Between)+len(c.UnlessBetween) == 0
		for at := range t.When.Forward(in.from, in.to) {
			if (always || t.UnmetCondition(at) == "") && !yield(at) {
				return
			}
		}
	}
}

// choose returns the tasks that the words of an assertion mean, or why an assertion of them cannot
// hold.
func (in span) choose(chosen string) ([]*Task, *Break) {
	var tasks []*Task
	why := "no task is called " + chosen
	if strings.Contains(chosen, " ") {
		why = "no task in use has the " + chosen
	}
	for _, t := range in.Tasks {
		tag, isTag := strings.CutPrefix(chosen, "tag ")
		switch {
		case chosen != "all tasks" && t.Name != chosen && (!isTag || !slices.Contains(t.Tags, tag)):
		case t.Name == chosen && !in.InUse(t):
			why = chosen + " is " + in.Inactive(t)
		case t.Name == chosen && len(t.When.Crons) == 0:
			why = chosen + " has no times in this file: it starts at boots, or is triggered"
		case in.InUse(t) && len(t.When.Crons) > 0:
			tasks = append(tasks, t)
		}
	}
	if len(tasks) == 0 {
		return nil, &Break{Why: why}
	}
	return tasks, nil
}

// ofEach returns the first break that prove finds for one of the chosen tasks.
func (in span) ofEach(chosen string, prove func(*Task) *Break) (first *Break) {
	tasks, broken := in.choose(chosen)
	if broken != nil {
		return broken
	}
	for _, t := range tasks {
		first = earlier(first, prove(t))
	}
	return first
}

// shown is an instant as a break shows it.
const shown = "Mon 2006-01-02 15:04:05 MST"

func breakAt(at time.Time, zone *time.Location, format string, a ...any) *Break {
	text := strings.Replace(at.In(zone).Format(shown), ":00 ", " ", 1)
	return &Break{At: at.UTC(), Why: fmt.Sprintf(format, a...) + " " + text}
}

func (r windowRule) prove(in span) *Break {
	return in.ofEach(r.chosen, func(t *Task) *Break { return r.ofTask(in, t) })
}

func (r windowRule) ofTask(in span, t *Task) *Break {
	zone := r.zoneOf(t)
	next := firstWindow(in.from.In(zone))
	for at := range in.starts(t) {
		local := at.In(zone)
		inside := r.window.Contains(local)
		switch {
		case r.never && inside && r.days.Contain(r.opened(local).Weekday()):
			return breakAt(at, zone, "%s starts inside %s on", t.Name, r.window)
		case !r.never && !inside:
			outside := breakAt(at, zone, "%s starts outside %s on", t.Name, r.window)
			return earlier(outside, r.missing(t, next, local.AddDate(0, 0, 1)))
		case !r.each || !inside:
			continue
		}
		opened := r.opened(local)
		if b := r.missing(t, next, opened); b != nil {
			return b
		}
		if !next.After(opened) {
			next = opened.AddDate(0, 0, 1)
		}
	}
	return r.missing(t, next, in.to.In(zone).AddDate(0, 0, -1))
}

func (r windowRule) zoneOf(t *Task) *time.Location {
	if r.zone != nil {
		return r.zone
	}
	return t.When.Location
}

// earlier returns the earlier of two breaks. Nil is no break.
func earlier(a, b *Break) *Break {
	if a == nil || b != nil && b.At.Before(a.At) {
		return b
	}
	return a
}

// firstWindow returns the first day whose window begins after the instant.
func firstWindow(local time.Time) time.Time {
	return noon(local).AddDate(0, 0, 1)
}

// noon returns noon of the day, in UTC: days are counted there, where no clock changes.
func noon(local time.Time) time.Time {
	year, month, day := local.Date()
	return time.Date(year, month, day, 12, 0, 0, 0, time.UTC)
}

// opened returns the day on which the window began that holds the local time.
func (r windowRule) opened(local time.Time) time.Time {
	day := noon(local)
	if r.window.From > r.window.To && local.Hour()*60+local.Minute() <= r.window.To {
		return day.AddDate(0, 0, -1)
	}
	return day
}

// missing returns a break for the first day on which the task must start in the window, of the days
// from next until the day before until; nil if there is no such day. The caller knows that the task
// does not start in the windows of those days.
func (r windowRule) missing(t *Task, next, until time.Time) *Break {
	if !r.each {
		return nil
	}
	for day := next; day.Before(noon(until)); day = day.AddDate(0, 0, 1) {
		if r.days.Contain(day.Weekday()) {
			ends := day
			if r.window.From > r.window.To {
				ends = day.AddDate(0, 0, 1)
			}
			year, month, d := ends.Date()
			at := time.Date(year, month, d, r.window.To/60, r.window.To%60, 0, 0, r.zoneOf(t))
			why := fmt.Sprintf("%s does not start inside %s on %s", t.Name, r.window, day.Format("Mon 2006-01-02"))
			return &Break{At: at.UTC(), Why: why}
		}
	}
	return nil
}

func (r orderRule) prove(in span) *Break {
	tasks, broken := in.choose(r.task)
	if broken != nil {
		return broken
	}
	before, broken := in.choose(r.before)
	if broken != nil {
		return broken
	}
	task, zone := tasks[0], tasks[0].When.Location
	early := in
	early.from = early.from.Add(-max(r.within, 48*time.Hour))
	next, stop := iter.Pull(early.starts(before[0]))
	defer stop()
	var last time.Time
	coming, more := next()
	for at := range in.starts(task) {
		for more && coming.Before(at) {
			last = coming
			coming, more = next()
		}
		if r.within > 0 && at.Sub(last) > r.within {
			return breakAt(at, zone, "%s does not start within %s before %s does on",
				r.before, humanize.Duration(r.within), r.task)
		} else if r.within == 0 && noon(last.In(zone)) != noon(at.In(zone)) {
			return breakAt(at, zone, "%s has not started on the day when %s does on", r.before, r.task)
		}
	}
	return nil
}

// countedAtOnce is how long the starts of all chosen tasks are counted at once, in seconds.
const countedAtOnce = 24 * 60 * 60

func (r countRule) prove(in span) *Break {
	tasks, broken := in.choose(r.chosen)
	if broken != nil {
		return broken
	}
	type second struct {
		at    time.Time
		count int
	}
	var recent []second // the seconds with a start in the last r.length, in order
	total := 0
	var counts [countedAtOnce]int
	for part := in; part.from.Before(in.to); part.from = part.to { // part is a day of the span
		part.to = part.from.Add(countedAtOnce * time.Second)
		if part.to.After(in.to) {
			part.to = in.to
		}
		for _, t := range tasks {
			for at := range part.starts(t) {
				counts[at.Sub(part.from)/time.Second]++
			}
		}
		for i, count := range counts {
			if count == 0 {
				continue
			}
			counts[i] = 0
			at := part.from.Add(time.Duration(i) * time.Second)
			for len(recent) > 0 && at.Sub(recent[0].at) >= r.length {
				total -= recent[0].count
				recent = recent[1:]
			}
			recent, total = append(recent, second{at, count}), total+count
			if total > r.most {
				return breakAt(at, in.Location, "%s of %s within %s, the last one on",
					humanize.Count(total, "start"), r.chosen, r.words)
			}
		}
	}
	return nil
}

func (r gapRule) prove(in span) *Break {
	return in.ofEach(r.chosen, func(t *Task) *Break {
		zone, last := t.When.Location, in.from
		for at := range in.starts(t) {
			if b := r.tooLong(t, last, at, zone); b != nil {
				return b
			}
			last = at
		}
		return r.tooLong(t, last, in.to, zone)
	})
}

// tooLong returns a break if the task starts at last, and not again until next, and that is too
// long.
func (r gapRule) tooLong(t *Task, last, next time.Time, zone *time.Location) *Break {
	if r.days > 0 {
		if day := noon(last.In(zone)).AddDate(0, 0, r.days); noon(next.In(zone)).After(day) {
			return breakAt(last, zone, "%s does not start in the %s after", t.Name, r.words)
		}
	} else if next.Sub(last) > r.longest {
		return breakAt(last, zone, "%s does not start in the %s after", t.Name, r.words)
	}
	return nil
}
