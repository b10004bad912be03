package tick

import (
	"context"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule/cluster"
	"sched/schedule/history"
	"sched/schedule/outcome"
)

const (
	// batch is how many runs are published at a time.
	batch = 500

	// publishFor bounds how long a tick publishes; what is left then is for the next one.
	publishFor = 2 * time.Second
)

// publish copies the runs that wait for it in the history to the store, where the other servers find them, until none is left, the
// store fails, or publishFor has passed. A run may be copied twice, when a kill comes before that is noted; the
// other servers show it once.
func publish(ctx context.Context, db *history.DB, store mutex.Store) error {
	for begun := time.Now(); time.Since(begun) < publishFor; {
		records, err := db.Unpublished(ctx, batch)
		if err != nil {
			return err
		}
		last, err := db.Last(ctx, tasksOf(records))
		if err != nil {
			return err
		}
		if err := cluster.Publish(ctx, store, records, last); err != nil {
			return err
		}
		if err := db.Runs().Published(ctx, runsOf(records)); err != nil || len(records) < batch {
			return err
		}
	}
	return nil
}

// tasksOf returns the names of the tasks of the records.
func tasksOf(records []outcome.Record) (names []string) {
	for _, r := range records {
		names = append(names, r.Task)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func runsOf(records []outcome.Record) (runs []string) {
	for _, r := range records {
		runs = append(runs, r.Run)
	}
	return runs
}

// mayPublish reports whether there is something to publish, and a store that takes it.
func (t *Tick) mayPublish() bool {
	return t.Storage.Store != nil && t.Storage.Store.Down() == nil && history.HasUnpublished(t.Storage.Dir)
}

// publish copies the runs that ended here to the store. While the store is down, which is reported where locks are taken, they wait.
// For a schedule that has no store any more they stop waiting.
func (t *Tick) publish(db *history.DB) error {
	ctx := context.Background()
	switch {
	case len(t.Schedule.Store.Servers) == 0:
		return db.Runs().Unshare(ctx)
	case t.Storage.Store == nil || t.Storage.Store.Down() != nil:
		return nil
	}
	if err := publish(ctx, db, t.Storage.Store); err != nil && t.Storage.Store.Down() == nil && t.onceAnHour("publish") {
		t.Report.Problem("other servers are not told of the runs here: %v", err)
	}
	return nil
}
