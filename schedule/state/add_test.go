package state_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// runID returns an id in the form of a UUIDv7: ids of later numbers sort later.
func runID(n int) string { return fmt.Sprintf("%08x-0000-7000-8000-%012x", n, n*7919) }

// rec is the n-th run of a task, one a minute.
func rec(n int, task string, o outcome.Outcome) state.Row {
	at := noon.Add(time.Duration(n) * time.Minute)
	r := state.Row{ID: runID(n), Task: task, Mutex: task, Slot: at, Server: "web-1",
		Result: state.Result{Outcome: o, Ended: at.Add(time.Second)}, Started: at}
	if o == outcome.Skipped || o == outcome.Missed {
		r.Started = time.Time{}
	}
	return r
}

func openTest(t testing.TB, dir string) *state.DB {
	t.Helper()
	db, err := state.Open(dir, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func mustAdd(t testing.TB, db *state.DB, records ...state.Row) {
	t.Helper()
	if err := db.Runs().Record(context.Background(), records, false); err != nil {
		t.Fatal(err)
	}
}

func runsOf(t testing.TB, db *state.DB, q past.Query) []string {
	t.Helper()
	found, err := past.Of(db).Find(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	runs := []string{}
	for _, r := range found {
		runs = append(runs, r.ID)
	}
	return runs
}

func TestARecordComesBackAsItWasAdded(t *testing.T) {
	dir := t.TempDir()
	code := 3
	full := state.Row{
		ID: runID(1), Task: "report", Mutex: "reports", Slot: noon, Background: true, Server: "web-1",
		Started: noon.Add(1234 * time.Microsecond),
		Result: state.Result{Ended: noon.Add(time.Minute), Outcome: outcome.Failed, Reason: "exit code 3",
			ExitCode: &code, UserCPU: 1500 * time.Microsecond, SystemCPU: 7 * time.Microsecond, PeakMemory: 5 << 30,
			Output: filepath.Join(dir, "output/report/1.log")},
		Attempt: state.Attempt{Number: 2}, Notes: []string{"a hook failed: \"x\"", "zwei"},
		Snapshot: json.RawMessage(`{"name":"report"}`),
		// no row says so
		Triggered: []outcome.Triggered{{Task: "clean", Run: runID(90)}, {Task: "load", Run: runID(91)}},
	}
	skipped := rec(2, "report", outcome.Skipped)
	missed := rec(4, "report", outcome.Missed)
	missed.LastSlot, missed.Slots, missed.Reason = missed.Slot.Add(time.Hour), 61, "13:04: no tick recorded"
	asked := rec(5, "report", outcome.Succeeded)
	asked.Origin = "retry of " + runID(90)
	asked.Cause = &outcome.Cause{Task: "report", Run: full.ID, Outcome: outcome.Failed} // it did not ask for the retry
	elsewhere := rec(3, "other", outcome.Succeeded)
	elsewhere.Output = "/var/log/other.log"
	noSlot := state.Row{ID: runID(0), Task: "bare", Result: state.Result{Outcome: outcome.Lost}}

	db := openTest(t, dir)
	mustAdd(t, db, full, skipped, elsewhere, noSlot, missed, asked)
	for _, want := range []state.Row{full, skipped, elsewhere, noSlot, missed, asked} {
		got, err := past.Of(db).Get(context.Background(), want.ID)
		got.DefinitionID = 0
		want.Phase, want.Scheduled, want.Slots = state.Ended, want.Origin == "", max(want.Slots, 1)
		want.SayCount() // which the table does not say
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
		}
	}
}

func TestOtherZonesComeBackAsUTC(t *testing.T) {
	db := openTest(t, t.TempDir())
	r := rec(1, "a", outcome.Succeeded)
	r.Slot = r.Slot.In(time.FixedZone("far", 8*3600))
	mustAdd(t, db, r)
	got, err := past.Of(db).Get(context.Background(), r.ID)
	if err != nil || got.Slot != noon.Add(time.Minute) || got.Slot.Location() != time.UTC {
		t.Errorf("got %v, %v", got.Slot, err)
	}
}

func TestOutputMovesWithTheFolder(t *testing.T) {
	old, moved := t.TempDir(), filepath.Join(t.TempDir(), "moved here?#%")
	db, err := state.Open(old, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	r := rec(1, "a", outcome.Succeeded)
	r.Output = filepath.Join(old, "output/a/1.log")
	mustAdd(t, db, r)
	if err := errors.Join(db.Close(), os.Rename(old, moved)); err != nil {
		t.Fatal(err)
	}
	got, err := past.Of(openTest(t, moved)).Get(context.Background(), r.ID)
	if want := filepath.Join(moved, "output/a/1.log"); err != nil || got.Output != want {
		t.Errorf("got %q, %v; want %q", got.Output, err, want)
	}
}

func TestARunAddedTwiceIsThereOnceAndAsItWasFirst(t *testing.T) {
	db := openTest(t, t.TempDir())
	first, second := rec(1, "a", outcome.Lost), rec(1, "a", outcome.Succeeded)
	mustAdd(t, db, first, first)
	mustAdd(t, db, second)
	got, err := past.Of(db).Find(context.Background(), past.Query{})
	if err != nil || len(got) != 1 || got[0].Outcome != outcome.Lost {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAddIsAllOrNothing(t *testing.T) {
	db := openTest(t, t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := db.Runs().Record(ctx, []state.Row{rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Succeeded)},
		false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := runsOf(t, db, past.Query{}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
