package state

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// randomRows are rows of some tasks in all phases, with ranges, tests and runs by hand.
func randomRows(random *rand.Rand, n int) (rows []Row) {
	for range n {
		task := fmt.Sprint("task-", random.IntN(4))
		r := ended(task, noon.Add(time.Duration(random.IntN(300))*time.Minute),
			outcome.All[random.IntN(len(outcome.All))])
		r.Scheduled, r.Test = random.IntN(2) == 0, random.IntN(10) == 0
		if r.Outcome == outcome.Succeeded && random.IntN(2) == 0 {
			r.Kind = outcome.Warning
		}
		switch random.IntN(8) {
		case 0:
			r.Phase, r.Owner, r.Result, r.Started = Running, 1, Result{}, r.Slot
		case 1:
			r.Phase, r.Result, r.Attempt, r.Started = Waiting, Result{}, Attempt{}, time.Time{}
		case 2:
			r.Result, r.Attempt, r.Started = Result{Outcome: outcome.Missed, Ended: noon}, Attempt{}, time.Time{}
			r.LastSlot, r.Slots = r.Slot.Add(time.Duration(random.IntN(100))*time.Minute), 1+random.IntN(100)
		case 3:
			r.Mutex = "task-0"
		}
		rows = append(rows, r)
	}
	return rows
}

func (q Query) matches(r Row) bool {
	last := r.Slot
	if !r.LastSlot.IsZero() {
		last = r.LastSlot
	}
	return (q.Task == "" || q.Task == r.Task) && (q.Mutex == "" || q.Mutex == r.Mutex) &&
		(len(q.Outcomes) == 0 || slices.Contains(q.Outcomes, r.Outcome) ||
			slices.Contains(q.Outcomes, outcome.Warned) && r.Warned()) &&
		(q.Since.IsZero() || !last.Before(q.Since)) && (q.Until.IsZero() || r.Slot.Before(q.Until)) &&
		(q.Slot.IsZero() || r.Slot.Equal(q.Slot)) && r.Phase == Ended &&
		(q.Below == Position{} || NewestFirst(Row{ID: q.Below.ID, Slot: q.Below.Slot}, r) < 0)
}

// For every query Find returns the rows that a look at each row finds.
func TestFindFindsWhatTheQuerySays(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	db := open(t, folder(t))
	add(t, db, randomRows(random, 300)...)
	all, err := db.Runs().Find(ctx, Query{})
	must(t, err)
	if !slices.IsSortedFunc(all, NewestFirst) || len(all) < 150 {
		t.Fatalf("%d rows", len(all))
	}
	maybe := func(n int, do func()) {
		if random.IntN(n) == 0 {
			do()
		}
	}
	moment := func() time.Time { return noon.Add(time.Duration(random.IntN(400)) * time.Minute) }
	for range 500 {
		var q Query
		maybe(2, func() { q.Task = fmt.Sprint("task-", random.IntN(5)) })
		maybe(3, func() { q.Mutex = fmt.Sprint("task-", random.IntN(2)) })
		maybe(2, func() {
			for range 1 + random.IntN(3) {
				q.Outcomes = append(q.Outcomes, outcome.Filters[random.IntN(len(outcome.Filters))])
			}
		})
		maybe(3, func() { q.Since = moment() })
		maybe(3, func() { q.Until = moment() })
		maybe(5, func() { q.Slot = moment() })
		maybe(3, func() { q.Below = positionOf(all[random.IntN(len(all))]) })
		var want []string
		for _, r := range all {
			if q.matches(r) {
				want = append(want, r.ID)
			}
		}
		maybe(2, func() {
			q.Limit = 1 + random.IntN(20)
			want = want[:min(q.Limit, len(want))]
		})
		rows, err := db.Runs().Find(ctx, q)
		must(t, err)
		var got []string
		for _, r := range rows {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %+v: %d rows, want %d", seed, q, len(got), len(want))
		}
	}
}

func TestARowIsFoundByAnEndOfItsID(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	one, two := ended("task", noon, outcome.Failed), ended("task", noon.Add(time.Minute), outcome.Failed)
	two.ID = two.ID[:len(two.ID)-4] + one.ID[len(one.ID)-4:]
	add(t, db, one, two)
	for _, id := range []string{one.ID, one.ID[:20], one.ID[len(one.ID)-12:]} {
		if r, err := db.Runs().Get(ctx, id); r.ID != one.ID || err != nil {
			t.Errorf("%s: %s, %v", id, r.ID, err)
		}
	}
	var ambiguous *AmbiguousError
	if _, err := db.Runs().Get(ctx, one.ID[len(one.ID)-4:]); !errors.As(err, &ambiguous) ||
		!slices.Equal(ambiguous.Candidates, []string{two.ID, one.ID}) {
		t.Errorf("%v", err)
	}
	for _, id := range []string{"", "zzzz", one.ID + "0"} {
		if _, err := db.Runs().Get(ctx, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestTheLastRunsOfTasks(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	success, failure := ended("task", noon, outcome.Succeeded), ended("task", noon.Add(time.Minute), outcome.Failed)
	skip := ended("task", noon.Add(2*time.Minute), outcome.Skipped)
	tested := ended("task", noon.Add(3*time.Minute), outcome.Succeeded)
	tested.Test, tested.Scheduled = true, false
	add(t, db, success, failure, skip, tested)
	last, err := db.Runs().Last(ctx, []string{"task", "other"})
	if err != nil || len(last) != 1 || last["task"].ID != failure.ID {
		t.Errorf("%v, %v", last, err)
	}
	if r, ok, err := db.Runs().Previous(ctx, "task", failure.ID); r.ID != success.ID || !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if _, ok, err := db.Runs().Previous(ctx, "task", success.ID); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}

func positionOf(r Row) Position { return Position{r.Slot, r.ID} }
