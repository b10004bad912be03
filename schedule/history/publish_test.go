package history

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// publishAll takes what waits in batches, as a tick does, and returns the runs in order.
func publishAll(t testing.TB, db *DB, batch int) (runs []string) {
	t.Helper()
	for more := true; more; {
		records, cursor, err := db.Unpublished(context.Background(), batch)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			runs = append(runs, r.Run)
		}
		if err := db.Published(context.Background(), cursor); err != nil {
			t.Fatal(err)
		}
		more = len(records) == batch
	}
	return runs
}

func mustAddShared(t testing.TB, db *DB, records ...outcome.Record) {
	t.Helper()
	if err := db.AddShared(context.Background(), records); err != nil {
		t.Fatal(err)
	}
}

func ids(numbers ...int) (ids []string) {
	for _, n := range numbers {
		ids = append(ids, runID(n))
	}
	return ids
}

func expectRuns(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestWhatIsAddedToASharedHistoryWaits(t *testing.T) {
	dir := t.TempDir()
	db := openTest(t, dir)
	mustAdd(t, db, rec(1, "a", outcome.Succeeded))
	if HasUnpublished(dir) {
		t.Error("a history that is not shared has a file")
	}
	mustAddShared(t, db, rec(2, "a", outcome.Skipped))
	if HasUnpublished(dir) {
		t.Error("a skipped slot waits")
	}
	mustAddShared(t, db, rec(3, "a", outcome.Failed))
	mustAdd(t, db, rec(5, "b", outcome.Missed), rec(4, "b", outcome.Lost)) // with Add, not AddShared
	if !HasUnpublished(dir) {
		t.Error("nothing waits")
	}
	expectRuns(t, "the runs, in the order in which they were added", publishAll(t, db, 500), ids(1, 3, 4))
	if HasUnpublished(dir) {
		t.Error("the file is still there")
	}

	mustAdd(t, db, rec(6, "a", outcome.Skipped))
	if HasUnpublished(dir) {
		t.Error("a skipped slot waits")
	}
	mustAdd(t, db, rec(2, "long", outcome.Succeeded)) // its run began before the others
	mustAdd(t, db, rec(7, "long", outcome.Succeeded))
	if !HasUnpublished(dir) {
		t.Error("nothing waits after another run was added")
	}
	expectRuns(t, "a run that is there already is no new one", publishAll(t, db, 500), ids(7))
}

func TestBatchesSkipAndRepeatNothing(t *testing.T) {
	db := openTest(t, t.TempDir())
	var records []outcome.Record
	var want []string
	for n := range 100 {
		outcome := []outcome.Outcome{outcome.Succeeded, outcome.Skipped, outcome.Failed, outcome.Missed}[n*7%4]
		records = append(records, rec(n, "a", outcome))
		if records[n].Ran() {
			want = append(want, runID(n))
		}
	}
	mustAddShared(t, db, records...)
	expectRuns(t, "in batches of 7", publishAll(t, db, 7), want)
	expectRuns(t, "again", publishAll(t, db, 7), nil)
}

func TestWhatIsNotSaidToBePublishedComesAgain(t *testing.T) {
	dir := t.TempDir()
	db := openTest(t, dir)
	mustAddShared(t, db, rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Succeeded), rec(3, "a", outcome.Succeeded))
	_, first, err := db.Unpublished(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	_, second, err := db.Unpublished(context.Background(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Published(context.Background(), second); err != nil {
		t.Fatal(err)
	}
	if err := db.Published(context.Background(), first); err != nil { // a tick that was slow
		t.Fatal(err)
	}
	if !HasUnpublished(dir) {
		t.Error("a run waits, and the file is gone")
	}
	expectRuns(t, "after two were published", publishAll(t, db, 5), ids(3))
}

func TestOfAnOldHistoryOnlyTheNewestRunsArePublished(t *testing.T) {
	db := openTest(t, t.TempDir())
	var old []outcome.Record
	for n := range 2 * startsWith {
		old = append(old, rec(n, "a", []outcome.Outcome{outcome.Succeeded, outcome.Skipped}[n%2]))
	}
	old = append(old, rec(2*startsWith, "a", outcome.Failed), rec(2*startsWith+1, "a", outcome.Failed))
	mustAdd(t, db, old...)
	mustAddShared(t, db, rec(2*startsWith+2, "a", outcome.Succeeded))
	got := publishAll(t, db, 300)
	if len(got) != startsWith+1 || got[0] != runID(4) {
		t.Errorf("%d runs, the first is %v", len(got), got[0])
	}
}

func TestAHistoryThatIsSharedNoMoreLetsGo(t *testing.T) {
	dir := t.TempDir()
	db := openTest(t, dir)
	mustAddShared(t, db, rec(1, "a", outcome.Succeeded))
	if err := db.Unshare(context.Background()); err != nil || HasUnpublished(dir) {
		t.Errorf("%v, waiting: %t", err, HasUnpublished(dir))
	}
	mustAdd(t, db, rec(2, "a", outcome.Succeeded))
	if HasUnpublished(dir) {
		t.Error("a run waits")
	}
}

func TestPruningWaitsForThePublication(t *testing.T) {
	for _, tt := range []struct {
		rule      string
		published int // so many of the runs
		keep      time.Duration
		perTask   int
		want      []int
		lost      int
	}{
		{"beyond their number runs that wait stay", 2, 0, 1, []int{6, 5, 4, 3}, 0},
		{"and go once they are published", 6, 0, 1, []int{6}, 0},
		{"too old ones go, and are counted", 2, time.Hour, 0, []int{6}, 3},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			db := openTest(t, t.TempDir())
			mustAddShared(t, db, rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Succeeded), rec(3, "a", outcome.Succeeded),
				rec(4, "a", outcome.Succeeded), rec(5, "a", outcome.Succeeded), rec(6, "a", outcome.Succeeded), rec(0, "a", outcome.Skipped))
			_, cursor, err := db.Unpublished(context.Background(), tt.published)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Published(context.Background(), cursor); err != nil {
				t.Fatal(err)
			}
			lost := 0
			for more := true; more; {
				did, err := db.Prune(context.Background(), minute(1000), tt.keep, tt.perTask, 0)
				if err != nil {
					t.Fatal(err)
				}
				more, lost = did.More, lost+did.Unpublished
			}
			expectRuns(t, "left", slices.DeleteFunc(runsOf(t, db, Query{}), func(id string) bool { return id == runID(0) }), ids(tt.want...))
			if lost != tt.lost {
				t.Errorf("%d were said to be lost", lost)
			}
		})
	}
}

// Without INTEGER PRIMARY KEY and AUTOINCREMENT, SQLite gives the number of a row that was the newest and
// was removed to the next one (https://www.sqlite.org/autoinc.html): a cursor would pass over it.
func TestARunIsPublishedAlthoughAllBeforeItWerePruned(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAddShared(t, db, rec(2, "a", outcome.Succeeded), rec(1, "a", outcome.Succeeded))
	publishAll(t, db, 5)
	if _, err := db.Prune(context.Background(), minute(1000), time.Hour, 0, 0); err != nil {
		t.Fatal(err)
	}
	mustAdd(t, db, rec(900, "a", outcome.Succeeded))
	expectRuns(t, "after the newest row was as old as can be", publishAll(t, db, 5), ids(900))
}

// The newest row is a slot that was missed, and then that slot runs: its row must not get the number of the one that it
// replaces, which the cursor has passed.
func TestARunThatReplacesTheNewestRowIsPublished(t *testing.T) {
	gap := missed("a", 10)
	gap.Slots, gap.Until = 1, noon.Add(20*time.Minute)
	for name, newest := range map[string]outcome.Record{"a missed slot": missed("a", 10), "the last slot of a range": gap} {
		t.Run(name, func(t *testing.T) {
			db := openTest(t, t.TempDir())
			mustAddShared(t, db, rec(1, "a", outcome.Succeeded), newest)
			publishAll(t, db, 5)
			mustAddShared(t, db, ranAt(2, "a", 10, ""))
			expectRuns(t, "the run of the slot", publishAll(t, db, 5), ids(2))
		})
	}
}

func TestRowsThatWereNumberedAnewArePublishedAgainRatherThanNever(t *testing.T) {
	dir := t.TempDir()
	db := openTest(t, dir)
	var records []outcome.Record
	for n := range 10 {
		records = append(records, rec(n, "a", outcome.Succeeded))
	}
	mustAddShared(t, db, records...)
	publishAll(t, db, 50)
	if _, err := db.Prune(context.Background(), noon, 0, 2, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := connOf(t, db).Exec("VACUUM"); err != nil {
		t.Fatal(err)
	}
	mustAdd(t, db, rec(20, "a", outcome.Succeeded))
	if got := publishAll(t, db, 50); !slices.Contains(got, runID(20)) {
		t.Errorf("got %v", got)
	}
	mustAdd(t, db, rec(21, "a", outcome.Succeeded))
	expectRuns(t, "from then on", publishAll(t, db, 50), ids(21))
}

// Whoever adds and whoever publishes at the same time: no run waits without the file.
func TestTheFileIsThereWheneverARunWaits(t *testing.T) {
	dir := t.TempDir()
	mustAddShared(t, openTest(t, dir), rec(0, "a", outcome.Succeeded))
	const adders, each = 3, 30
	var adding, publishing sync.WaitGroup
	for a := range adders {
		adding.Go(func() {
			db := openTest(t, dir)
			for n := range each {
				if err := db.Add(context.Background(), []outcome.Record{rec(1+a*each+n, "a", outcome.Succeeded)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	over := make(chan struct{})
	var mu sync.Mutex
	seen := map[string]bool{}
	for range 2 {
		publishing.Go(func() {
			db := openTest(t, dir)
			for last := false; !last; {
				select {
				case <-over:
					last = true
				default:
				}
				if !HasUnpublished(dir) {
					continue
				}
				for _, id := range publishAll(t, db, 4) {
					mu.Lock()
					seen[id] = true
					mu.Unlock()
				}
			}
		})
	}
	adding.Wait()
	close(over)
	publishing.Wait()
	if len(seen) != 1+adders*each || HasUnpublished(dir) {
		t.Errorf("%d runs were seen, waiting: %t", len(seen), HasUnpublished(dir))
	}
}

func TestWhatWaitsIsFoundByItsNumber(t *testing.T) {
	db := openTest(t, t.TempDir())
	rows, err := connOf(t, db).Query("EXPLAIN QUERY PLAN SELECT run FROM runs WHERE rowid > ? AND rowid <= ? AND "+ranByRowid+" ORDER BY rowid LIMIT ?", 1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	plan := ""
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan += detail
	}
	if plan != "SEARCH runs USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" {
		t.Errorf("the plan is %s", plan)
	}
}

// A kill between the file and the commit leaves the file alone, which the next publication removes.
func TestAFileWithoutARunGoes(t *testing.T) {
	dir := t.TempDir()
	db := openTest(t, dir)
	mustAddShared(t, db, rec(1, "a", outcome.Succeeded))
	publishAll(t, db, 5)
	killed := fmt.Errorf("killed")
	err := db.file.Write(context.Background(), func(tx *sql.Tx) error {
		if err := db.share(context.Background(), tx, []outcome.Record{rec(2, "a", outcome.Succeeded)}, false); err != nil {
			t.Fatal(err)
		}
		return killed
	})
	if _, missing := os.Stat(filepath.Join(dir, "unpublished")); err == nil || missing != nil {
		t.Fatal(err, missing)
	}
	expectRuns(t, "after the kill", publishAll(t, db, 5), nil)
	if HasUnpublished(dir) {
		t.Error("the file is still there")
	}
}
