package run

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// Of runs that are given together one may have been begun by another process, which keeps it, with
// its output. The others begin without it.
func TestRunsThatAreGivenTogetherBeginAllOrNone(t *testing.T) {
	ctx, storage := context.Background(), holding.StorageAt(t.TempDir(), nil)
	defer storage.DB.Close()
	tick, other := NewCaller(storage, state.Tick, nil), NewCaller(storage, state.Tick, nil)
	supervisor, err := storage.DB.Owners().Enroll(ctx, state.Supervisor)
	if err != nil {
		t.Fatal(err)
	}
	prepare := func(c Caller, id, name string) *Prepared {
		task := &schedule.Task{Name: name, Mutex: name,
			Command: schedule.Command{List: []string{"true"}}, Dir: t.TempDir()}
		p, err := c.Prepare(state.Row{ID: id, Task: name, Mutex: name, Slot: time.Now(), Background: true}, task, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	id := outcome.NewID()
	first, theirs := prepare(tick, outcome.NewID(), "first"), prepare(other, id, "second")
	if _, err := theirs.Begin(); err != nil {
		t.Fatal(err)
	}
	ours := prepare(tick, id, "second")
	var stale *state.StaleError
	if begun, err := BeginAs(supervisor, first, ours); !errors.As(err, &stale) || stale.Run != id || len(begun) > 0 {
		t.Fatalf("%v; %d have begun", err, len(begun))
	}
	if _, err := storage.DB.Runs().Row(ctx, first.Row().ID); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("the first has a row: %v", err)
	}
	if begun, err := BeginAs(supervisor, first); err != nil || len(begun) != 1 || begun[0].Own.Owner != supervisor.ID {
		t.Errorf("alone: %v", err)
	}
	if row, err := storage.DB.Runs().Row(ctx, first.Row().ID); err != nil || row.Phase != state.Ready ||
		row.Owner != supervisor.ID {
		t.Errorf("the first: %+v, %v", row, err)
	}
	if _, err := ours.Begin(); !errors.As(err, &stale) {
		t.Errorf("the second began twice: %v", err)
	}
	if _, err := os.Stat(theirs.Row().Output); err != nil {
		t.Errorf("the output of the other process is gone: %v", err)
	}
}
