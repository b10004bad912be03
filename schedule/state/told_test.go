package state

import (
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// A run says what became of its notifications only once that is settled, and keeps it when it ends.
func TestARunSaysWhatBecameOfItsNotifications(t *testing.T) {
	dir := t.TempDir()
	b := boxOf(t, dir)
	db := open(t, dir)
	own, err := db.Self(Tick).Owned(ctx)
	must(t, err)
	row := Row{ID: outcome.NewID(), Task: "t", Mutex: "t", Slot: noon, Snapshot: []byte("{}")}
	must(t, own.Begin(ctx, row))
	told := func(want ...outcome.Told) {
		t.Helper()
		got, err := db.Runs().Row(ctx, row.ID)
		must(t, err)
		if !slices.EqualFunc(got.Told, want, func(x, y outcome.Told) bool { return x.At.Equal(y.At) && x.To == y.To && x.Why == y.Why }) {
			t.Errorf("%+v", got.Told)
		}
	}
	b.put(Message{ID: row.ID + " before 1", Run: row.ID, Hook: "before 1", Created: noon}, true)
	told()
	must(t, b.Delivered(ctx, b.Owner, row.ID+" before 1", "ping a", noon))
	arrived := outcome.Told{To: "ping a", At: noon}
	told(arrived)
	ended := End(Ending{Result: Result{Outcome: outcome.Failed, Ended: noon}, Notes: []string{"a note"}})
	must(t, own.Apply(ctx, ended, &row))
	told(arrived)
	b.put(Message{ID: row.ID + " after 1", Run: row.ID, Hook: "after 1", Created: noon}, true)
	if waiting, err := b.OfRun(ctx, row.ID); len(waiting) != 1 || err != nil {
		t.Errorf("%+v, %v", waiting, err)
	}
	a := Attempts{Tries: 1, LastTry: noon.Add(time.Hour), FailingSince: noon, Error: "refused"}
	must(t, b.GiveUp(ctx, b.Owner, row.ID+" after 1", "ping b", a))
	told(arrived, outcome.Told{To: "ping b", At: a.LastTry, Why: "given up after 1 attempt: refused"})
	if waiting, err := b.OfRun(ctx, row.ID); len(waiting) != 0 || err != nil {
		t.Errorf("%+v, %v", waiting, err)
	}
}
