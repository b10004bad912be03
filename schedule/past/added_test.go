package past_test

import (
	"context"
	"slices"
	"testing"

	"sched/schedule/outcome"
	"sched/schedule/past"
)

// A caller that asks again and again for what was added gets each record once, whatever its slot.
func TestAdded(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(3, "a", outcome.Succeeded))
	ask := func(mark int64, limit int) (runs []string, behind int64) {
		t.Helper()
		records, behind, err := past.Of(db).Added(context.Background(), mark, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			runs = append(runs, r.ID)
		}
		return runs, behind
	}
	runs, mark := ask(0, 10)
	if len(runs) != 0 || mark == 0 {
		t.Fatalf("at the beginning: %v, %d", runs, mark)
	}
	mustAdd(t, db, rec(5, "a", outcome.Failed), rec(1, "b", outcome.Missed), rec(4, "a", outcome.Skipped))
	var all []string
	for range 3 {
		runs, mark = ask(mark, 2)
		all = append(all, runs...)
	}
	slices.Sort(all)
	if want := []string{runID(1), runID(4), runID(5)}; !slices.Equal(all, want) {
		t.Errorf("got %v, want %v", all, want)
	}
	if runs, _ := ask(mark+100, 2); len(runs) != 0 {
		t.Errorf("of a history that began anew: %v", runs)
	}
}

// A caller that began when there was no record gets the first one.
func TestAddedToAnEmptyHistory(t *testing.T) {
	db := openTest(t, t.TempDir())
	_, mark, err := past.Of(db).Added(context.Background(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, db, rec(1, "a", outcome.Failed))
	if rows, _, err := past.Of(db).Added(context.Background(), mark, 10); err != nil || len(rows) != 1 {
		t.Errorf("got %v, %v", rows, err)
	}
}
