package history

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// told returns the hours of a task as `succeeded 12:00 +1 +3, 2 runs of 1s`, with its minutes.
func told(t *testing.T, db *DB, task string) (all []string) {
	t.Helper()
	hours, err := db.Hours(t.Context(), []string{task}, minute(-600), minute(6000))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hours {
		text := fmt.Sprintf("%s %s", h.Outcome, h.Begin.Format("15:04"))
		for n := range 60 {
			if h.Minutes&(1<<n) != 0 {
				text += fmt.Sprintf(" +%d", n)
			}
		}
		all = append(all, fmt.Sprintf("%s, %d of %s", text, h.Runs, h.Usual()))
	}
	return all
}

// What a transaction adds to the hours is what the rows say that are there then, however they came there.
func TestHoursSayWhatTheRecordsSay(t *testing.T) {
	db, ctx := openTest(t, t.TempDir()), context.Background()
	late := rec(3, "a", outcome.Succeeded)
	gap := rec(70, "a", outcome.Missed)
	gap.Run, gap.Until, gap.Slots = outcome.RangeID("a", gap.Slot), minute(90), 21
	missed := rec(2, "a", outcome.Missed)
	missed.Run = outcome.MissedID("a", missed.Slot)
	mustAdd(t, db, rec(0, "a", outcome.Succeeded), rec(1, "a", outcome.Failed), missed, rec(61, "a", outcome.Succeeded), gap, rec(7, "b", outcome.Succeeded))
	mustAdd(t, db, late, late)
	ran := rec(2, "a", outcome.Succeeded) // it was not missed after all
	mustAdd(t, db, ran, rec(5, "a", outcome.Succeeded))
	want, err := db.Hours(ctx, []string{"a"}, minute(-600), minute(6000))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(told(t, db, "a"))
	if _, err := connOf(t, db).Exec("DELETE FROM hours; INSERT INTO hours " + hoursOfRuns + groupedByHour); err != nil {
		t.Fatal(err)
	}
	got, err := db.Hours(ctx, []string{"a"}, minute(-600), minute(6000))
	if err != nil || len(got) != 3 || !slices.Equal(got, want) {
		t.Errorf("%v\nhours   %v\nrecords %v", err, want, got)
	}
	if n := got[0].Runs + got[1].Runs + got[2].Runs; n != 6 {
		t.Errorf("%d records", n)
	}
}

// An hour is forgotten with the last of its records.
func TestPruningForgetsHours(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(0, "a", outcome.Succeeded), rec(1, "a", outcome.Succeeded), rec(60, "a", outcome.Succeeded), rec(61, "a", outcome.Succeeded))
	pruneAll(t, db, minute(1000), 0, 3)
	if got := told(t, db, "a"); len(got) != 2 {
		t.Errorf("three of four records are left: %q", got)
	}
	pruneAll(t, db, minute(1000), 0, 2)
	if got := told(t, db, "a"); len(got) != 1 {
		t.Errorf("those of one hour are left: %q", got)
	}
}

func TestOfEachTaskTheNewest(t *testing.T) {
	db := openTest(t, t.TempDir())
	for n := range 5 {
		mustAdd(t, db, rec(n, "a", outcome.Succeeded), rec(n+10, "b", outcome.Failed))
	}
	gap := rec(-20, "a", outcome.Missed)
	gap.Run, gap.Until, gap.Slots = outcome.RangeID("a", gap.Slot), minute(-5), 3
	mustAdd(t, db, gap)
	ctx, all := t.Context(), []Span{{Task: "a"}, {Task: "b", Since: minute(13)}, {Task: "none"}}
	newest, err := db.Newest(ctx, all, time.Time{}, 3)
	if err != nil || len(newest["a"]) != 3 || len(newest["b"]) != 2 || !newest["a"][0].Slot.Equal(minute(4)) || newest["b"][1].Outcome != outcome.Failed {
		t.Errorf("%v %v", newest, err)
	}
	if newest, err = db.Newest(ctx, all, minute(14), 9); err != nil || len(newest["b"]) != 1 || len(newest["a"]) != 6 {
		t.Errorf("before a time: %v %v", newest, err)
	}
	counts, err := db.Counts(ctx, all, minute(14), 3)
	if err != nil || counts["a"] != 3 || counts["b"] != 1 || counts["none"] != 0 {
		t.Errorf("%v %v", counts, err)
	}
	ranges, err := db.Ranges(ctx, []Span{{Task: "a", Since: minute(-10)}, {Task: "b"}}, minute(4))
	if err != nil || len(ranges["a"]) != 1 || len(ranges["b"]) != 0 || ranges["a"][0].Run != gap.Run {
		t.Errorf("%v %v", ranges, err)
	}
	if ranges, err = db.Ranges(ctx, []Span{{Task: "a", Since: minute(-4)}}, minute(4)); err != nil || len(ranges) != 0 {
		t.Errorf("one that was over: %v %v", ranges, err)
	}
}
