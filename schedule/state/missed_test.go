package state_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

func missed(task string, minute int) state.Row {
	at := noon.Add(time.Duration(minute) * time.Minute)
	return state.Row{ID: outcome.MissedID(task, at), Task: task, Mutex: task, Slot: at,
		Result: state.Result{Ended: at.Add(time.Hour), Outcome: outcome.Missed}}
}

// ranAt is a run of the slot, asked for by its schedule or by origin.
func ranAt(n int, task string, minute int, origin string) state.Row {
	r := rec(n, task, outcome.Succeeded)
	r.Slot, r.Origin = noon.Add(time.Duration(minute)*time.Minute), origin
	return r
}

// A slot is missed only as long as it has no other outcome, whichever is added first.
func TestAMissedRecordGivesWay(t *testing.T) {
	for _, c := range []struct {
		name string
		add  [][]state.Row
		want []outcome.Outcome
	}{
		{"missed twice is missed once", [][]state.Row{{missed("a", 1)}, {missed("a", 1)}},
			[]outcome.Outcome{outcome.Missed}},
		{"missed, then it ran", [][]state.Row{{missed("a", 1)}, {ranAt(1, "a", 1, "")}},
			[]outcome.Outcome{outcome.Succeeded}},
		{"it ran, then missed", [][]state.Row{{ranAt(1, "a", 1, "")}, {missed("a", 1)}},
			[]outcome.Outcome{outcome.Succeeded}},
		{"both at once", [][]state.Row{{missed("a", 1), ranAt(1, "a", 1, "")}}, []outcome.Outcome{outcome.Succeeded}},
		{"both at once, the run first", [][]state.Row{{ranAt(1, "a", 1, ""), missed("a", 1)}},
			[]outcome.Outcome{outcome.Succeeded}},
		{"missed, and run because somebody asked", [][]state.Row{{missed("a", 1)}, {ranAt(1, "a", 1, "me")}},
			[]outcome.Outcome{outcome.Succeeded, outcome.Missed}},
		{"run because somebody asked, and missed", [][]state.Row{{ranAt(1, "a", 1, "me")}, {missed("a", 1)}},
			[]outcome.Outcome{outcome.Succeeded, outcome.Missed}},
		{"another slot", [][]state.Row{{missed("a", 1)}, {ranAt(1, "a", 2, "")}},
			[]outcome.Outcome{outcome.Succeeded, outcome.Missed}},
		{"another task", [][]state.Row{{missed("a", 1)}, {ranAt(1, "b", 1, "")}},
			[]outcome.Outcome{outcome.Succeeded, outcome.Missed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := openTest(t, t.TempDir())
			for _, records := range c.add {
				mustAdd(t, db, records...)
			}
			found, err := past.Of(db).Find(context.Background(), past.Query{})
			if err != nil {
				t.Fatal(err)
			}
			var got []outcome.Outcome
			for _, r := range found {
				got = append(got, r.Outcome)
			}
			totals, err := past.Of(db).Totals(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []outcome.Outcome{outcome.Missed, outcome.Succeeded} {
				n := int64(0)
				for _, total := range slices.Concat(totals["a"], totals["b"]) {
					if total.Outcome == o {
						n += total.Slots
					}
				}
				if want := len(slices.DeleteFunc(slices.Clone(got),
					func(g outcome.Outcome) bool { return g != o })); n != int64(want) {
					t.Errorf("the total of %s is %d, and there are %d", o, n, want)
				}
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, not %v", got, c.want)
			}
		})
	}
}

// `sched run --at` runs a slot of a long gap. Then the record of the gap stands for the other slots
// only.
func TestARunTakesItsSlotFromTheRangeAroundIt(t *testing.T) {
	ctx, db := context.Background(), openTest(t, t.TempDir())
	row := missed("a", 10)
	row.Slots, row.LastSlot, row.Reason = 3, noon.Add(20*time.Minute), "12:20: no tick recorded"
	mustAdd(t, db, row, missed("a", 21), missed("b", 10))
	steps := []struct {
		add  state.Row
		want string
	}{
		{ranAt(1, "a", 10, ""), "2 times until 12:20: no tick recorded"},
		{ranAt(1, "a", 10, ""), "2 times until 12:20: no tick recorded"}, // finished twice
		{ranAt(2, "a", 10, ""), "2 times until 12:20: no tick recorded"}, // and again, by hand
		{ranAt(3, "a", 15, "me"), "2 times until 12:20: no tick recorded"},
		{row, "2 times until 12:20: no tick recorded"},
		{ranAt(4, "a", 15, ""), "once until 12:20: no tick recorded"},
		{ranAt(5, "a", 20, ""), ""},
	}
	for _, step := range steps {
		mustAdd(t, db, step.add)
		found, err := past.Of(db).Find(ctx, past.Query{Task: "a", Outcomes: []outcome.Outcome{outcome.Missed}})
		if err != nil {
			t.Fatal(err)
		}
		reason, slots := "", int64(0)
		for _, r := range found {
			slots += int64(max(1, r.Slots))
			if r.IsRange() {
				reason = r.Reason
			}
		}
		totals, err := past.Of(db).Totals(ctx)
		if err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for _, one := range totals["a"] {
			if one.Outcome == outcome.Missed {
				total = one.Slots
			}
		}
		if reason != step.want || total != slots {
			t.Errorf("after %s at %s %q: %q, not %q; %d slots, %d in all",
				step.add.ID, step.add.Slot, step.add.Origin, reason, step.want, slots, total)
		}
	}
}

// The gap was counted, and then somebody ran its first slot by hand. Only afterwards the record of
// the gap was added.
func TestARangeIsAddedWithoutAFirstSlotThatRan(t *testing.T) {
	db := openTest(t, t.TempDir())
	row := missed("a", 10)
	row.Slots, row.LastSlot, row.Reason = 3, noon.Add(20*time.Minute), "12:20: no tick recorded"
	mustAdd(t, db, ranAt(1, "a", 10, ""))
	mustAdd(t, db, row)
	found, err := past.Of(db).Find(context.Background(),
		past.Query{Task: "a", Outcomes: []outcome.Outcome{outcome.Missed}})
	if err != nil || len(found) != 1 || found[0].Slots != 2 || found[0].Reason != "2 times until 12:20: no tick recorded" {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestTheIDOfAMissedSlotIsATimeOrderedUUID(t *testing.T) {
	id := outcome.MissedID("a", noon)
	if !outcome.TimeOfID(id).Equal(noon) || id[14] != '7' || id == outcome.MissedID("b", noon) ||
		outcome.MissedID("a", noon.Add(time.Second)) < id {
		t.Errorf("the id is %s, of %s", id, outcome.TimeOfID(id))
	}
}

func TestSlotsWithAnOutcome(t *testing.T) {
	db := openTest(t, t.TempDir())
	row := missed("a", 10)
	row.Slots, row.LastSlot = 5, noon.Add(20*time.Minute)
	mustAdd(t, db, row, missed("a", 1), missed("a", 30), missed("b", 15), ranAt(1, "c", 16, ""),
		ranAt(2, "c", 17, "me"), missed("c", 18))
	slots, err := db.Runs().Slots(context.Background(), noon.Add(15*time.Minute), noon.Add(18*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range slots {
		got = append(got, s.Task+s.At.Format(" 15:04")+s.Until.Format("-15:04"))
	}
	slices.Sort(got)
	if want := []string{"a 12:10-12:20", "b 12:15-12:15", "c 12:16-12:16"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
