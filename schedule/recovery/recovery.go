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

// Find returns the recoveries of the tasks that have hooks for them, until these were told. It asks
// the store only for a task whose last run failed here and whose recovery was not told. It leaves
// out a task of which a run goes on here: the success of that run tells of the recovery. The server
// is this one.
func Find(
	ctx context.Context, db *state.DB, store mutex.Store, server string, tasks []*schedule.Task,
) (found []Recovery, err error) {
	var names []string
	for _, t := range tasks {
		if t.OneServer && len(t.Hooks.OnRecovery) > 0 {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 || store == nil {
		return nil, nil
	}
	here, err := db.Runs().Last(ctx, names)
	for name, row := range here {
		isTold := row.Outcome.Failure() && wasTold(ctx, db, row)
		if !row.Outcome.Failure() || isTold {
			delete(here, name)
		}
	}
	if len(here) == 0 || err != nil {
		return nil, err
	}
	elsewhere, err := cluster.Last(ctx, store, server, names)
	for _, t := range tasks {
		failed, success := here[t.Name], elsewhere[t.Name]
		isLater := success.ID > failed.ID // ids are in the order in which runs begin
		if failed.ID != "" && isLater && success.Outcome == outcome.Succeeded {
			found = append(found, Recovery{t, failed, success})
		}
	}
	return withoutLive(ctx, db, found), err
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

// withoutLive leaves out the tasks of which a run goes on here, unless a tick was killed while it
// told of the recovery. It comes last, because the store may have taken seconds to answer.
func withoutLive(ctx context.Context, db *state.DB, found []Recovery) []Recovery {
	if len(found) == 0 {
		return nil
	}
	live, _, _ := db.LiveAndLost(ctx)
	return slices.DeleteFunc(found, func(r Recovery) bool {
		isLive := slices.ContainsFunc(live, func(row state.Row) bool {
			return row.Task == r.Task.Name && !row.Waits() && row.Phase != state.Planned
		})
		return isLive && !isBegun(ctx, db, r.Failed)
	})
}
