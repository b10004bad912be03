package tick

import (
	"context"
	"errors"
	"time"

	"sched/mutex"
	"sched/schedule/cluster"
	"sched/schedule/state"
)

const (
	batch      = 500             // runs that are published at a time
	publishFor = 2 * time.Second // what is left then is for the next tick
)

// publish copies the runs that ended here to the store: the other servers find them there. If the
// schedule has no store any more, the runs stop waiting. While the store fails they wait.
func (t *Tick) publish(db *state.DB) error {
	if len(t.Schedule.Store.Servers) == 0 {
		return db.Runs().Unshare(context.Background())
	}
	if t.Storage.Store == nil {
		return nil
	}
	err := publish(context.Background(), db, t.Storage.Store)
	if errors.As(err, new(*mutex.StoreError)) { // tasks that need a lock report it, and so does status
		t.Report.detail("other servers are not told of the runs here: %v", err)
		return nil
	}
	return err
}

// publish copies runs until none is left, the store fails, or publishFor has passed. A run may be
// copied twice, when a kill comes before that is noted; the other servers show it once.
func publish(ctx context.Context, db *state.DB, store mutex.Store) error {
	for begun := time.Now(); time.Since(begun) < publishFor; {
		records, err := db.Runs().Unpublished(ctx, batch)
		if err != nil {
			return err
		}
		var tasks, runs []string
		for _, r := range records {
			tasks, runs = append(tasks, r.Task), append(runs, r.ID)
		}
		last, err := db.Runs().Last(ctx, tasks)
		if err != nil {
			return err
		}
		if err := cluster.Publish(ctx, store, records, last); err != nil {
			return err
		}
		if err := db.Runs().Published(ctx, runs); err != nil || len(records) < batch {
			return err
		}
	}
	return nil
}
