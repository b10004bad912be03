package recovery

import (
	"cmp"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/run/hook"
	"sched/schedule/state"
	"sched/testing/storetest"
)

// An unasked store is one that nobody may ask: each call panics.
type unasked struct{ *storetest.Memory }

// The store is asked until the recovery was told, and no longer until the task runs here again. A
// run that goes on here tells of it by itself.
func TestARecoveryIsFoundUntilItWasTold(t *testing.T) {
	db, failed, watch := failedHere(t)
	find := func() int { return len(watch(nil)()) }
	if n := find(); n != 1 {
		t.Fatalf("%d are found", n)
	}
	unowned := db.Unowned()
	if _, err := unowned.HookBegun(t.Context(), failed.ID, hook.RecoveryTold, time.Now()); err != nil {
		t.Fatal(err)
	}
	if n := find(); n != 1 {
		t.Errorf("%d are found of a recovery that was being told when its tick was killed", n)
	}
	if err := unowned.HookEnded(t.Context(), failed.ID, hook.RecoveryTold, time.Now(), ""); err != nil {
		t.Fatal(err)
	}
	if found := watch(unasked{})(); len(found) != 0 {
		t.Errorf("%v are found", found)
	}
}

// A run that succeeds here after the tick has looked tells of the recovery by itself. It tells of
// none if a tick has begun to, and was killed: then the next tick goes on with that.
func TestARunThatSucceedsMeanwhileTellsOfTheRecovery(t *testing.T) {
	for _, isBegun := range []bool{false, true} {
		db, failed, watch := failedHere(t)
		if isBegun {
			if _, err := db.Unowned().HookBegun(t.Context(), failed.ID, "on_recovery 1", time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		find := watch(nil)
		if err := db.Runs().Record(t.Context(), []state.Row{ended("web-1", outcome.Succeeded)}, false); err != nil {
			t.Fatal(err)
		}
		if found := find(); len(found) == 1 != isBegun {
			t.Errorf("%v are found, begun: %t", found, isBegun)
		}
	}
}

// ended returns a run of the task import that ends now.
func ended(server string, became outcome.Outcome) state.Row {
	now := time.Now()
	return state.Row{ID: outcome.NewID(), Task: "import", Server: server, Slot: now, Phase: state.Ended, Started: now,
		Result: state.Result{Outcome: became, Ended: now}}
}

// failedHere returns the database of web-1, whose last run of import failed, and which watches for
// recoveries: in the store where web-2 has told of a success since, or in the one that is given.
func failedHere(t *testing.T) (db *state.DB, failed state.Row, watch func(mutex.Store) func() []Recovery) {
	t.Helper()
	db = state.At(t.TempDir(), state.Patience)
	t.Cleanup(func() { db.Close() })
	task := &schedule.Task{Name: "import", Mutex: "import", OneServer: true}
	task.Hooks.OnRecovery = []schedule.Hook{{}}
	failed = ended("web-1", outcome.Failed)
	if err := db.Runs().Record(t.Context(), []state.Row{failed}, false); err != nil {
		t.Fatal(err)
	}
	success := ended("web-2", outcome.Succeeded)
	shared := storetest.New()
	if err := cluster.Publish(t.Context(), shared, []state.Row{success}, map[string]state.Row{"import": success}); err != nil {
		t.Fatal(err)
	}
	return db, failed, func(other mutex.Store) func() []Recovery {
		return Watch(t.Context(), db, cmp.Or(other, mutex.Store(shared)), "web-1", []*schedule.Task{task})
	}
}
