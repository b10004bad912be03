package plan

import (
	"fmt"
	"slices"
	"strings"

	"sched/schedule/humanize"
)

// A reasonCount counts the slots, and has the names of the tasks, that were missed for one reason.
type reasonCount struct {
	reason string
	slots  int
	tasks  map[string]bool
}

// missReasons are the counts for each reason, in the order in which the reasons came.
type missReasons []reasonCount

func (m *missReasons) count(task string, slots int, reason string) {
	i := slices.IndexFunc(*m, func(r reasonCount) bool { return r.reason == reason })
	if i < 0 {
		i = len(*m)
		*m = append(*m, reasonCount{reason: reason, tasks: map[string]bool{}})
	}
	(*m)[i].slots += slots
	(*m)[i].tasks[task] = true
}

// summary says in one line what was missed, and how many of these slots run now.
func (m missReasons) summary(runNow int) string {
	var parts []string
	for _, r := range m {
		slots, tasks := humanize.Count(r.slots, "slot"), humanize.Count(len(r.tasks), "task")
		parts = append(parts, fmt.Sprintf("%s: %s of %s", r.reason, slots, tasks))
	}
	summary := "missed: " + strings.Join(parts, "; ")
	if runNow == 1 {
		summary += "; 1 of them runs now"
	} else if runNow > 1 {
		summary += fmt.Sprintf("; %d of them run now", runNow)
	}
	return summary
}
