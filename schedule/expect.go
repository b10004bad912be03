package schedule

import (
	"fmt"
	"time"

	"sched/schedule/humanize"
)

// Expect says when a task counts as overdue.
type Expect struct {
	Within time.Duration // longer than that from the start of a run to its end; 0: no bound
	Every  time.Duration // longer than that without a success; 0: no bound
}

// Expecting returns the active tasks with an `expect`.
func (s *Schedule) Expecting() (tasks []*Task) {
	for _, t := range s.Tasks {
		if t.Expect != (Expect{}) && s.Active(t) {
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
				warnings = append(warnings, Problem{
					Place: t.PlaceOf("expect.every"), Task: t.Name,
					Text: fmt.Sprintf("it will be overdue though all is well: it does not run from %s to %s, and expect.every is %s",
						humanize.MinuteZone(last, t.When.Location), humanize.MinuteZone(next, t.When.Location), humanize.Duration(t.Expect.Every)),
					Hint: "make expect.every longer than the longest time between two runs",
				})
				break
			}
			last = next
		}
	}
	return warnings
}
