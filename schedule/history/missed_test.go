package history

import (
	"context"
	"slices"
	"testing"
	"time"
)

func missed(task string, minute int) Record {
	at := noon.Add(time.Duration(minute) * time.Minute)
	return Record{Run: MissedID(task, at), Task: task, Mutex: task, Slot: at, Ended: at.Add(time.Hour), Outcome: Missed}
}

// ran is a run of the slot, asked for by its schedule or by origin.
func ranAt(n int, task string, minute int, origin string) Record {
	r := rec(n, task, Succeeded)
	r.Slot, r.Origin = noon.Add(time.Duration(minute)*time.Minute), origin
	return r
}

// Who comes first does not matter: a slot is missed only as long as nothing else is known of it.
func TestAMissedRecordGivesWay(t *testing.T) {
	for _, c := range []struct {
		name string
		add  [][]Record
		want []Outcome
	}{
		{"missed twice is missed once", [][]Record{{missed("a", 1)}, {missed("a", 1)}}, []Outcome{Missed}},
		{"missed, then it ran", [][]Record{{missed("a", 1)}, {ranAt(1, "a", 1, "")}}, []Outcome{Succeeded}},
		{"it ran, then missed", [][]Record{{ranAt(1, "a", 1, "")}, {missed("a", 1)}}, []Outcome{Succeeded}},
		{"both at once", [][]Record{{missed("a", 1), ranAt(1, "a", 1, "")}}, []Outcome{Succeeded}},
		{"both at once, the run first", [][]Record{{ranAt(1, "a", 1, ""), missed("a", 1)}}, []Outcome{Succeeded}},
		{"missed, and run because somebody asked", [][]Record{{missed("a", 1)}, {ranAt(1, "a", 1, "me")}}, []Outcome{Succeeded, Missed}},
		{"run because somebody asked, and missed", [][]Record{{ranAt(1, "a", 1, "me")}, {missed("a", 1)}}, []Outcome{Succeeded, Missed}},
		{"another slot", [][]Record{{missed("a", 1)}, {ranAt(1, "a", 2, "")}}, []Outcome{Succeeded, Missed}},
		{"another task", [][]Record{{missed("a", 1)}, {ranAt(1, "b", 1, "")}}, []Outcome{Succeeded, Missed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := openTest(t, t.TempDir())
			for _, records := range c.add {
				mustAdd(t, db, records...)
			}
			found, err := db.Find(context.Background(), Query{})
			if err != nil {
				t.Fatal(err)
			}
			var got []Outcome
			for _, r := range found {
				got = append(got, r.Outcome)
			}
			totals, err := db.Totals(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []Outcome{Missed, Succeeded} {
				n := int64(0)
				for _, total := range slices.Concat(totals["a"], totals["b"]) {
					if total.Outcome == o {
						n += total.Slots
					}
				}
				if want := len(slices.DeleteFunc(slices.Clone(got), func(g Outcome) bool { return g != o })); n != int64(want) {
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

func TestTheIDOfAMissedSlotIsATimeOrderedUUID(t *testing.T) {
	id := MissedID("a", noon)
	if !Begun(id).Equal(noon) || id[14] != '7' || id == MissedID("b", noon) || MissedID("a", noon.Add(time.Second)) < id {
		t.Errorf("the id is %s, of %s", id, Begun(id))
	}
}

func TestSlotsWithAnOutcome(t *testing.T) {
	db := openTest(t, t.TempDir())
	row := missed("a", 10)
	row.Slots, row.Until = 5, noon.Add(20*time.Minute)
	mustAdd(t, db, row, missed("a", 1), missed("a", 30), missed("b", 15), ranAt(1, "c", 16, ""), ranAt(2, "c", 17, "me"), missed("c", 18))
	slots, err := db.Slots(context.Background(), noon.Add(15*time.Minute), noon.Add(18*time.Minute))
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
