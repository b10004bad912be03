// Package recovery finds the one_server tasks that failed on this machine and have succeeded on
// another server since. Without it only a success on this machine would end what a failure began.
package recovery

import (
	"context"
	"slices"
	"strings"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/run/hook"
	"sched/schedule/state"
)

// A Recovery is a failure on this machine that is over.
type Recovery struct {
	Task    *schedule.Task
	Failed  state.Row // the last run here
	Success state.Row // a later run on another server
}

// Watch returns a function that finds the recoveries of the tasks that have hooks for them, until
// these were told. Watch looks at once for the tasks whose last run failed here, so a run that
// begins after it hides none of them; the function asks the store, if there is such a task. The
// server is this one.
func Watch(
	ctx context.Context, db *state.DB, store mutex.Store, server string, tasks []*schedule.Task,
) (find func() []Recovery) {
	var names []string
	for _, t := range tasks {
		if t.OneServer && len(t.Hooks.OnRecovery) > 0 {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 || store == nil {
		return func() []Recovery { return nil }
	}
	failed, _ := db.Runs().Last(ctx, names) // after an error a later tick looks
	for name, row := range failed {
		if !row.Outcome.Failure() || wasTold(ctx, db, row) {
			delete(failed, name)
		}
	}
	return func() (found []Recovery) {
		if len(failed) == 0 {
			return nil
		}
		elsewhere, _ := cluster.Last(ctx, store, server, names)
		for _, t := range tasks {
			failure, success := failed[t.Name], elsewhere[t.Name]
			isLater := success.ID > failure.ID // ids are in the order in which runs begin
			if failure.ID != "" && isLater && success.Outcome == outcome.Succeeded {
				found = append(found, Recovery{t, failure, success})
			}
		}
		return untold(ctx, db, found)
	}
}

func wasTold(ctx context.Context, db *state.DB, failed state.Row) bool {
	fired, _ := db.Hooks(ctx, failed.ID)
	isMark := func(h state.Hook) bool { return h.Name == hook.RecoveryTold && !h.Ended.IsZero() }
	return slices.ContainsFunc(fired, isMark)
}

// isBegun reports whether a killed tick has begun to tell of the recovery. No run tells of it then.
func isBegun(ctx context.Context, db *state.DB, failed state.Row) bool {
	fired, _ := db.Hooks(ctx, failed.ID)
	return slices.ContainsFunc(fired, func(h state.Hook) bool { return strings.HasPrefix(h.Name, "on_recovery ") })
}

// untold leaves out the tasks of which a newer run goes on or has ended here: its success tells of
// the recovery, unless a tick was killed while it did. It comes last, because the store may have
// taken seconds to answer.
func untold(ctx context.Context, db *state.DB, found []Recovery) []Recovery {
	if len(found) == 0 {
		return nil
	}
	live, _, _ := db.LiveAndLost(ctx)
	return slices.DeleteFunc(found, func(r Recovery) bool {
		last, err := db.Runs().Last(ctx, []string{r.Task.Name})
		hasEnded := err == nil && last[r.Task.Name].ID != r.Failed.ID
		isLive := slices.ContainsFunc(live, func(row state.Row) bool {
			return row.Task == r.Task.Name && !row.Waits() && row.Phase != state.Planned
		})
		return (hasEnded || isLive) && !isBegun(ctx, db, r.Failed)
	})
}
