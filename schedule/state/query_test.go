package state_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

func TestFind(t *testing.T) {
	db := openTest(t, t.TempDir())
	nightly := rec(5, "nightly", outcome.Missed)
	nightly.Slot, nightly.Mutex = minute(2), "a"
	all := []state.Row{rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Failed), rec(3, "a", outcome.Skipped),
		rec(4, "b", outcome.Succeeded), nightly, rec(6, "a", outcome.TimedOut)}
	mustAdd(t, db, all...)

	for _, tt := range []struct {
		asked string
		q     state.Query
		want  []int
	}{
		{"everything, the newest slot first, and its newest run first", state.Query{}, []int{6, 4, 3, 5, 2, 1}},
		{"the two newest", state.Query{Limit: 2}, []int{6, 4}},
		{"a task", state.Query{Task: "a"}, []int{6, 3, 2, 1}},
		{"a task nobody knows", state.Query{Task: "c"}, nil},
		{"a mutex that two tasks share", state.Query{Mutex: "a"}, []int{6, 3, 5, 2, 1}},
		{"a task with another mutex", state.Query{Task: "nightly", Mutex: "nightly"}, nil},
		{"a task and its mutex", state.Query{Task: "nightly", Mutex: "a"}, []int{5}},
		{"failures of all tasks", state.Query{Outcomes: []outcome.Outcome{outcome.Failed, outcome.TimedOut,
			outcome.Stopped, outcome.Lost}}, []int{6, 2}},
		{"the newest failure", state.Query{Outcomes: []outcome.Outcome{outcome.Failed, outcome.TimedOut,
			outcome.Stopped, outcome.Lost}, Limit: 1}, []int{6}},
		{"an outcome named twice", state.Query{Outcomes: []outcome.Outcome{outcome.Failed, outcome.Failed}}, []int{2}},
		{"successes", state.Query{Outcomes: []outcome.Outcome{outcome.Succeeded}}, []int{4, 1}},
		{"what did not run", state.Query{Outcomes: []outcome.Outcome{outcome.Skipped, outcome.Missed}}, []int{3, 5}},
		{"failures of a task", state.Query{Task: "a", Outcomes: []outcome.Outcome{outcome.Failed, outcome.Lost}}, []int{2}},
		{"since a minute, itself included", state.Query{Since: minute(3)}, []int{6, 4, 3}},
		{"until a minute, itself not included", state.Query{Until: minute(3)}, []int{5, 2, 1}},
		{"since a moment after a slot", state.Query{Since: minute(4).Add(1)}, []int{6}},
		{"between two minutes, of one outcome",
			state.Query{Since: minute(2), Until: minute(6),
				Outcomes: []outcome.Outcome{outcome.Failed, outcome.Missed}}, []int{5, 2}},
		{"a slot", state.Query{Slot: minute(2)}, []int{5, 2}},
		{"a slot of a task", state.Query{Slot: minute(2), Task: "a"}, []int{2}},
		{"a slot with an outcome", state.Query{Slot: minute(2), Outcomes: []outcome.Outcome{outcome.Missed}}, []int{5}},
		{"a slot that was not due", state.Query{Slot: minute(2).Add(time.Second)}, nil},
		{"below a record", state.Query{Below: state.Position{Slot: minute(4), ID: runID(4)}}, []int{3, 5, 2, 1}},
		{"below the first of two of a slot",
			state.Query{Below: state.Position{Slot: minute(2), ID: runID(5)}}, []int{2, 1}},
		{"below both", state.Query{Below: state.Position{Slot: minute(2), ID: runID(2)}}, []int{1}},
		{"below a place between two slots",
			state.Query{Below: state.Position{Slot: minute(2).Add(time.Second), ID: ""}}, []int{5, 2, 1}},
		{"the next two failures below a record",
			state.Query{Below: state.Position{Slot: minute(6), ID: runID(6)},
				Outcomes: []outcome.Outcome{outcome.Failed, outcome.TimedOut}, Limit: 2}, []int{2}},
		{"below all, of a task", state.Query{Below: state.Position{Slot: minute(0), ID: ""}, Task: "a"}, nil},
		{"a name that is SQL", state.Query{Task: "a' OR 'a'='a"}, nil},
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
		q     state.Query
		want  []int
	}{
		{"the first minute of one", state.Query{Task: "a", Since: minute(10), Until: minute(11)}, []int{1}},
		{"one inside", state.Query{Task: "a", Since: minute(13), Until: minute(14)}, []int{1}},
		{"one inside, and a run of that minute",
			state.Query{Task: "a", Since: minute(15), Until: minute(16)}, []int{15, 1}},
		{"the last", state.Query{Task: "a", Since: minute(20), Until: minute(21)}, []int{1}},
		{"the one after it", state.Query{Task: "a", Since: minute(21), Until: minute(22)}, nil},
		{"the one before it", state.Query{Task: "a", Since: minute(9), Until: minute(10)}, nil},
		{"all tasks", state.Query{Since: minute(20), Until: minute(21)}, []int{2, 1}},
		{"all that was missed since", state.Query{Since: minute(20),
			Outcomes: []outcome.Outcome{outcome.Missed, outcome.Lost}}, []int{30, 2, 1}},
		{"successes", state.Query{Since: minute(13), Outcomes: []outcome.Outcome{outcome.Succeeded}}, []int{15}},
		{"of a mutex", state.Query{Since: minute(13), Mutex: "a"}, []int{30, 15, 1}},
		{"the newest", state.Query{Since: minute(13), Limit: 2}, []int{30, 15}},
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

func TestLastIsTheNewestThatRan(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Failed), rec(3, "a", outcome.Skipped),
		rec(4, "a", outcome.Missed),
		rec(5, "b", outcome.Succeeded), rec(6, "only skipped", outcome.Skipped),
		rec(7, "not asked for", outcome.Succeeded))
	last, err := db.Runs().Last(context.Background(), []string{"a", "b", "b", "only skipped", "never ran", `"`})
	if err != nil || len(last) != 2 || last["a"].ID != runID(2) || last["b"].ID != runID(5) {
		t.Errorf("got %v, %v", last, err)
	}
	if none, err := db.Runs().Last(context.Background(), nil); err != nil || len(none) != 0 {
		t.Errorf("of no tasks: got %v, %v", none, err)
	}
}

func TestPreviousIsTheNewestThatRanBefore(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(1, "a", outcome.Failed), rec(2, "a", outcome.Skipped), rec(3, "b", outcome.Failed),
		rec(5, "a", outcome.Succeeded))
	for _, tt := range []struct {
		before, task string
		run          int
		want         string
	}{
		{"a run that is recorded", "a", 5, runID(1)},
		{"a run that is not recorded yet", "a", 9, runID(5)},
		{"the first run", "a", 1, ""},
		{"a run of a task without records", "c", 9, ""},
	} {
		got, ok, err := db.Runs().Previous(context.Background(), tt.task, runID(tt.run))
		if err != nil || got.ID != tt.want || ok != (tt.want != "") {
			t.Errorf("before %s: got %q, %t, %v", tt.before, got.ID, ok, err)
		}
	}
}

func TestUnknownRunsAreThoseWithoutARow(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(1, "a", outcome.Succeeded))
	known := rec(1, "a", outcome.Succeeded).ID
	unknown, err := db.Runs().Unknown(t.Context(), []string{"0199", known, known[:8], `"`})
	if err != nil || !slices.Equal(unknown, []string{"0199", known[:8], `"`}) {
		t.Errorf("%q, %v", unknown, err)
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
		r, err := db.Runs().Get(context.Background(), tt.id)
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

// A run in a queue lets nobody behind it go first. A run that a pause keeps from starting
// delays nobody.
func TestTheQueuesInWhichARunStands(t *testing.T) {
	for _, row := range []struct {
		waits state.WaitsFor
		want  []string
	}{
		{state.ForNothing, nil},
		{state.ForTime, nil},
		{state.ForPause, nil},
		{state.ForMutex, []string{"db"}},
		{state.ForSeat, []string{"db", state.SeatQueue("few")}},
		{state.ForStore, nil},
	} {
		run := state.Row{Task: "report", Mutex: "db", Pool: "few", Wait: state.Wait{For: row.waits}}
		var stands []string
		for _, queue := range []string{"db", state.SeatQueue("few"), "few", "report", ""} {
			if run.InQueue(queue) {
				stands = append(stands, queue)
			}
		}
		if !slices.Equal(stands, row.want) {
			t.Errorf("a run that waits for %q stands in %q, want %q", row.waits, stands, row.want)
		}
	}
}
