package view

import (
	"context"
	"maps"
	"slices"

	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

// maxRecent bounds the runs that failed since the evening before, and the slots that did not run.
const maxRecent = 1000

// withoutStore returns the slots of a query that were skipped because the store did not answer, the
// newest first. It leaves out slots that another server is known to have had. While the store does
// not answer nobody knows what other servers had, so it returns all.
func withoutStore(ctx context.Context, s Source, all *Records, q past.Query) ([]state.Row, error) {
	q.Outcomes, q.NoTests = []outcome.Outcome{outcome.NoStore}, true
	rows, err := all.Find(ctx, q)
	if err != nil || len(rows) == 0 || s.Controls.Store == nil {
		return rows, err
	}
	ran, err := ranElsewhere(ctx, s, rows, cluster.MaxRuns)
	if err != nil {
		return rows, nil
	}
	keys := map[string]string{} // of the claims, by the ids of the rows
	for _, r := range rows {
		if t := s.Schedule.Task(r.Task); t != nil && t.OneServer {
			keys[r.ID] = schedule.Slot{Task: t, At: r.Slot}.ClaimKey()
		}
	}
	claims, err := s.Controls.Store.Claims(ctx, slices.Collect(maps.Values(keys))...)
	if err != nil {
		return rows, nil
	}
	return slices.DeleteFunc(rows, func(r state.Row) bool {
		_, isKnown := ran[r.ID]
		_, isClaimed := claims[keys[r.ID]]
		return isKnown || isClaimed
	}), nil
}

// NotRun says how many slots of a query did not run although nobody wanted that: slots that were
// missed, and slots that were skipped because the store did not answer (withoutStore).
type NotRun struct{ Missed, WithoutStore int }

// NotRunOf counts the slots of a query that did not run. It ignores the outcomes and the limit.
func NotRunOf(ctx context.Context, s Source, q past.Query) (n NotRun, err error) {
	all, err := s.Records(ctx)
	if err != nil {
		return n, err
	}
	defer all.Close()
	q.Limit, q.Outcomes = maxRecent, []outcome.Outcome{outcome.Missed}
	missed, err := all.Find(ctx, q)
	if err != nil {
		return n, err
	}
	skipped, err := withoutStore(ctx, s, all, q)
	return NotRun{Missed: countSlots(missed), WithoutStore: countSlots(skipped)}, err
}

// countSlots counts the slots of rows; a row may have several.
func countSlots(rows []state.Row) (n int) {
	for _, r := range rows {
		n += max(r.Slots, 1)
	}
	return n
}
