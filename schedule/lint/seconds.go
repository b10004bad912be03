package lint

import (
	"fmt"
	"strconv"
	"strings"

	"sched/schedule"
	"sched/schedule/humanize"
)

// LeadingSeconds notes cron expressions with seconds in front that read like a time of the day with
// a field too many: "0 3 * * * *" is due each hour at 3 minutes past.
func LeadingSeconds(s *schedule.Schedule) (notes []schedule.Problem) {
	for t := range s.ActiveTasks() {
		if t.When.Every != "" {
			continue
		}
		for _, c := range t.When.Crons {
			second, minute, looksDaily := clockFields(c.String())
			if !looksDaily {
				continue
			}
			hint := fmt.Sprintf("with five fields `%d %d * * *` is each day at %d:%02d", second, minute, minute, second)
			if second == 0 {
				hint += fmt.Sprintf(", and `%d * * * *` says this without seconds", minute)
			}
			notes = append(notes, t.Problem("cron", hint,
				"cron %q has six fields: the first is seconds, so it is due each hour at :%02d", c, minute))
		}
	}
	return notes
}

// clockFields returns the seconds and the minutes of an expression that has single numbers for them
// and * for all else. It returns false for any other expression, and if the minutes are no hour of
// the day.
func clockFields(expression string) (second, minute int, ok bool) {
	words := strings.Fields(expression)
	if len(words) != 6 || strings.Join(words[2:], " ") != "* * * *" {
		return 0, 0, false
	}
	second, err := strconv.Atoi(words[0])
	minute, isNumber := humanize.Digits(words[1])
	return second, minute, err == nil && isNumber && minute < 24
}
