// Package recovery finds the one_server tasks that failed on this machine and have succeeded on
// another server since. Without it only a success on this machine would end what a failure began.
package recovery

import (
	"context"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A Recovery is a failure on this machine that is over.
type Recovery struct {
	Task    *schedule.Task
	Failed  state.Row // the last run here
	Success state.Row // a later run on another server
}

// Find returns the recoveries of the tasks that have hooks for them. It asks the store only if the
// last run of such a task failed here. server is the name of this one.
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
		if !row.Outcome.Failure() {
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
	return found, err
}
