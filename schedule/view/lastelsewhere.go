package view

import (
	"context"
	"time"

	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/past"
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

// runsElsewhere returns the ended runs of a one_server task on other servers at or after since,
// among the last that were published there. If the store does not answer, it returns nil, as
// lastElsewhere does.
func runsElsewhere(ctx context.Context, s Source, t *schedule.Task, since time.Time) []state.Row {
	if s.Controls.Store == nil || !t.OneServer {
		return nil
	}
	ran := past.Query{Task: t.Name, Since: since, Outcomes: outcome.Ran}
	runs, err := cluster.Recent(ctx, s.Controls.Store, s.Server, ran, cluster.PageSize)
	if err != nil {
		return nil
	}
	return runs
}
