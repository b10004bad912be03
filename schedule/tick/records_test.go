package tick

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// A tick writes what it has collected several times. If the disk was full the first time, the slots
// that it had skipped by then were in no file, and the second write did not have them any more.
func TestWhatCouldNotBeWrittenIsWrittenAtTheEndOfTheTick(t *testing.T) {
	w := newWorld(t, 1, `
- {name: t, cron: "* * * * *", command: "true"}
`)
	tick, slots := w.begin()
	dir := tick.tick.Storage.Dir
	inTheWay := filepath.Join(dir, "sched.db")
	os.Remove(inTheWay)
	if err := statedir.MakeDir(inTheWay); err != nil {
		t.Fatal(err)
	}
	skipped := state.Row{ID: outcome.NewID(), Task: "t", Slot: slots[0].At,
		Result: state.Result{Outcome: outcome.Skipped}}
	tick.launcher.records.addEnded(skipped)
	tick.launcher.records.note(skipped.ID, "it was told")
	tick.launcher.records.writeAll(0)
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	tick.launcher.records.writeAll(0)

	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if r, err := past.Of(db).Get(t.Context(), skipped.ID); err != nil || len(r.Notes) != 1 {
		t.Errorf("the record is %+v: %v", r, err)
	}
}

// A pass of pruning ends only if each step removes more rows than the tick adds. Rows that were
// written before the end of the tick were not counted.
func TestRowsThatWereWrittenEarlyCountAsAdded(t *testing.T) {
	w := newWorld(t, 1, `
- {name: t, cron: "* * * * *", command: "true"}
`)
	tick, slots := w.begin()
	tick.launcher.records.addEnded(state.Row{ID: outcome.NewID(), Task: "t", Slot: slots[0].At,
		Result: state.Result{Outcome: outcome.Skipped}})
	tick.launcher.records.flushQuietly()
	if tick.launcher.records.added != 1 {
		t.Errorf("%d rows count as added", tick.launcher.records.added)
	}
}

// A reader of the message looked for runs that were lost, although only old rows stayed too long.
func TestHistoryThatCannotBePrunedIsNotCalledUnwritten(t *testing.T) {
	w := newWorld(t, 1, `
- {name: t, cron: "* * * * *", command: "true"}
`)
	tick, _ := w.begin()
	dir := tick.tick.Storage.Dir
	if err := os.Rename(filepath.Join(dir, "locks"), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	tick.launcher.records.writeAll(0)
	if said := strings.Join(w.said, "\n"); !strings.HasPrefix(said, "old runs are not removed: ") {
		t.Error(said)
	}
}
