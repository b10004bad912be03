package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/testing/redistest"
)

func TestPublishingGoesOnUntilNothingIsLeftAndWaitsForTheStore(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	redis := miniredis.RunT(t)
	store := redistest.Dial(t, "redis://"+redis.Addr())
	db, err := state.Open(dir, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const all = 2*publishBatch + 1
	var records []state.Row
	for range all {
		now := time.Now()
		records = append(records, state.Row{ID: outcome.NewID(), Task: "a", Mutex: "a",
			Slot: now, Started: now, Result: state.Result{Ended: now, Outcome: outcome.Succeeded}, Server: "web-1"})
	}
	// of a history that begins to be shared only the newest are published
	if err := db.Runs().Record(ctx, records[:1], true); err != nil {
		t.Fatal(err)
	}
	if err := db.Runs().Record(ctx, records[1:], true); err != nil {
		t.Fatal(err)
	}

	redis.SetError("OOM command not allowed when used memory > 'maxmemory'.")
	if err := PublishAll(ctx, dir, db, store); err == nil || !hasUnpublished(dir) {
		t.Fatalf("the store takes nothing: %v, waiting: %t", err, hasUnpublished(dir))
	}
	redis.SetError("")
	for end := time.Now().Add(30 * time.Second); hasUnpublished(dir); { // a slow machine may take several ticks
		if err := PublishAll(ctx, dir, db, store); time.Now().After(end) {
			t.Fatal(err)
		}
	}
	published, err := Recent(ctx, store, "", past.Query{}, MaxRuns)
	if err != nil || len(published) != all {
		t.Errorf("%d of %d: %v", len(published), all, err)
	}
}

// hasUnpublished reports whether runs in the state folder wait to be published; false when it
// cannot be read.
func hasUnpublished(dir string) bool {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return false
	}
	defer db.Close()
	waiting, err := db.Runs().Unpublished(context.Background(), 1)
	return err == nil && len(waiting) > 0
}
