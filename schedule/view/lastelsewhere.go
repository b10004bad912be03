package view

import (
	"context"

	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/state"
)

// lastElsewhere returns, by task, the ended run of each one_server task that began last on another
// server. If the store does not answer, it returns nil, because others report that.
func lastElsewhere(ctx context.Context, s Source, tasks ...*schedule.Task) map[string]state.Row {
	var names []string
	for _, t := range tasks {
		if t.OneServer {
			names = append(names, t.Name)
		}
	}
	if s.Controls.Store == nil || len(names) == 0 {
		return nil
	}
	last, err := cluster.Last(ctx, s.Controls.Store, s.Server, names)
	if err != nil {
		return nil
	}
	return last
}
