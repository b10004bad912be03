package past_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
)

func TestTookIsOfTheLastSuccesses(t *testing.T) {
	db := openTest(t, t.TempDir())
	for n := range 20 {
		r := lasting(n, "a", outcome.Succeeded, time.Duration(n+1)*time.Second)
		r.UserCPU, r.SystemCPU, r.PeakMemory = 2*time.Second, time.Second, int64(100+n)
		r.Snapshot = json.RawMessage(`{"name":"a"}`)
		mustAdd(t, db, r)
	}
	mustAdd(t, db, lasting(30, "a", outcome.Failed, time.Hour))
	byHand := lasting(31, "a", outcome.Succeeded, 10*time.Second)
	byHand.Origin, byHand.PeakMemory = "asked for by ann", 100
	mustAdd(t, db, byHand)
	mustAdd(t, db, rec(40, "b", outcome.Skipped), lasting(41, "c", outcome.Failed, time.Second))

	got, err := past.Of(db).Costs(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	a := got["a"]
	if a.Runs != 21 || a.Median != 10*time.Second || a.CPU != 3*time.Second || a.Memory != 118 {
		t.Errorf("a: %+v", a)
	}
	if want := rec(30, "a", outcome.Failed).Slot; !a.Slot.Equal(want) {
		t.Errorf("the newest slot of its schedule is %s, not %s", a.Slot, want)
	}
	if len(got) != 2 || got["c"].Runs != 0 {
		t.Errorf("those that never succeeded: %+v", got)
	}
}

func TestANewHistoryTookNothing(t *testing.T) {
	db := openTest(t, t.TempDir())
	if got, err := past.Of(db).Costs(context.Background()); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
