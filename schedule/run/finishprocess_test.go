package run

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// Runs that end together share a `sched finish`. A run whose task cannot be read once ended that
// process, and the hooks of the others waited for the next tick.
func TestARunWhoseTaskCannotBeReadDelaysNoOther(t *testing.T) {
	ctx, caller := t.Context(), NewCaller(holding.StorageAt(t.TempDir(), nil), state.Finish, os.Environ())
	defer caller.DB.Close()
	own, err := caller.Self.Owned(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, snapshot := range []string{"{", "{}"} {
		row := state.Row{ID: outcome.NewID(), Task: "report", Mutex: "report", Slot: time.Now(), Origin: "a test",
			Snapshot: json.RawMessage(snapshot)}
		if err := own.Begin(ctx, row); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := own.Rows(ctx, false)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	runs, err := caller.takeAll(own, rows, nil)
	if err == nil || len(runs) != 1 || runs[0].Own.ID != rows[1].ID {
		t.Errorf("%d runs are restored: %v", len(runs), err)
	}
	if lost, err := caller.DB.Runs().Row(ctx, rows[0].ID); err != nil || lost.Outcome != outcome.Lost {
		t.Errorf("the other one is %q: %v", lost.Outcome, err)
	}
}
