package cover

import (
	"fmt"
	"strings"

	"sched/schedule"
)

// Names are names that are taken.
type Names map[string]bool

// Take returns a name that nothing else has: the text, or its beginning with a number. It has most
// bytes at most.
func (n Names) Take(text string, most int) string {
	name := text[:min(len(text), most)]
	for number := 2; n[name]; number++ {
		end := fmt.Sprintf("-%d", number)
		name = strings.TrimRight(text[:min(len(text), most-len(end))], "-") + end
	}
	n[name] = true
	return name
}

// Lost returns a problem for each setting of a task whose key is lost. lost has keys, and why they
// do nothing at the other place.
func Lost(t *schedule.Task, settings []schedule.Setting, lost [][2]string) (all []schedule.Problem) {
	for _, setting := range settings {
		for _, l := range lost {
			if l[0] == setting.Key && setting.IsSet && setting.Value != nil {
				all = append(all, t.Problem(l[0], "", "%s: %s", l[0], l[1]))
			}
		}
	}
	return all
}
