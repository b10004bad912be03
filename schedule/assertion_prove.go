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
func (s span) starts(t *Task) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		c := t.Conditions
		always := c.Days == 0 && len(c.Holidays)+len(c.Between)+len(c.UnlessBetween) == 0
		for at := range t.When.Forward(s.from, s.to) {
			if (always || t.UnmetCondition(at) == "") && !yield(at) {
				return
			}
		}
	}
}

// choose returns the tasks that the words of an assertion mean: "all tasks", "tag heavy" or a name.
// If no task of that kind is in use, it returns a break.
func (s span) choose(words string) ([]*Task, *Break) {
	if !strings.Contains(words, " ") {
		t, broken := s.named(words)
		return []*Task{t}, broken
	}
	var tasks []*Task
	tag, isTag := strings.CutPrefix(words, "tag ")
	for _, t := range s.Tasks {
		if s.InUse(t) && len(t.When.Crons) > 0 && (!isTag || slices.Contains(t.Tags, tag)) {
			tasks = append(tasks, t)
		}
	}
	switch {
	case len(tasks) > 0:
		return tasks, nil
	case isTag:
		return nil, &Break{Why: "no task in use with the " + words + " has times in this file"}
	}
	return nil, &Break{Why: "no task in use has times in this file"}
}

// named returns the task with the name, or a break if the task has no starts that can be proven.
func (s span) named(name string) (*Task, *Break) {
	switch t := s.Task(name); {
	case t == nil:
		return nil, &Break{Why: "no task is called " + name}
	case !s.InUse(t):
		return nil, &Break{Why: name + " is " + s.Inactive(t)}
	case len(t.When.Crons) == 0:
		return nil, &Break{Why: name + " has no times in this file: it starts at boots, or is triggered"}
	default:
		return t, nil
	}
}

// firstBreak returns the first break that prove finds for one of the tasks that the words mean.
func (s span) firstBreak(words string, prove func(*Task) *Break) (first *Break) {
	tasks, broken := s.choose(words)
	if broken != nil {
		return broken
	}
	for _, t := range tasks {
		first = earlier(first, prove(t))
	}
	return first
}

// earlier returns the earlier of two breaks. Nil is no break.
func earlier(a, b *Break) *Break {
	if a == nil || b != nil && b.At.Before(a.At) {
		return b
	}
	return a
}

// breakAt returns a break whose reason ends with its instant.
func breakAt(at time.Time, zone *time.Location, format string, a ...any) *Break {
	text := strings.Replace(at.In(zone).Format("Mon 2006-01-02 15:04:05 MST"), ":00 ", " ", 1)
	return &Break{At: at.UTC(), Why: fmt.Sprintf(format, a...) + " " + text}
}

// noon returns noon of the day, in UTC: days are counted there, where no clock changes.
func noon(local time.Time) time.Time {
	year, month, day := local.Date()
	return time.Date(year, month, day, 12, 0, 0, 0, time.UTC)
}

func (w dailyWindow) zoneOf(t *Task) *time.Location {
	if w.zone != nil {
		return w.zone
	}
	return t.When.Location
}

// opened returns the day on which the window began that holds the local time.
func (w dailyWindow) opened(local time.Time) time.Time {
	day := noon(local)
	if w.window.From > w.window.To && local.Hour()*60+local.Minute() <= w.window.To {
		return day.AddDate(0, 0, -1)
	}
	return day
}

func (r neverRule) prove(s span) *Break {
	return s.firstBreak(r.tasks, func(t *Task) *Break {
		zone := r.zoneOf(t)
		for at := range s.starts(t) {
			local := at.In(zone)
			if r.window.Contains(local) && r.days.Contains(r.opened(local).Weekday()) {
				return breakAt(at, zone, "%s starts inside %s on", t.Name, r.window)
			}
		}
		return nil
	})
}

func (r windowRule) prove(s span) *Break {
	return s.firstBreak(r.tasks, func(t *Task) *Break {
		return earlier(r.firstOutside(s, t), r.firstMissed(s, t))
	})
}

// firstOutside returns a break for the first start outside the window.
func (r windowRule) firstOutside(s span, t *Task) *Break {
	zone := r.zoneOf(t)
	for at := range s.starts(t) {
		if !r.window.Contains(at.In(zone)) {
			return breakAt(at, zone, "%s starts outside %s on", t.Name, r.window)
		}
	}
	return nil
}

// firstMissed returns a break for the first day on which the task must start in the window, and
// does not. The first day is the one after from, and the last day the one before to, because their
// windows lie in the span as a whole.
func (r windowRule) firstMissed(s span, t *Task) *Break {
	if !r.onEachDay {
		return nil
	}
	zone := r.zoneOf(t)
	next := noon(s.from.In(zone)).AddDate(0, 0, 1) // the day whose start comes next, if none is missed
	for at := range s.starts(t) {
		local := at.In(zone)
		if !r.window.Contains(local) {
			continue
		}
		day := r.opened(local)
		if b := r.missed(t, next, day); b != nil {
			return b
		}
		if !next.After(day) {
			next = day.AddDate(0, 0, 1)
		}
	}
	return r.missed(t, next, noon(s.to.In(zone)).AddDate(0, 0, -1))
}

// missed returns a break for the first of the rule's days from next until the day before end; nil
// if the rule has no such day. The break is at the end of that day's window.
func (r windowRule) missed(t *Task, next, end time.Time) *Break {
	for day := next; day.Before(end); day = day.AddDate(0, 0, 1) {
		if !r.days.Contains(day.Weekday()) {
			continue
		}
		year, month, date := day.Date()
		if r.window.From > r.window.To {
			date++
		}
		at := time.Date(year, month, date, r.window.To/60, r.window.To%60, 0, 0, r.zoneOf(t))
		why := fmt.Sprintf("%s does not start inside %s on %s", t.Name, r.window, day.Format("Mon 2006-01-02"))
		return &Break{At: at.UTC(), Why: why}
	}
	return nil
}

func (r orderRule) prove(s span) *Break {
	second, broken := s.named(r.second)
	if broken != nil {
		return broken
	}
	first, broken := s.named(r.first)
	if broken != nil {
		return broken
	}
	zone := second.When.Location
	early := s
	early.from = s.from.Add(-max(r.within, 48*time.Hour))
	next, stop := iter.Pull(early.starts(first))
	defer stop()
	var last time.Time // the last start of first before the start of second
	coming, more := next()
	for at := range s.starts(second) {
		for more && coming.Before(at) {
			last = coming
			coming, more = next()
		}
		if r.within > 0 && at.Sub(last) > r.within {
			return breakAt(at, zone, "%s does not start within %s before %s does on",
				r.first, humanize.Duration(r.within), r.second)
		}
		if r.within == 0 && noon(last.In(zone)) != noon(at.In(zone)) {
			return breakAt(at, zone, "%s has not started on the day when %s does on", r.first, r.second)
		}
	}
	return nil
}

func (r countRule) prove(s span) *Break {
	tasks, broken := s.choose(r.tasks)
	if broken != nil {
		return broken
	}
	type second struct {
		at    time.Time
		count int
	}
	var recent []second // the seconds with a start in the last r.length, in order
	total := 0          // of their starts
	for at, count := range s.startsBySecond(tasks) {
		for len(recent) > 0 && at.Sub(recent[0].at) >= r.length {
			total -= recent[0].count
			recent = recent[1:]
		}
		recent = append(recent, second{at, count})
		total += count
		if total > r.most {
			return breakAt(at, s.Location, "%s of %s within %s, the last one on",
				humanize.Count(total, "start"), r.tasks, r.text)
		}
	}
	return nil
}

// secondsAtOnce is for how many seconds the starts of all tasks are counted at once: a day.
const secondsAtOnce = 24 * 60 * 60

// startsBySecond yields each second in which tasks start, in order, with how many do.
func (s span) startsBySecond(tasks []*Task) iter.Seq2[time.Time, int] {
	return func(yield func(time.Time, int) bool) {
		var counts [secondsAtOnce]int
		for part := s; part.from.Before(s.to); part.from = part.to {
			part.to = part.from.Add(secondsAtOnce * time.Second)
			if part.to.After(s.to) {
				part.to = s.to
			}
			for _, t := range tasks {
				for at := range part.starts(t) {
					counts[at.Sub(part.from)/time.Second]++
				}
			}
			for i, count := range counts {
				if count > 0 && !yield(part.from.Add(time.Duration(i)*time.Second), count) {
					return
				}
			}
			clear(counts[:])
		}
	}
}

func (r gapRule) prove(s span) *Break {
	return s.firstBreak(r.tasks, func(t *Task) *Break {
		zone, last := t.When.Location, s.from
		for at := range s.starts(t) {
			if r.isTooLong(last, at, zone) {
				break
			}
			last = at
		}
		if !r.isTooLong(last, s.to, zone) {
			return nil
		}
		return breakAt(last, zone, "%s does not start in the %s after", t.Name, r.text)
	})
}

// isTooLong reports whether more than the allowed time lies between two instants.
func (r gapRule) isTooLong(last, next time.Time, zone *time.Location) bool {
	if r.days == 0 {
		return next.Sub(last) > r.longest
	}
	if next.Sub(last) < time.Hour { // on the same day or the next; dates cost much for each second of 28 years
		return false
	}
	return noon(next.In(zone)).After(noon(last.In(zone)).AddDate(0, 0, r.days))
}
