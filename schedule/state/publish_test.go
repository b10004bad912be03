package state_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

// publishAll takes the waiting runs in batches, as a tick does, and returns them in order.
func publishAll(t testing.TB, db *state.DB, batch int) (runs []string) {
	t.Helper()
	for more := true; more; {
		some := waiting(t, db, batch)
		if err := db.Runs().Published(context.Background(), some); err != nil {
			t.Fatal(err)
		}
		runs, more = append(runs, some...), len(some) == batch
	}
	return runs
}

// waiting returns runs that wait, at most limit.
func waiting(t testing.TB, db *state.DB, limit int) (runs []string) {
	t.Helper()
	records, err := db.Runs().Unpublished(context.Background(), limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		runs = append(runs, r.ID)
	}
	return runs
}

func mustAddShared(t testing.TB, db *state.DB, records ...state.Row) {
	t.Helper()
	if err := db.Runs().Record(context.Background(), records, true); err != nil {
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
	if hasUnpublished(dir) {
		t.Error("a run of a history that is not shared waits")
	}
	mustAddShared(t, db, rec(2, "a", outcome.Skipped))
	expectRuns(t, "a run of the past, and no skipped slot", waiting(t, db, 5), ids(1))
	mustAddShared(t, db, rec(3, "a", outcome.Failed))
	mustAdd(t, db, rec(5, "b", outcome.Missed), rec(4, "b", outcome.Lost)) // with Add, not AddShared
	if !hasUnpublished(dir) {
		t.Error("nothing waits")
	}
	expectRuns(t, "the runs, in the order in which they were added", publishAll(t, db, 500), ids(1, 3, 4))
	if hasUnpublished(dir) {
		t.Error("something still waits")
	}

	mustAdd(t, db, rec(6, "a", outcome.Skipped))
	if hasUnpublished(dir) {
		t.Error("a skipped slot waits")
	}
	mustAdd(t, db, rec(2, "long", outcome.Succeeded)) // its run began before the others
	mustAdd(t, db, rec(7, "long", outcome.Succeeded))
	if !hasUnpublished(dir) {
		t.Error("nothing waits after another run was added")
	}
	expectRuns(t, "a run that is there already is no new one", publishAll(t, db, 500), ids(7))
}

func TestBatchesSkipAndRepeatNothing(t *testing.T) {
	db := openTest(t, t.TempDir())
	var records []state.Row
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
	first, second := waiting(t, db, 1), waiting(t, db, 2)
	for _, some := range [][]string{second, first} { // first: a tick that was slow
		if err := db.Runs().Published(context.Background(), some); err != nil {
			t.Fatal(err)
		}
	}
	if !hasUnpublished(dir) {
		t.Error("nothing waits")
	}
	expectRuns(t, "after two were published", publishAll(t, db, 5), ids(3))
}

func TestOfAnOldHistoryOnlyTheNewestRunsArePublished(t *testing.T) {
	const newest = 1000
	db := openTest(t, t.TempDir())
	var old []state.Row
	for n := range 2 * newest {
		old = append(old, rec(n, "a", []outcome.Outcome{outcome.Succeeded, outcome.Skipped}[n%2]))
	}
	old = append(old, rec(2*newest, "a", outcome.Failed), rec(2*newest+1, "a", outcome.Failed))
	mustAdd(t, db, old...)
	mustAddShared(t, db, rec(2*newest+2, "a", outcome.Succeeded))
	got := publishAll(t, db, 300)
	if len(got) != newest+1 || got[0] != runID(4) {
		t.Errorf("%d runs, the first is %v", len(got), got[0])
	}
}

func TestAHistoryThatIsSharedNoMoreLetsGo(t *testing.T) {
	dir := t.TempDir()
	db := openTest(t, dir)
	mustAddShared(t, db, rec(1, "a", outcome.Succeeded))
	if err := db.Runs().Unshare(context.Background()); err != nil || hasUnpublished(dir) {
		t.Errorf("%v, waiting: %t", err, hasUnpublished(dir))
	}
	mustAdd(t, db, rec(2, "a", outcome.Succeeded))
	if hasUnpublished(dir) {
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
			mustAddShared(t, db, rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Succeeded),
				rec(3, "a", outcome.Succeeded),
				rec(4, "a", outcome.Succeeded), rec(5, "a", outcome.Succeeded), rec(6, "a", outcome.Succeeded),
				rec(0, "a", outcome.Skipped))
			if err := db.Runs().Published(context.Background(), waiting(t, db, tt.published)); err != nil {
				t.Fatal(err)
			}
			lost := 0
			for more := true; more; {
				did, err := db.Prune(context.Background(), minute(1000),
					state.Keep{For: tt.keep, RunsPerTask: tt.perTask}, state.SmallStep)
				if err != nil {
					t.Fatal(err)
				}
				more, lost = did.More, lost+did.Unpublished
			}
			expectRuns(t, "left", slices.DeleteFunc(runsOf(t, db, past.Query{}),
				func(id string) bool { return id == runID(0) }), ids(tt.want...))
			if lost != tt.lost {
				t.Errorf("%d were said to be lost", lost)
			}
		})
	}
}

// The newest row is a slot that was missed, and then that slot runs.
func TestARunThatReplacesTheNewestRowIsPublished(t *testing.T) {
	gap := missed("a", 10)
	gap.Slots, gap.LastSlot = 1, noon.Add(20*time.Minute)
	for name, newest := range map[string]state.Row{"a missed slot": missed("a", 10), "the last slot of a range": gap} {
		t.Run(name, func(t *testing.T) {
			db := openTest(t, t.TempDir())
			mustAddShared(t, db, rec(1, "a", outcome.Succeeded), newest)
			publishAll(t, db, 5)
			mustAddShared(t, db, ranAt(2, "a", 10, ""))
			expectRuns(t, "the run of the slot", publishAll(t, db, 5), ids(2))
		})
	}
}

// Some processes add and others publish at the same time: each run is published, and no run waits
// for ever.
func TestEachRunIsPublishedWhoeverAddsMeanwhile(t *testing.T) {
	dir := t.TempDir()
	mustAddShared(t, openTest(t, dir), rec(0, "a", outcome.Succeeded))
	const adders, each = 3, 30
	var adding, publishing sync.WaitGroup
	for a := range adders {
		adding.Go(func() {
			db := openTest(t, dir)
			for n := range each {
				if err := db.Runs().Record(context.Background(), []state.Row{rec(1+a*each+n, "a", outcome.Succeeded)},
					false); err != nil {
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
				if !hasUnpublished(dir) {
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
	if len(seen) != 1+adders*each || hasUnpublished(dir) {
		t.Errorf("%d runs were seen, waiting: %t", len(seen), hasUnpublished(dir))
	}
}

// hasUnpublished reports whether runs in the state folder wait to be published. It returns false
// when the database cannot be read.
func hasUnpublished(dir string) bool {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return false
	}
	defer db.Close()
	waiting, err := db.Runs().Unpublished(context.Background(), 1)
	return err == nil && len(waiting) > 0
}
