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
	for t := range s.ActiveTasks() {
		next, due := t.When.Next(now)
		if bounds := t.Bounds(); !due && bounds != "" && len(t.When.Crons) > 0 {
			warnings = append(warnings, t.Problem(t.boundsKey(), "move its `from` or `until`, or remove the task", "it is never due again: its times are those %s", bounds))
		}
		if !due {
			continue
		}
		if _, runs := t.NextRun(now); !runs {
			warnings = append(warnings, t.Problem(t.timingKey(), "change the times, or `days`, `between`, `unless_between` and `except`",
				"it never runs: each time it is due it is kept from it, the next time since it is %s", t.UnmetCondition(next)))
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

// boundsKey is the key after which the task is not due any more, or before which it is not yet.
func (t *Task) boundsKey() string {
	if t.When.Until.IsZero() {
		return "from"
	}
	return "until"
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
		const hint = "with `background: true` nothing waits for it"
		waiting := behind(s, t, s.Tasks[i+1:], now)
		switch {
		case len(waiting) > 0:
			warnings = append(warnings, t.Problem("background", hint,
				"it usually takes %s in the foreground, and %s of the same time waits for it; cron would run them side by side",
				humanize.Duration(took), listed(waiting)))
		case took >= longerThan:
			warnings = append(warnings, t.Problem("background", hint,
				"it usually takes %s in the foreground, longer than there is between two ticks", humanize.Duration(took)))
		}
	}
	return warnings
}

// NeverCatchesUp warns of each active task with missed: all that usually takes longer than it is to
// its next slot: once it is late, it stays late.
func (s *Schedule) NeverCatchesUp(usual map[string]time.Duration, now time.Time) (warnings []Problem) {
	for t := range s.ActiveTasks() {
		first, _ := t.NextRun(now)
		if second, due := t.NextRun(first); t.RunAllMissed && due && usual[t.Name] >= second.Sub(first) {
			warnings = append(warnings, t.Problem("missed", "write `missed: once`",
				"it usually takes %s, and is due each %s: with missed: all it never catches up",
				humanize.Duration(usual[t.Name]), humanize.Duration(second.Sub(first))))
		}
	}
	return warnings
}

// behind returns which of the later foreground tasks are due at a time at which t is.
func behind(s *Schedule, t *Task, later []*Task, now time.Time) (names []string) {
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
		if !takes(t) || t.MaxWait > 0 {
			continue
		}
		first := slices.IndexFunc(s.Tasks[:i], func(other *Task) bool {
			return takes(other) && other.Mutex == t.Mutex && onlyWith(t, other, now)
		})
		if first >= 0 {
			warnings = append(warnings, t.Problem("mutex", "write `without_overlapping: wait`, or give the two other times",
				"each time it is due, %s starts before it and takes their mutex %s: it is skipped", s.Tasks[first].Name, t.Mutex))
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

// Expect says when a task counts as overdue.
type Expect struct {
	Within time.Duration // longer than that from the start of a run to its end; 0: no bound
	Every  time.Duration // longer than that without a success; 0: no bound
}

// Expecting returns the active tasks with an `expect`.
func (s *Schedule) Expecting() (tasks []*Task) {
	for t := range s.ActiveTasks() {
		if t.Expect != (Expect{}) {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// OverdueAnyway warns of each active task whose own times are rarer than `expect` wants.
func (s *Schedule) OverdueAnyway(now time.Time) (warnings []Problem) {
	for _, t := range s.Expecting() {
		if t.Expect.Every == 0 {
			continue
		}
		const looked = 100
		last, ok := t.NextRun(now)
		for range looked {
			next, more := t.NextRun(last)
			if !ok || !more {
				break
			}
			if gap := next.Sub(last); gap > t.Expect.Every {
				warnings = append(warnings, t.Problem("expect.every", "make expect.every longer than the longest time between two runs",
					"it will be overdue though all is well: it does not run from %s to %s, and expect.every is %s",
					humanize.MinuteZone(last, t.When.Location), humanize.MinuteZone(next, t.When.Location), humanize.Duration(t.Expect.Every)))
				break
			}
			last = next
		}
	}
	return warnings
}

// LateWithin is how old a slot may be that runs although no tick, or no store, let it start in its
// minute.
func (t *Task) LateWithin() time.Duration {
	if t.StartDeadline > 0 && !t.RunMissed {
		return min(t.MissedWithin, t.StartDeadline)
	}
	return t.MissedWithin
}

// CatchUp returns the task as it runs for missed slots if all of them run: in the background, each
// run after the runs of earlier slots. So the runs hold the mutex of the task. If the task itself
// takes no lock, a mutex of this server keeps it from waiting for others that share its store; the
// server is empty if none does.
func (t *Task) CatchUp(s *Schedule, server string) *Task {
	one := *t
	one.CatchesUp, one.Background, one.WithoutOverlapping, one.MayQueue, one.Replace = true, true, true, true, false
	one.MaxWait, one.Maintenance = t.MissedWithin, s.Maintenance
	if t.EvenInMaintenance {
		one.Maintenance = ""
	}
	if server != "" && !t.WithoutOverlapping && !t.OneServer {
		one.Mutex += "@" + server
	}
	return &one
}

// GivesWay reports whether a slot is one of several of its minute. Such a slot does not wait,
// because the next slot is near.
func (t *Task) GivesWay(at time.Time) bool { return len(t.When.Slots(at)) > 1 }

// WaitsForPause reports whether a slot of the task waits for the end of a pause or a maintenance.
func (t *Task) WaitsForPause(at time.Time) bool { return t.RunAfterPause && !t.GivesWay(at) }

// KeptFromWaiting returns a warning for each active task whose slots give way, though the file says
// that they wait for the end of a pause.
func (s *Schedule) KeptFromWaiting(now time.Time) (warnings []Problem) {
	for t := range s.ActiveTasks() {
		if next, due := t.When.Next(now); due && t.RunAfterPause && t.GivesWay(next) {
			warnings = append(warnings, t.Problem("missed", "write `missed: once`",
				"missed: after_pause is once for what is due several times in a minute: the next time is near when the pause is over"))
		}
	}
	return warnings
}

// WaitUntil returns when a run of a slot stops waiting, if it begins to wait at from: when it has
// waited for as long as its task says, or may not start any more.
func (t *Task) WaitUntil(slot, from time.Time) time.Time {
	until := from.Add(t.MaxWait)
	if latest := slot.Add(t.StartDeadline); t.StartDeadline > 0 && latest.Before(until) {
		return latest
	}
	return until
}
