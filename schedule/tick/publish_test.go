package tick

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/testing/redistest"
)

func TestPublishingGoesOnUntilNothingIsLeftAndWaitsForTheStore(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	redis := miniredis.RunT(t)
	store := redistest.Dial(t, "redis://"+redis.Addr())
	db, err := state.Open(dir, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const all = 2*publishBatch + 1
	var records []state.Row
	for range all {
		now := time.Now()
		records = append(records, state.Row{ID: outcome.NewID(), Task: "a", Mutex: "a",
			Slot: now, Started: now, Result: state.Result{Ended: now, Outcome: outcome.Succeeded}, Server: "web-1"})
	}
	// of a history that begins to be shared only the newest are published
	if err := db.Runs().Record(ctx, records[:1], true); err != nil {
		t.Fatal(err)
	}
	if err := db.Runs().Record(ctx, records[1:], true); err != nil {
		t.Fatal(err)
	}

	redis.SetError("OOM command not allowed when used memory > 'maxmemory'.")
	if err := publishRuns(ctx, db, store); err == nil || !hasUnpublished(dir) {
		t.Fatalf("the store takes nothing: %v, waiting: %t", err, hasUnpublished(dir))
	}
	redis.SetError("")
	for end := time.Now().Add(30 * time.Second); hasUnpublished(dir); { // a slow machine may take several ticks
		if err := publishRuns(ctx, db, store); time.Now().After(end) {
			t.Fatal(err)
		}
	}
	published, err := cluster.Recent(ctx, store, "", state.Query{}, cluster.MaxRuns)
	if err != nil || len(published) != all {
		t.Errorf("%d of %d: %v", len(published), all, err)
	}
}

func TestWhatStaysWrongIsSaidOnceAnHour(t *testing.T) {
	said := ""
	tick := &Tick{Storage: run.StorageAt(filepath.Join(t.TempDir(), "new"), nil)}
	tick.Report.Problem = func(format string, a ...any) { said = fmt.Sprintf(format, a...) }
	expect := func(when string, want bool) {
		t.Helper()
		said = ""
		if tick.Report.Hourly(tick.Storage.Dir, "clock", "off by %s", time.Minute); (said == "off by 1m0s") != want {
			t.Errorf("%s: %q", when, said)
		}
	}
	setBack := func(ago time.Duration) {
		t.Helper()
		at := time.Now().Add(-ago)
		if err := os.Chtimes(filepath.Join(tick.Storage.Dir, "told-clock"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	expect("at first", true)
	expect("at once again", false)
	setBack(59 * time.Minute)
	expect("within the hour", false)
	setBack(61 * time.Minute)
	expect("after an hour", true)
	expect("at once again after that", false)
	setBack(-61 * time.Minute)
	expect("after the clock was set back", true)
	if tick.Report.Hourly(tick.Storage.Dir, "publish", "it is not published"); said != "it is not published" {
		t.Error("another matter counts apart")
	}
}

// hasUnpublished reports whether runs in the state folder wait to be published; false when it
// cannot be read.
func hasUnpublished(dir string) bool {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return false
	}
	defer db.Close()
	waiting, err := db.Runs().Unpublished(context.Background(), 1)
	return err == nil && len(waiting) > 0
}

// The detail once read "this server is not server".
func TestATickSaysThatItsServerIsNotAnnounced(t *testing.T) {
	w := newWorld(t, 1, `
  - {name: task, cron: "0 5 * * *", command: "true"}
`)
	redis := miniredis.RunT(t)
	w.storage.Store = redistest.Dial(t, "redis://"+redis.Addr())
	redis.Close()
	tick := w.tick()
	var detail string
	tick.Report.Detail = func(format string, args ...any) { detail = fmt.Sprintf(format, args...) }
	(&announcer{launcher: tick.prepare(unstopped).launcher}).tell(cluster.Server{Name: "web-1"})
	if !strings.HasPrefix(detail, "this server is not announced: ") {
		t.Errorf("the detail is %q", detail)
	}
}
