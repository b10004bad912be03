package schedule

import (
	"fmt"
	"slices"
	"time"

	"sched/schedule/humanize"
)

// NeverRuns warns of each active task whose conditions of time are unmet at every time at which it
// is due, from now on.
func (s *Schedule) NeverRuns(now time.Time) (warnings []Problem) {
	for _, t := range s.Tasks {
		next, due := t.When.Next(now)
		if !s.Active(t) || !due {
			continue
		}
		if _, runs := t.NextRun(now); !runs {
			warnings = append(warnings, Problem{
				Place: t.PlaceOf(t.timingKey()), Task: t.Name,
				Text: fmt.Sprintf("it never runs: each time it is due it is kept from it, the next time since it is %s", t.UnmetCondition(next)),
				Hint: "change the times, or `days`, `between`, `unless_between` and `except`",
			})
		}
	}
	return warnings
}

// timingKey is the key that says when the task is due.
func (t *Task) timingKey() string {
	if t.When.Every != "" {
		return "every"
	}
	return "cron"
}

// A foreground task that takes longWait makes others late. A foreground task that takes longerThan
// still runs when the next tick comes.
const (
	longWait    = 5 * time.Second
	longerThan  = time.Minute
	slotsToLook = 200
)

// SlowForeground warns of each active foreground task that usually takes so long that later tasks
// start late, or its tick takes over a minute. usual are the usual durations of tasks.
func (s *Schedule) SlowForeground(usual map[string]time.Duration, now time.Time) (warnings []Problem) {
	for i, t := range s.Tasks {
		took := usual[t.Name]
		if t.Background || !s.Active(t) || took < longWait {
			continue
		}
		problem := Problem{Place: t.PlaceOf("background"), Task: t.Name, Hint: "with `background: true` nothing waits for it"}
		waiting := s.behind(t, s.Tasks[i+1:], now)
		switch {
		case len(waiting) > 0:
			problem.Text = fmt.Sprintf("it usually takes %s in the foreground, and %s of the same time waits for it; cron would run them side by side",
				humanize.Duration(took), listed(waiting))
		case took >= longerThan:
			problem.Text = fmt.Sprintf("it usually takes %s in the foreground, longer than there is between two ticks", humanize.Duration(took))
		default:
			continue
		}
		warnings = append(warnings, problem)
	}
	return warnings
}

// behind returns which of the later foreground tasks are due at a time at which t is.
func (s *Schedule) behind(t *Task, later []*Task, now time.Time) (names []string) {
	slots := make([]time.Time, 0, slotsToLook)
	for next, ok := t.When.Next(now); ok && len(slots) < slotsToLook; next, ok = t.When.Next(next) {
		slots = append(slots, next)
	}
	for _, other := range later {
		isDue := func(at time.Time) bool { return slices.ContainsFunc(other.When.Slots(at), at.Equal) }
		if !other.Background && s.Active(other) && slices.ContainsFunc(slots, isDue) {
			names = append(names, other.Name)
		}
	}
	return names
}

// listed is the first of the names, and how many more there are.
func listed(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s (and %s)", names[0], humanize.Count(len(names)-1, "other"))
}

// LosesItsMutex warns of each active background task that does not wait, and is due only when an
// earlier task takes their mutex.
func (s *Schedule) LosesItsMutex(now time.Time) (warnings []Problem) {
	takes := func(t *Task) bool { return t.Background && t.WithoutOverlapping && s.Active(t) }
	for i, t := range s.Tasks {
		if !takes(t) || t.WaitAtMost > 0 {
			continue
		}
		first := slices.IndexFunc(s.Tasks[:i], func(other *Task) bool {
			return takes(other) && other.Mutex == t.Mutex && onlyWith(t, other, now)
		})
		if first >= 0 {
			warnings = append(warnings, Problem{
				Place: t.PlaceOf("mutex"), Task: t.Name,
				Text: fmt.Sprintf("each time it is due, %s starts before it and takes their mutex %s: it is skipped", s.Tasks[first].Name, t.Mutex),
				Hint: "write `without_overlapping: wait`, or give the two other times",
			})
		}
	}
	return warnings
}

// onlyWith reports whether t runs only at times at which other runs, too. It looks at slotsToLook
// slots.
func onlyWith(t, other *Task, now time.Time) bool {
	at, ever := t.NextRun(now)
	for n, due := 0, ever; due && n < slotsToLook; n++ {
		if !slices.ContainsFunc(other.When.Slots(at), at.Equal) || other.UnmetCondition(at) != "" {
			return false
		}
		at, due = t.NextRun(at)
	}
	return ever
}
