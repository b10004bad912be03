package tick

import (
	"os"
	"path/filepath"
	"testing"

	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// A tick writes what it has collected several times. If the disk was full the first time, the slots
// that it had skipped by then were in no file, and the second write did not have them any more.
func TestWhatCouldNotBeWrittenIsWrittenAtTheEndOfTheTick(t *testing.T) {
	w := newWorld(t, 1, `
- {name: t, cron: "* * * * *", command: "true"}
`)
	tick, slots := w.begin()
	dir := tick.Storage.Dir
	inTheWay := filepath.Join(dir, "sched.db")
	os.Remove(inTheWay)
	if err := statedir.MakeDir(inTheWay); err != nil {
		t.Fatal(err)
	}
	skipped := outcome.Record{Run: outcome.NewID(), Task: "t", Slot: slots[0].At, Outcome: outcome.Skipped}
	tick.records.done(skipped)
	tick.records.note(skipped.Run, "it was told")
	tick.records.write(0)
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	tick.records.write(0)

	db, err := history.OpenRead(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if r, err := db.Get(t.Context(), skipped.Run); err != nil || len(r.Notes) != 1 {
		t.Errorf("the record is %+v: %v", r, err)
	}
}
