package past_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

// told returns the hours of a task as `succeeded 12:00 +1 +3, 2 runs of 1s`, with its minutes.
func told(t *testing.T, db *state.DB, task string) (all []string) {
	t.Helper()
	hours, err := past.Of(db).Hours(t.Context(), []string{task}, minute(-600), minute(6000))
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

// The hours have each record once, however it came there. They have no record that gave way, and no
// record of several slots.
func TestHoursSayWhatTheRecordsSay(t *testing.T) {
	db := openTest(t, t.TempDir())
	gap := rec(70, "a", outcome.Missed)
	gap.ID, gap.LastSlot, gap.Slots = outcome.RangeID("a", gap.Slot), minute(90), 21
	missed := rec(2, "a", outcome.Missed)
	missed.ID = outcome.MissedID("a", missed.Slot)
	mustAdd(t, db, rec(0, "a", outcome.Succeeded), rec(1, "a", outcome.Failed), missed, rec(61, "a", outcome.Succeeded),
		gap, rec(7, "b", outcome.Succeeded))
	late := rec(3, "a", outcome.Succeeded)
	mustAdd(t, db, late, late)
	twice := rec(5, "a", outcome.Succeeded)
	twice.ID, twice.Origin = runID(500), "trigger by ada"
	mustAdd(t, db, rec(2, "a", outcome.Succeeded), rec(5, "a", outcome.Succeeded), twice) // it was not missed after all
	want := []string{"failed 12:00 +1, 1 of 1s", "succeeded 12:00 +0 +2 +3 +5, 5 of 1s", "succeeded 13:00 +1, 1 of 1s"}
	if got := told(t, db, "a"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPruningForgetsHours(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(0, "a", outcome.Succeeded), rec(1, "a", outcome.Succeeded), rec(60, "a", outcome.Succeeded),
		rec(61, "a", outcome.Succeeded))
	prune(t, db, minute(1000), state.Keep{For: 0, RunsPerTask: 3})
	if got := told(t, db, "a"); len(got) != 2 {
		t.Errorf("three of four records are left: %q", got)
	}
	prune(t, db, minute(1000), state.Keep{For: 0, RunsPerTask: 2})
	if got := told(t, db, "a"); len(got) != 1 {
		t.Errorf("those of one hour are left: %q", got)
	}
}

func TestOfEachTaskTheNewest(t *testing.T) {
	db := openTest(t, t.TempDir())
	for n := range 5 {
		mustAdd(t, db, rec(n, "a", outcome.Succeeded), rec(n+10, "b", outcome.Failed))
	}
	tested := rec(9, "a", outcome.Failed)
	tested.Test = true // it counts in no statistic
	mustAdd(t, db, tested)
	gap := rec(-20, "a", outcome.Missed)
	gap.ID, gap.LastSlot, gap.Slots = outcome.RangeID("a", gap.Slot), minute(-5), 3
	mustAdd(t, db, gap)
	ctx, all := t.Context(), []past.Span{{Task: "a"}, {Task: "b", Since: minute(13)}, {Task: "none"}}
	newest, err := past.Of(db).Newest(ctx, all, time.Time{}, 3)
	if err != nil || len(newest["a"]) != 3 || len(newest["b"]) != 2 || !newest["a"][0].Slot.Equal(minute(4)) ||
		newest["b"][1].Outcome != outcome.Failed {
		t.Errorf("%v %v", newest, err)
	}
	if newest, err = past.Of(db).Newest(ctx, all, minute(14), 9); err != nil || len(newest["b"]) != 1 ||
		len(newest["a"]) != 6 {
		t.Errorf("before a time: %v %v", newest, err)
	}
	counts, err := past.Of(db).Counts(ctx, all, minute(14), 3)
	if err != nil || counts["a"] != 3 || counts["b"] != 1 || counts["none"] != 0 {
		t.Errorf("%v %v", counts, err)
	}
	ranges, err := past.Of(db).Ranges(ctx, []past.Span{{Task: "a", Since: minute(-10)}, {Task: "b"}}, minute(4))
	if err != nil || len(ranges["a"]) != 1 || len(ranges["b"]) != 0 || ranges["a"][0].ID != gap.ID {
		t.Errorf("%v %v", ranges, err)
	}
	if ranges, err = past.Of(db).Ranges(ctx, []past.Span{{Task: "a", Since: minute(-4)}}, minute(4)); err != nil ||
		len(ranges) != 0 {
		t.Errorf("one that was over: %v %v", ranges, err)
	}
}

// A retry that succeeds at 20:17 did the work of 2:30: the next run goes on from there.
func TestTheLastSuccessOfARetryIsTheSlotThatItRepeats(t *testing.T) {
	db := openTest(t, t.TempDir())
	regular, retry, test := rec(1, "a", outcome.Succeeded), rec(9, "a", outcome.Succeeded), rec(4, "a", outcome.Succeeded)
	retry.Repeats, test.Repeats, test.Test = rec(3, "a", outcome.Failed).Slot, retry.Slot, true
	mustAdd(t, db, regular, rec(3, "a", outcome.Failed), retry, test)
	for before, want := range map[int]int{1: 0, 2: 1, 3: 1, 4: 3, 20: 3} {
		got, err := db.Runs().LastSuccess(t.Context(), "a", rec(before, "a", outcome.Failed).Slot)
		var slot time.Time
		if want > 0 {
			slot = rec(want, "a", outcome.Failed).Slot
		}
		if err != nil || !got.Equal(slot) {
			t.Errorf("before %d: %s, %v; not %d", before, got, err, want)
		}
	}
}
