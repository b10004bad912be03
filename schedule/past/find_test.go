package past_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

func TestFind(t *testing.T) {
	db := openTest(t, t.TempDir())
	nightly := rec(5, "nightly", outcome.Missed)
	nightly.Slot, nightly.Mutex = minute(2), "a"
	all := []state.Row{rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Failed), rec(3, "a", outcome.Skipped),
		rec(4, "b", outcome.Succeeded), nightly, rec(6, "a", outcome.TimedOut)}
	mustAdd(t, db, all...)

	for _, tt := range []struct {
		asked string
		q     past.Query
		want  []int
	}{
		{"everything, the newest slot first, and its newest run first", past.Query{}, []int{6, 4, 3, 5, 2, 1}},
		{"the two newest", past.Query{Limit: 2}, []int{6, 4}},
		{"a task", past.Query{Task: "a"}, []int{6, 3, 2, 1}},
		{"a task nobody knows", past.Query{Task: "c"}, nil},
		{"a mutex that two tasks share", past.Query{Mutex: "a"}, []int{6, 3, 5, 2, 1}},
		{"a task with another mutex", past.Query{Task: "nightly", Mutex: "nightly"}, nil},
		{"a task and its mutex", past.Query{Task: "nightly", Mutex: "a"}, []int{5}},
		{"failures of all tasks", past.Query{Outcomes: []outcome.Outcome{outcome.Failed, outcome.TimedOut,
			outcome.Stopped, outcome.Lost}}, []int{6, 2}},
		{"the newest failure", past.Query{Outcomes: []outcome.Outcome{outcome.Failed, outcome.TimedOut,
			outcome.Stopped, outcome.Lost}, Limit: 1}, []int{6}},
		{"an outcome named twice", past.Query{Outcomes: []outcome.Outcome{outcome.Failed, outcome.Failed}}, []int{2}},
		{"successes", past.Query{Outcomes: []outcome.Outcome{outcome.Succeeded}}, []int{4, 1}},
		{"what did not run", past.Query{Outcomes: []outcome.Outcome{outcome.Skipped, outcome.Missed}}, []int{3, 5}},
		{"failures of a task", past.Query{Task: "a", Outcomes: []outcome.Outcome{outcome.Failed, outcome.Lost}}, []int{2}},
		{"since a minute, itself included", past.Query{Since: minute(3)}, []int{6, 4, 3}},
		{"until a minute, itself not included", past.Query{Until: minute(3)}, []int{5, 2, 1}},
		{"since a moment after a slot", past.Query{Since: minute(4).Add(1)}, []int{6}},
		{"between two minutes, of one outcome",
			past.Query{Since: minute(2), Until: minute(6),
				Outcomes: []outcome.Outcome{outcome.Failed, outcome.Missed}}, []int{5, 2}},
		{"a slot", past.Query{Slot: minute(2)}, []int{5, 2}},
		{"a slot of a task", past.Query{Slot: minute(2), Task: "a"}, []int{2}},
		{"a slot with an outcome", past.Query{Slot: minute(2), Outcomes: []outcome.Outcome{outcome.Missed}}, []int{5}},
		{"a slot that was not due", past.Query{Slot: minute(2).Add(time.Second)}, nil},
		{"below a record", past.Query{Below: past.Position{Slot: minute(4), ID: runID(4)}}, []int{3, 5, 2, 1}},
		{"below the first of two of a slot",
			past.Query{Below: past.Position{Slot: minute(2), ID: runID(5)}}, []int{2, 1}},
		{"below both", past.Query{Below: past.Position{Slot: minute(2), ID: runID(2)}}, []int{1}},
		{"below a place between two slots",
			past.Query{Below: past.Position{Slot: minute(2).Add(time.Second), ID: ""}}, []int{5, 2, 1}},
		{"the next two failures below a record",
			past.Query{Below: past.Position{Slot: minute(6), ID: runID(6)},
				Outcomes: []outcome.Outcome{outcome.Failed, outcome.TimedOut}, Limit: 2}, []int{2}},
		{"below all, of a task", past.Query{Below: past.Position{Slot: minute(0), ID: ""}, Task: "a"}, nil},
		{"a name that is SQL", past.Query{Task: "a' OR 'a'='a"}, nil},
	} {
		want := []string{}
		for _, n := range tt.want {
			want = append(want, runID(n))
		}
		if got := runsOf(t, db, tt.q); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", tt.asked, got, want)
		}
		for _, r := range all {
			if tt.q.Limit == 0 && tt.q.Matches(r) != slices.Contains(want, r.ID) {
				t.Errorf("%s: Matches and Find do not agree on %s", tt.asked, r.ID)
			}
		}
	}
}

// A record may stand for a night of missed slots.
func TestFindRangesThatReachIntoATime(t *testing.T) {
	db := openTest(t, t.TempDir())
	night := func(n int, task string, from, until int) state.Row {
		r := rec(n, task, outcome.Missed)
		r.Slot, r.LastSlot, r.Slots = minute(from), minute(until), until-from+1
		return r
	}
	mustAdd(t, db, night(1, "a", 10, 20), night(2, "b", 12, 40),
		rec(15, "a", outcome.Succeeded), night(30, "a", 30, 31))

	for _, tt := range []struct {
		asked string
		q     past.Query
		want  []int
	}{
		{"the first minute of one", past.Query{Task: "a", Since: minute(10), Until: minute(11)}, []int{1}},
		{"one inside", past.Query{Task: "a", Since: minute(13), Until: minute(14)}, []int{1}},
		{"one inside, and a run of that minute",
			past.Query{Task: "a", Since: minute(15), Until: minute(16)}, []int{15, 1}},
		{"the last", past.Query{Task: "a", Since: minute(20), Until: minute(21)}, []int{1}},
		{"the one after it", past.Query{Task: "a", Since: minute(21), Until: minute(22)}, nil},
		{"the one before it", past.Query{Task: "a", Since: minute(9), Until: minute(10)}, nil},
		{"all tasks", past.Query{Since: minute(20), Until: minute(21)}, []int{2, 1}},
		{"all that was missed since", past.Query{Since: minute(20),
			Outcomes: []outcome.Outcome{outcome.Missed, outcome.Lost}}, []int{30, 2, 1}},
		{"successes", past.Query{Since: minute(13), Outcomes: []outcome.Outcome{outcome.Succeeded}}, []int{15}},
		{"of a mutex", past.Query{Since: minute(13), Mutex: "a"}, []int{30, 15, 1}},
		{"the newest", past.Query{Since: minute(13), Limit: 2}, []int{30, 15}},
	} {
		want := []string{}
		for _, n := range tt.want {
			want = append(want, runID(n))
		}
		if got := runsOf(t, db, tt.q); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", tt.asked, got, want)
		}
	}
}

func TestGet(t *testing.T) {
	db := openTest(t, t.TempDir())
	ids := []string{
		"0199aaaa-1111-7000-8000-00000000beef", "0199aaaa-1111-7000-8000-00000001beef",
		"0199aaaa-2222-7000-8000-0000000000ff",
		"short", "shorter", "%", "xyz",
	}
	for n := range 10 {
		ids = append(ids, fmt.Sprintf("crowd-%d", n))
	}
	for n, id := range ids {
		r := rec(n, "a", outcome.Succeeded)
		r.ID = id
		mustAdd(t, db, r)
	}
	for _, tt := range []struct {
		id, want string // want: a run, or the error
	}{
		// an id, or enough of it
		{ids[0], ids[0]},
		{"0199aaaa-2", ids[2]},
		{"00ff", ids[2]},
		{"01beef", ids[1]},
		{"ff", `no such run: "ff"`}, // too short for an end
		{"short", "short"},          // although another id, shorter, starts with it
		{"%", "%"},                  // no text is a pattern
		{"xyz", "xyz"},
		// no id
		{"", `no such run: ""`},
		{"0299", `no such run: "0299"`},
		{"_199aaaa", `no such run: "_199aaaa"`},
		{ids[0] + "0", `no such run: "` + ids[0] + `0"`},
		// several ids
		{"beef", "run beef could be any of " + ids[1] + ", " + ids[0]},
		{"0199aaaa-1", "run 0199aaaa-1 could be any of " + ids[1] + ", " + ids[0]},
		{"crowd", "run crowd could be any of crowd-5, crowd-4, crowd-3, crowd-2, crowd-1, …"},
	} {
		r, err := past.Of(db).Get(t.Context(), tt.id)
		got := r.ID
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.id, got, tt.want)
		}
		if strings.HasPrefix(tt.want, "no such run") != errors.Is(err, state.ErrNotFound) {
			t.Errorf("%q: got %v", tt.id, err)
		}
	}
}

// due is a slot of the schedule that an owner is about to start.
func due(task string, slot time.Time) state.Row {
	return state.Row{ID: outcome.NewIDAt(slot), Task: task, Mutex: task, Slot: slot, Scheduled: true, Server: "web-1",
		Snapshot: json.RawMessage(fmt.Sprintf(`{"name":%q}`, task))}
}

// ended is a slot of the schedule that ran for a second, or did not.
func ended(task string, slot time.Time, became outcome.Outcome) state.Row {
	r := due(task, slot)
	r.Phase, r.Result = state.Ended, state.Result{Outcome: became, Ended: slot.Add(2 * time.Second)}
	if r.Ran() {
		r.Started, r.Attempt = slot.Add(time.Second), state.Attempt{Number: 1, At: slot.Add(time.Second)}
	}
	return r
}

// add adds rows in a plan of their own.
func add(t testing.TB, db *state.DB, rows ...state.Row) {
	t.Helper()
	plan, err := db.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Rollback()
	if _, err := plan.Add(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if err := plan.Commit(); err != nil {
		t.Fatal(err)
	}
}

// randomRows are rows of some tasks in all phases, with ranges, tests and runs by hand.
func randomRows(random *rand.Rand, n int) (rows []state.Row) {
	for range n {
		task := fmt.Sprint("task-", random.IntN(4))
		r := ended(task, noon.Add(time.Duration(random.IntN(300))*time.Minute),
			outcome.All[random.IntN(len(outcome.All))])
		r.Scheduled, r.Test = random.IntN(2) == 0, random.IntN(10) == 0
		if r.Outcome == outcome.Succeeded && random.IntN(2) == 0 {
			r.Kind = outcome.Warning
		}
		if r.Outcome == outcome.Skipped && random.IntN(2) == 0 {
			r.Kind = outcome.StoreDown
		}
		switch random.IntN(8) {
		case 0:
			r.Phase, r.Owner, r.Result, r.Started = state.Running, 1, state.Result{}, r.Slot
		case 1:
			r.Phase, r.Result, r.Attempt, r.Started = state.Waiting, state.Result{}, state.Attempt{}, time.Time{}
		case 2:
			r.Result, r.Attempt, r.Started = state.Result{Outcome: outcome.Missed, Ended: noon}, state.Attempt{}, time.Time{}
			r.LastSlot, r.Slots = r.Slot.Add(time.Duration(random.IntN(100))*time.Minute), 1+random.IntN(100)
		case 3:
			r.Mutex = "task-0"
		}
		rows = append(rows, r)
	}
	return rows
}

// matches reports whether a row is one that the query says.
func matches(q past.Query, r state.Row) bool {
	last := r.Slot
	if !r.LastSlot.IsZero() {
		last = r.LastSlot
	}
	return (q.Task == "" || q.Task == r.Task) && (q.Mutex == "" || q.Mutex == r.Mutex) &&
		(len(q.Outcomes) == 0 || slices.Contains(q.Outcomes, r.Outcome) ||
			slices.Contains(q.Outcomes, outcome.Warned) && r.Warned() ||
			slices.Contains(q.Outcomes, outcome.NoStore) && r.Kind == outcome.StoreDown) &&
		(q.Since.IsZero() || !last.Before(q.Since)) && (q.Until.IsZero() || r.Slot.Before(q.Until)) &&
		(q.Slot.IsZero() || r.Slot.Equal(q.Slot)) && r.Phase == state.Ended && !(q.NoTests && r.Test) &&
		(q.Below == past.Position{} || past.NewestFirst(state.Row{ID: q.Below.ID, Slot: q.Below.Slot}, r) < 0)
}

// For every query Find returns the rows that a look at each row finds.
func TestFindFindsWhatTheQuerySays(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	db := openTest(t, t.TempDir())
	add(t, db, randomRows(random, 300)...)
	all, err := past.Of(db).Find(t.Context(), past.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(all, past.NewestFirst) || len(all) < 100 {
		t.Fatalf("%d rows", len(all))
	}
	maybe := func(n int, do func()) {
		if random.IntN(n) == 0 {
			do()
		}
	}
	moment := func() time.Time { return noon.Add(time.Duration(random.IntN(400)) * time.Minute) }
	for range 500 {
		var q past.Query
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
		maybe(3, func() { q.NoTests = true })
		maybe(3, func() { q.Below = positionOf(all[random.IntN(len(all))]) })
		var want []string
		for _, r := range all {
			if matches(q, r) {
				want = append(want, r.ID)
			}
		}
		maybe(2, func() {
			q.Limit = 1 + random.IntN(20)
			want = want[:min(q.Limit, len(want))]
		})
		rows, err := past.Of(db).Find(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %+v: %d rows, want %d", seed, q, len(got), len(want))
		}
	}
}

func TestARowIsFoundByAPartOfItsID(t *testing.T) {
	t.Parallel()
	db := openTest(t, t.TempDir())
	one, two := ended("task", noon, outcome.Failed), ended("task", noon.Add(time.Minute), outcome.Failed)
	two.ID = two.ID[:len(two.ID)-4] + one.ID[len(one.ID)-4:]
	add(t, db, one, two)
	for _, id := range []string{one.ID, one.ID[:20], one.ID[len(one.ID)-12:], one.ID[24:32]} {
		if r, err := past.Of(db).Get(t.Context(), id); r.ID != one.ID || err != nil {
			t.Errorf("%s: %s, %v", id, r.ID, err)
		}
	}
	var ambiguous *past.AmbiguousError
	if _, err := past.Of(db).Get(t.Context(), one.ID[len(one.ID)-4:]); !errors.As(err, &ambiguous) ||
		!slices.Equal(ambiguous.Candidates, []string{two.ID, one.ID}) {
		t.Errorf("%v", err)
	}
	for _, id := range []string{"", "zzzz", one.ID + "0"} {
		if _, err := past.Of(db).Get(t.Context(), id); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func positionOf(r state.Row) past.Position { return past.Position{r.Slot, r.ID} }

// runsOf returns the ids of the rows that Find finds.
func runsOf(t testing.TB, db *state.DB, q past.Query) []string {
	t.Helper()
	found, err := past.Of(db).Find(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	runs := []string{}
	for _, r := range found {
		runs = append(runs, r.ID)
	}
	return runs
}
