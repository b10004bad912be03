package schedule

import (
	"strings"

	"sched/schedule/cron"
)

// A TimeValues gives params their values in the runs of some of the times of a task (key schedule).
type TimeValues struct {
	Crons  []cron.Expression // some of Task.When
	Params map[string]string
}

// String names the times and the values, as `sched show` has them.
func (v TimeValues) String() string {
	var texts []string
	for _, c := range v.Crons {
		texts = append(texts, c.String())
	}
	return WithValues(strings.Join(texts, ", "), v.Params)
}
