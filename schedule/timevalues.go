package schedule

import "sched/schedule/cron"

// A TimeValues gives params their values in the runs of some of the times of a task (key schedule).
type TimeValues struct {
	Crons  []cron.Expression // some of Task.When
	Params map[string]string
}
