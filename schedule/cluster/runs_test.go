package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/testing/storetest"
)

// run is the n-th run of a task, one a minute, on one of three servers in turn.
func run(n int, task string, o outcome.Outcome) state.Row {
	at := noon.Add(time.Duration(n) * time.Minute)
	return state.Row{ID: runID(n), Task: task, Mutex: task, Slot: at, Server: fmt.Sprint("web-", n%3),
		Result: state.Result{Outcome: o, Ended: at.Add(time.Second)}, Started: at}
}

// publish publishes runs of one server, as the last runs of their tasks there.
func publish(t *testing.T, store mutex.Store, records ...state.Row) {
	t.Helper()
	last := map[string]state.Row{}
	for _, r := range records {
		if r.ID > last[r.Task].ID {
			last[r.Task] = r
		}
	}
	if err := Publish(ctx, store, records, last); err != nil {
		t.Fatal(err)
	}
}

func recent(t *testing.T, store mutex.Store, q past.Query) (runs []string) {
	t.Helper()
	records, err := Recent(ctx, store, "", q, MaxRuns)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range records {
		runs = append(runs, row.ID)
	}
	return runs
}

func lastOf(t *testing.T, store mutex.Store, self string, tasks ...string) map[string]state.Row {
	t.Helper()
	last, err := Last(ctx, store, self, tasks)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

func TestARunComesBackAsItWasPublishedWithoutSecretsAndPaths(t *testing.T) {
	store, code := storetest.New(), 3
	full := run(1, "report", outcome.Failed)
	full.ExitCode, full.Reason, full.Notes, full.Attempt.Number = &code, `exit code 3: "x" {y}`, []string{"hook after 1: ümläut"}, 2
	full.UserCPU, full.PeakMemory, full.Origin, full.Params = 1500*time.Microsecond, 5<<30, "retry",
		map[string]string{"DAY": "x"}
	full.Cause, full.Triggered = &outcome.Cause{Task: "a", Run: runID(9), Outcome: outcome.Failed},
		[]outcome.Triggered{{Task: "b", Run: runID(8)}}
	full.Values = map[string]float64{"rows": 18204, "usd": 0.31}
	sent := full
	sent.Snapshot, sent.Locked, sent.Output = []byte(`{"env":{"PASSWORD":"secret"}}`), true, "/srv/shop/.sched/output/1.log"
	sent.Seat, sent.Wait = "pool#1", state.Wait{Since: noon}
	publish(t, store, sent)
	records, err := Recent(ctx, store, "", past.Query{}, MaxRuns)
	if err != nil || len(records) != 1 || string(encode(shared(records[0]))) != string(encode(shared(full))) {
		t.Errorf("%v\n got %s\nwant %s", err, encode(records), encode(shared(full)))
	}
	if last := lastOf(t, store, "", "report"); string(encode(shared(last["report"]))) != string(encode(shared(full))) {
		t.Errorf("the last one is %+v", last)
	}
	values, _ := store.Tail(ctx, logRuns, 0, 10)
	if strings.Contains(string(values[0]), "secret") || strings.Contains(string(values[0]), "/srv") {
		t.Errorf("the store has %s", values[0])
	}
}

func TestRecentAnswersAsTheHistoryDoes(t *testing.T) {
	store, failures := storetest.New(), []outcome.Outcome{outcome.Failed, outcome.TimedOut}
	publish(t, store, run(4, "b", outcome.Succeeded), run(6, "a", outcome.TimedOut))
	// late: their server could not reach the store
	publish(t, store, run(1, "a", outcome.Succeeded), run(2, "a", outcome.Failed))
	publish(t, store, run(2, "a", outcome.Failed)) // once more: its answer was lost
	publish(t, store)
	for _, tt := range []struct {
		what string
		q    past.Query
		want []int
	}{
		{"everything, the newest slot first", past.Query{}, []int{6, 4, 2, 1}},
		{"the newest two", past.Query{Limit: 2}, []int{6, 4}},
		{"a task", past.Query{Task: "a"}, []int{6, 2, 1}},
		{"a task that never ran", past.Query{Task: "c"}, nil},
		{"failures", past.Query{Outcomes: failures}, []int{6, 2}},
		{"since a slot", past.Query{Since: noon.Add(4 * time.Minute)}, []int{6, 4}},
	} {
		var want []string
		for _, n := range tt.want {
			want = append(want, runID(n))
		}
		if got := recent(t, store, tt.q); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", tt.what, got, want)
		}
	}
}

// A long run ends after a short run that began later, and a server publishes late what it could not
// publish before.
func TestTheLastRunIsTheOneThatBeganLast(t *testing.T) {
	store := storetest.New()
	publish(t, store, run(5, "a", outcome.Failed), run(2, "b", outcome.Succeeded))
	publish(t, store, run(3, "a", outcome.Succeeded), run(4, "b", outcome.Lost)) // of web-0 and web-1
	late := run(2, "a", outcome.Succeeded)                                       // of web-2, as run 5
	if err := Publish(ctx, store, []state.Row{late},
		map[string]state.Row{"a": run(5, "a", outcome.Failed)}); err != nil {
		t.Fatal(err)
	}
	last := lastOf(t, store, "", "a", "never ran", "b", "a")
	if len(last) != 2 || last["a"].ID != runID(5) || last["b"].ID != runID(4) || last["b"].Outcome != outcome.Lost {
		t.Errorf("%v", last)
	}
	if found, err := Forget(ctx, store, "a"); !found || err != nil {
		t.Errorf("%t, %v", found, err)
	}
	if last := lastOf(t, store, "", "a", "b"); len(last) != 1 {
		t.Errorf("a is forgotten: %v", last)
	}
}

func TestARunIsNotListedAsRunningOnceItIsPublished(t *testing.T) {
	store, one := storetest.New(), web(1)
	one.Running = []Running{{Run: runID(1), Task: "a"}, {Run: runID(2), Task: "b"}}
	announce(t, store, one)
	publish(t, store, run(1, "a", outcome.Succeeded))
	if got := mustList(t, store); len(got[0].Running) != 1 || got[0].Running[0].Run != runID(2) {
		t.Errorf("%+v", got)
	}
}

func TestTheLogIsBounded(t *testing.T) {
	store := storetest.New()
	const all = MaxRuns + 2*PageSize
	for n := range all {
		if err := store.Append(ctx, logRuns, MaxRuns, encode(shared(run(n, "a", outcome.Succeeded)))); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	if got := recent(t, store, past.Query{}); len(got) != MaxRuns || got[0] != runID(all-1) {
		t.Errorf("%d runs are kept", len(got))
	}
	t.Logf("all are read in %s", time.Since(begun))
	before := store.Calls()
	if got, err := Recent(ctx, store, "", past.Query{}, PageSize); err != nil || len(got) != PageSize ||
		store.Calls()-before != 1 {
		t.Errorf("the last page: %d with %d calls, %v", len(got), store.Calls()-before, err)
	}
}

// A server could not reach the store for a day. The runs that it then publishes hide no runs that
// others published before.
func TestALateServerHidesNoNewerRuns(t *testing.T) {
	store := storetest.New()
	publish(t, store, run(5000, "newest", outcome.Succeeded))
	var late []state.Row
	for n := range 2 * PageSize {
		late = append(late, run(n, "a", outcome.Succeeded))
	}
	publish(t, store, late...)
	if got := recent(t, store, past.Query{Limit: 1}); !slices.Equal(got, []string{runID(5000)}) {
		t.Errorf("%v", got)
	}
}

func TestAllLastRunsOfABatchArePutSideBySide(t *testing.T) {
	store := storetest.New()
	var records []state.Row
	for n := range 200 {
		records = append(records, run(3*n, fmt.Sprint("task-", n), outcome.Succeeded))
	}
	publish(t, store, records...)
	if all, _ := store.All(ctx, tableLast); len(all) != 200 {
		t.Errorf("%d", len(all))
	}
	store.GoDown()
	if err := Publish(ctx, store, records, nil); err == nil {
		t.Error("the store is down, and nothing was said")
	}
}

// The attack: somebody who can write to the store publishes a run whose output is /etc/shadow. The
// run names this server or another one, and the attacker asks the server to show its output.
func TestARecordFromTheStoreNamesNoFileAndIsNeverOneOfThisServer(t *testing.T) {
	store := storetest.New()
	put := func(run, server string) {
		forged := fmt.Sprintf(`{"run":%q,"task":"a","mutex":"a","slot":"2026-03-01T12:01:00Z","server":%q,"outcome":"succeeded",
			"output":"/etc/shadow","Output":"/etc/shadow","locked":true,"Locked":true,"snapshot":"e30=","Snapshot":"e30="}`, run, server)
		forge(t, store, tableLast, "a@"+server, forged)
		if err := store.Append(ctx, logRuns, MaxRuns, []byte(forged)); err != nil {
			t.Fatal(err)
		}
	}
	put(runID(1), "web-2")
	put(runID(2), "web-1")
	put(runID(3), " web-1\u202e")
	records, err := Recent(ctx, store, "web-1", past.Query{}, MaxRuns)
	if err != nil || len(records) != 1 || records[0].Server != "web-2" || records[0].Output != "" ||
		records[0].Locked || records[0].Snapshot != nil {
		t.Errorf("%+v, %v", records, err)
	}
	if last := lastOf(t, store, "web-1", "a"); last["a"].Server != "web-2" || last["a"].Output != "" {
		t.Errorf("%+v", last)
	}
}

func TestARecordThatIsNoneIsLeftOut(t *testing.T) {
	good := string(encode(shared(run(1, "a", outcome.Succeeded))))
	for what, change := range map[string][2]string{
		"an id that is a path":        {runID(1), "../../../etc/passwd"},
		"an id with an escape":        {runID(1), `\u001b[2J`},
		"no id":                       {runID(1), ""},
		"an outcome that is none":     {"succeeded", "glorious"},
		"a skip, which nobody shares": {"succeeded", "skipped"},
		"no task":                     {`"task":"a"`, `"task":""`},
		"no server":                   {`"server":"web-1"`, `"server":""`},
		"a time beyond all others":    {"2026-03-01T12:01:00Z", "9999-12-31T23:59:59-23:59"},
		"a torn one":                  {`"task"`, `"task`},
		"a long one":                  {`"mutex":"a"`, `"mutex":"` + strings.Repeat("a", 70_000) + `"`},
	} {
		store, value := storetest.New(), strings.ReplaceAll(good, change[0], change[1])
		if value == good {
			t.Fatalf("%s: nothing is forged", what)
		}
		forge(t, store, tableLast, "a@web-1", value)
		store.Append(ctx, logRuns, MaxRuns, []byte(value))
		if got := recent(t, store, past.Query{}); len(got) > 0 {
			t.Errorf("%s: %v", what, got)
		}
		if last := lastOf(t, store, "", "a"); len(last) > 0 {
			t.Errorf("%s: %v", what, last)
		}
	}
	store := storetest.New()
	forge(t, store, tableLast, "b@web-1", good)
	if last := lastOf(t, store, "", "b"); len(last) > 0 {
		t.Errorf("a run of another task is the last of b: %v", last)
	}
}

func TestWhatARecordSaysIsCleanedAndSane(t *testing.T) {
	store, evil := storetest.New(), run(1, "a", outcome.Failed)
	evil.Task, evil.Reason, evil.Origin, evil.Notes, evil.Mutex = escape+"a", escape+"b\nroot: ok",
		escape, []string{escape + "n"}, escape
	evil.Server = escape + "web-2"
	evil.Attempt.Number, evil.UserCPU, evil.PeakMemory, evil.Wait.Waited = -1, -1, -1, -1
	evil.Cause, evil.Triggered = &outcome.Cause{Task: escape, Run: "../x"},
		[]outcome.Triggered{{Task: escape, Run: escape}}
	publish(t, store, evil)
	records, err := Recent(ctx, store, "", past.Query{}, MaxRuns)
	if err != nil || len(records) != 1 {
		t.Fatalf("%v, %v", records, err)
	}
	got := records[0]
	if got.Task != "a" || got.Reason != "b root: ok" || got.Server != "web-2" || got.Attempt.Number != 0 ||
		got.UserCPU != 0 || got.PeakMemory != 0 || got.Wait.Waited != 0 ||
		got.Cause != nil || len(got.Triggered) > 0 || strings.ContainsAny(fmt.Sprint(got), "\x1b\x07\n") {
		t.Errorf("%+v", got)
	}
}

func TestARunWithTooManyNotesIsPublishedWithoutThem(t *testing.T) {
	store, long := storetest.New(), run(1, "a", outcome.Succeeded)
	long.Notes = slices.Repeat([]string{strings.Repeat("n", 900)}, 100)
	publish(t, store, long)
	if got := recent(t, store, past.Query{}); !slices.Equal(got, []string{long.ID}) {
		t.Errorf("%v", got)
	}
}
