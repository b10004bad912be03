package recovery

import (
	"testing"
	"time"

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
	db := state.At(t.TempDir(), state.Patience)
	defer db.Close()
	task := &schedule.Task{Name: "import", Mutex: "import", OneServer: true}
	task.Hooks.OnRecovery = []schedule.Hook{{}}
	ended := func(server string, became outcome.Outcome) state.Row {
		now := time.Now()
		return state.Row{ID: outcome.NewID(), Task: "import", Server: server, Slot: now, Phase: state.Ended, Started: now,
			Result: state.Result{Outcome: became, Ended: now}}
	}
	failed := ended("web-1", outcome.Failed)
	if err := db.Runs().Record(t.Context(), []state.Row{failed}, false); err != nil {
		t.Fatal(err)
	}
	success := ended("web-2", outcome.Succeeded)
	store := storetest.New()
	if err := cluster.Publish(t.Context(), store, []state.Row{success}, map[string]state.Row{"import": success}); err != nil {
		t.Fatal(err)
	}
	find := func() int {
		return len(Watch(t.Context(), db, store, "web-1", []*schedule.Task{task})())
	}
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
	if found := Watch(t.Context(), db, unasked{}, "web-1", []*schedule.Task{task})(); len(found) != 0 {
		t.Errorf("%v are found", found)
	}
}
