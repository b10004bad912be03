package serve

import (
	"context"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A run that begins long after its tick has planned it, and ends between two looks, is told, once.
func TestTheWatcherTellsOfARunThatWasOnlySeenPlanned(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), context.Background()
	db, err := state.Open(dir, state.Patience)
	must(t, err)
	defer db.Close()
	self := db.Self(state.Tick)
	defer self.Close()
	plan, err := db.Plan(ctx)
	must(t, err)
	own, err := plan.Become(ctx, self)
	must(t, err)
	row := state.Row{ID: outcome.NewID(), Task: "task", Mutex: "task", Slot: time.Now().UTC().Truncate(time.Minute),
		Scheduled: true, Phase: state.Planned, Owner: own.ID}
	_, err = plan.Add(ctx, []state.Row{row})
	must(t, err)
	must(t, plan.Commit())

	var s sight
	look := func() int {
		s.readRuns(dir)
		return len(s.ended)
	}
	look()
	if n := look(); n != 0 {
		t.Errorf("%d runs have ended before the first begins", n)
	}
	own, err = self.Owned(ctx)
	must(t, err)
	must(t, own.Begin(ctx, row))
	row.Phase, row.Owner = state.Ready, own.ID
	end := state.End(state.Ending{Result: state.Result{Outcome: outcome.Succeeded, Ended: time.Now()}})
	must(t, own.Apply(ctx, end, &row))
	if n := look(); n != 1 {
		t.Errorf("%d runs have ended", n)
	}
	if n := look(); n != 0 {
		t.Errorf("%d runs have ended again", n)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
