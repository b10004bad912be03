package assertion

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
)

// A Break is why an assertion does not hold. At is zero if no instant is to blame, as when no task
// has the name that the assertion gives.
type Break struct {
	At  time.Time
	Why string
}

// A span is the time for which a rule is proven: from from until to.
type span struct {
	*schedule.Schedule
	from, to time.Time
	chosen   *[]*schedule.Task // the tasks that the rule is about so far
}

// starts yields the slots of the task whose conditions of time are met, the oldest first.
func (s span) starts(t *schedule.Task) iter.Seq[time.Time] {
	slots := t.When.Forward(s.from, s.to)
	if t.Conditions.IsAlwaysMet() && t.When.Rule == nil {
		return slots
	}
	return func(yield func(time.Time) bool) {
		clock := wallClock{zone: t.When.Location}
		var isMet bool
		judged := int64(-1) // the minute of the clock for which that holds
		for at := range slots {
			local := clock.at(at)
			if minute := clock.minute(at); minute != judged {
				isMet = t.Lacks == "" && t.When.Skips(at) == "" && t.Conditions.FirstUnmet(local) == ""
				judged = minute
			}
			if isMet && !yield(at) {
				return
			}
		}
	}
}

// choose returns the tasks that the words of an assertion mean: "all tasks", "tag heavy" or a name.
// If no task of that kind is in use, it returns a break.
func (s span) choose(words string) ([]*schedule.Task, *Break) {
	if !strings.Contains(words, " ") {
		t, broken := s.named(words)
		return []*schedule.Task{t}, broken
	}
	var tasks []*schedule.Task
	tag, isTag := strings.CutPrefix(words, "tag ")
	for _, t := range s.Tasks {
		if s.InUse(t) && len(t.When.Crons) > 0 && (!isTag || slices.Contains(t.Tags, tag)) {
			tasks = append(tasks, t)
		}
	}
	switch {
	case len(tasks) > 0:
		*s.chosen = append(*s.chosen, tasks...)
		return tasks, nil
	case isTag:
		return nil, &Break{Why: "no task in use with the " + words + " has times in this file"}
	}
	return nil, &Break{Why: "no task in use has times in this file"}
}

// named returns the task with the name, or a break if the task has no starts that can be proven.
func (s span) named(name string) (*schedule.Task, *Break) {
	switch t := s.Task(name); {
	case t == nil:
		return nil, &Break{Why: "no task is called " + name}
	case !s.InUse(t):
		return nil, &Break{Why: name + " is " + s.Inactive(t)}
	case len(t.When.Crons) == 0:
		return nil, &Break{Why: name + " has no times in this file: it starts at boots, or is triggered"}
	default:
		*s.chosen = append(*s.chosen, t)
		return t, nil
	}
}

// firstBreak returns the first break that prove finds for one of the tasks that the words mean.
func (s span) firstBreak(words string, prove func(*schedule.Task) *Break) (first *Break) {
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

// part returns a span of 24 hours of s, by its number. The last one may be shorter.
func (s span) part(n int64) span {
	s.from = s.from.Add(time.Duration(n) * cron.SpanLength)
	if to := s.from.Add(cron.SpanLength); to.Before(s.to) {
		s.to = to
	}
	return s
}

func (s span) isWhole() bool { return s.to.Sub(s.from) == cron.SpanLength }

// startsOf yields the starts of one task or of two, in order, with the index of the task.
func (s span) startsOf(tasks []*schedule.Task) iter.Seq2[time.Time, int] {
	return func(yield func(time.Time, int) bool) {
		if len(tasks) == 1 {
			for at := range s.starts(tasks[0]) {
				if !yield(at, 0) {
					return
				}
			}
			return
		}
		next, stop := iter.Pull(s.starts(tasks[1]))
		defer stop()
		other, more := next()
		for at := range s.starts(tasks[0]) {
			for ; more && other.Before(at); other, more = next() {
				if !yield(other, 1) {
					return
				}
			}
			if !yield(at, 0) {
				return
			}
		}
		for ; more && yield(other, 1); other, more = next() {
		}
	}
}
