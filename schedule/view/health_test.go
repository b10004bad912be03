package view

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/load"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/schedule/work"
)

// noon is the time of these tests. It is near the real time, which is in the ids of runs.
var noon = time.Now().UTC().Truncate(time.Minute)

// scheduleIn makes a schedule of tasks that are due every minute, in a folder of the test.
func scheduleIn(t *testing.T, tasks ...string) *schedule.Schedule {
	t.Helper()
	text := "name: shop\ntimezone: UTC\ntasks:\n"
	for _, task := range tasks {
		text += fmt.Sprintf("- {name: %s, every: minute, command: 'true'}\n", task)
	}
	s, err := load.Text([]byte(text), filepath.Join(t.TempDir(), "schedule.yaml"), load.Options{Local: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

// ranBefore is a record of the slot so many minutes before noon.
func ranBefore(task string, ago int, o outcome.Outcome) state.Row {
	slot := noon.Add(-time.Duration(ago) * time.Minute)
	r := state.Row{ID: fmt.Sprintf("%08d-0000-7000-8000-%s", 1000-ago, task), Task: task, Mutex: task, Slot: slot,
		Result: state.Result{Outcome: o, Ended: slot.Add(2 * time.Second), Reason: "a reason"}}
	if o != outcome.Skipped && o != outcome.Missed {
		code := len(o)
		r.Started, r.ExitCode = slot.Add(time.Second/2), &code
	}
	return r
}

func stoppedBefore(task string, ago int, why outcome.Kind) state.Row {
	r := ranBefore(task, ago, outcome.Stopped)
	r.Kind = why
	return r
}

// crowdedBefore is a record of a slot that a full pool skipped.
func crowdedBefore(task string, ago int) state.Row {
	r := ranBefore(task, ago, outcome.Skipped)
	r.Kind = outcome.Full
	return r
}

func missed(task string, ago, slots int) state.Row {
	r := ranBefore(task, ago, outcome.Missed)
	if slots > 1 {
		r.Slots, r.LastSlot = slots, r.Slot.Add(time.Duration(slots-1)*time.Minute)
	}
	return r
}

func remember(t *testing.T, s *schedule.Schedule, rows ...state.Row) {
	t.Helper()
	db, err := state.Open(s.StateDir, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Runs().Record(context.Background(), rows, false); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// troublesOf says the troubles in words: "a failed", "b missed 3".
func troublesOf(t *testing.T, s *schedule.Schedule, now time.Time) []string {
	t.Helper()
	status := HealthOf(s, false, now)
	if err := status.Explain(); err != nil || status.Err != nil {
		t.Fatal(err, status.Err)
	}
	words := []string{}
	for _, trouble := range status.Troubles {
		text := trouble.Task + " " + string(trouble.Kind)
		if trouble.Kind == HasMissed {
			text += fmt.Sprintf(" %d, %s-%s", trouble.Slots, noon.Sub(trouble.First), noon.Sub(trouble.Final))
		}
		words = append(words, text)
	}
	return words
}

func TestTroubleIsWhatTheLastRunsTell(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		records []state.Row
		want    []string
	}{
		{"nothing was ever due", nil, nil},
		{"a success", []state.Row{ranBefore("a", 3, outcome.Succeeded)}, nil},
		{"a failure after a success", []state.Row{ranBefore("a", 3, outcome.Succeeded),
			ranBefore("a", 2, outcome.Failed)}, []string{"a failed"}},
		{"a success after a failure", []state.Row{ranBefore("a", 3, outcome.Failed),
			ranBefore("a", 2, outcome.Succeeded)}, nil},
		{"a failure, and skips since", []state.Row{ranBefore("a", 3, outcome.Failed),
			ranBefore("a", 2, outcome.Skipped)}, []string{"a failed"}},
		{"a full pool, and a gap without ticks since", []state.Row{crowdedBefore("a", 5), crowdedBefore("a", 4),
			crowdedBefore("a", 3), missed("a", 2, 2)}, []string{"a missed 2, 2m0s-1m0s", "a crowded"}},
		{"a full pool around a gap without ticks", []state.Row{ranBefore("a", 9, outcome.Succeeded),
			crowdedBefore("a", 5), crowdedBefore("a", 4), missed("a", 3, 2), crowdedBefore("a", 1)},
			[]string{"a missed 2, 3m0s-2m0s", "a crowded"}},
		{"a full pool, a run and a gap", []state.Row{crowdedBefore("a", 5), crowdedBefore("a", 4),
			ranBefore("a", 3, outcome.Succeeded), crowdedBefore("a", 2), missed("a", 1, 1)},
			[]string{"a missed 1, 1m0s-1m0s"}},
		{"every way to fail, in the order of the file",
			[]state.Row{ranBefore("d", 1, outcome.TimedOut), ranBefore("c", 1, outcome.Stopped),
				ranBefore("b", 1, outcome.Lost), ranBefore("a", 1, outcome.Failed)},
			[]string{"a failed", "b failed", "c failed", "d failed"}},
		{"a run that a person stopped, and one that a pause stopped",
			[]state.Row{ranBefore("a", 2, outcome.Failed), stoppedBefore("a", 1, outcome.ByHand),
				stoppedBefore("b", 1, outcome.Paused), stoppedBefore("c", 1, outcome.NotBegun)}, []string{"c failed"}},
		{"a slot that was missed after a success", []state.Row{ranBefore("a", 3, outcome.Succeeded), missed("a", 2, 1)},
			[]string{"a missed 1, 2m0s-2m0s"}},
		{"several, and only those since the last run",
			[]state.Row{missed("a", 40, 5), ranBefore("a", 30, outcome.Succeeded), missed("a", 20, 3),
				ranBefore("a", 15, outcome.Skipped), missed("a", 10, 4)},
			[]string{"a missed 7, 20m0s-7m0s"}},
		{"a success after what was missed", []state.Row{missed("a", 3, 2), ranBefore("a", 1, outcome.Succeeded)}, nil},
		{"slots missed by a task that never ran", []state.Row{missed("a", 9, 9)}, []string{"a missed 9, 9m0s-1m0s"}},
		{"missed and failed", []state.Row{ranBefore("a", 3, outcome.Failed), missed("a", 2, 1)},
			[]string{"a failed", "a missed 1, 2m0s-2m0s"}},
		{"slots that were missed by a clock that was a day ahead",
			[]state.Row{ranBefore("a", 3, outcome.Succeeded), missed("a", -1440, 10)}, nil},
		{"such slots, and one that was missed before",
			[]state.Row{ranBefore("a", 3, outcome.Succeeded), missed("a", 2, 1), missed("a", -1440, 10)},
			[]string{"a missed 1, 2m0s-2m0s"}},
		{"a task that is gone", []state.Row{ranBefore("gone", 1, outcome.Failed), missed("gone", 1, 1)}, nil},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := scheduleIn(t, "a", "b", "c", "d")
			remember(t, s, tt.records...)
			if got := troublesOf(t, s, noon); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A task that is switched off troubles nobody, whatever its past.
func TestOnlyActiveTasksHaveTrouble(t *testing.T) {
	s := scheduleIn(t, "a", "b")
	remember(t, s, ranBefore("a", 1, outcome.Failed), ranBefore("b", 1, outcome.Failed))
	s.Tasks[0].Enabled = false
	if got := troublesOf(t, s, noon); !slices.Equal(got, []string{"b failed"}) {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsSlow(t *testing.T) {
	usually := func(d time.Duration) past.Usual { return past.Usual{Runs: slowKnown, Duration: d} }
	for _, tt := range []struct {
		rule    string
		running time.Duration
		usual   past.Usual
		want    bool
	}{
		{"three times as long is not slow", 30 * time.Minute, usually(10 * time.Minute), false},
		{"more than that is", 30*time.Minute + time.Second, usually(10 * time.Minute), true},
		{"a short task has a minute more", 61 * time.Second, usually(2 * time.Second), false},
		{"and then it is slow", 62 * time.Second, usually(2 * time.Second), true},
		{"one that takes no time has a minute", time.Minute, usually(0), true},
		{"nobody knows what is usual", 99 * time.Hour, past.Usual{}, false},
		{"two runs are not enough to know", 99 * time.Hour, past.Usual{Runs: 2, Duration: time.Second}, false},
	} {
		if got := isSlow(tt.running, tt.usual); got != tt.want {
			t.Errorf("%s: got %t", tt.rule, got)
		}
	}
}

// A begunRun is a run that a process, this test, looks after.
type begunRun struct {
	t     *testing.T
	db    *state.DB
	owner *state.Owner
	own   state.Owned
	row   state.Row
}

// begun begins a run that somebody watches until the test ends.
func begun(t *testing.T, s *schedule.Schedule, task string) *begunRun {
	t.Helper()
	db, err := state.Open(s.StateDir, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	r := &begunRun{t: t, db: db,
		row: state.Row{ID: outcome.NewID(), Task: task, Slot: noon, Origin: "by a test"}}
	t.Cleanup(func() { // and not before: a file that nobody refers to any more is closed
		r.owner.Close()
		db.Close()
	})
	if r.owner, err = db.Owners().Enroll(t.Context(), state.Supervisor); err != nil {
		t.Fatal(err)
	}
	r.own = db.Owners().Owned(r.owner)
	attempt := state.Attempt{Number: 1, PID: 1, At: time.Now()}
	if err = errors.Join(r.own.Begin(t.Context(), r.row), r.own.Apply(t.Context(), state.Start(attempt), &r.row),
		r.own.Apply(t.Context(), state.Fork(attempt.PID), &r.row)); err != nil {
		t.Fatal(err)
	}
	return r
}

// vanishes is the end of the process that watches the run.
func (r *begunRun) vanishes() { r.owner.Close() }

func TestRunsThatLiveAndThatVanished(t *testing.T) {
	s := scheduleIn(t, "a", "b")
	remember(t, s, ranBefore("a", 4, outcome.Succeeded), ranBefore("a", 3, outcome.Succeeded),
		ranBefore("a", 2, outcome.Succeeded))
	begun(t, s, "a")
	begun(t, s, "gone")
	begun(t, s, "b").vanishes()
	putOff := begun(t, s, "a") // until its next attempt
	deferred := state.Defer(state.Result{}, noon.Add(time.Hour), nil)
	if err := putOff.own.Apply(t.Context(), deferred, &putOff.row); err != nil {
		t.Fatal(err)
	}

	status := HealthOf(s, false, noon)
	if status.Running != 2 || len(status.Tasks[0].Running) != 1 {
		t.Errorf("%d run, %d of a", status.Running, len(status.Tasks[0].Running))
	}
	if got := troublesOf(t, s, time.Now()); !slices.Equal(got, []string{"b vanished"}) {
		t.Errorf("now: %q", got)
	}
	if got := troublesOf(t, s, time.Now().Add(time.Hour)); !slices.Equal(got, []string{"a slow", "b vanished"}) {
		t.Errorf("an hour later: %q", got)
	}
}

// A background run has its outcome before a tick came.
func TestAnEndThatNoTickHasSeenYetCounts(t *testing.T) {
	s := scheduleIn(t, "a")
	remember(t, s, ranBefore("a", 2, outcome.Failed))
	run := begun(t, s, "a")
	end := state.Ending{Result: state.Result{Outcome: outcome.Succeeded, Ended: noon}}
	if err := run.own.Apply(t.Context(), state.End(end), &run.row); err != nil {
		t.Fatal(err)
	}
	status := HealthOf(s, false, time.Now()) // a minute after noon its start would be in the future
	if len(status.Troubles) > 0 || !status.Tasks[0].Success.Equal(noon) ||
		status.Tasks[0].Last.Outcome != outcome.Succeeded {
		t.Errorf("got %+v, %+v", status.Troubles, status.Tasks[0].Last)
	}
}

// A clock was hours ahead while a run failed. Its id is the highest until the clock has caught up.
func TestARunOfTheFutureIsNotTheLast(t *testing.T) {
	s := scheduleIn(t, "a")
	remember(t, s, ranBefore("a", 3, outcome.Failed), ranBefore("a", 2, outcome.Succeeded),
		ranBefore("a", -300, outcome.Failed))
	status := HealthOf(s, false, noon)
	if len(status.Troubles) > 0 || status.Tasks[0].Last.Outcome != outcome.Succeeded {
		t.Errorf("got %+v, %+v", status.Troubles, status.Tasks[0].Last)
	}
	if later := HealthOf(s, false, noon.Add(6*time.Hour)); later.Tasks[0].Last.Outcome != outcome.Failed {
		t.Errorf("hours later it is: %+v", later.Tasks[0].Last)
	}
}

func TestADamagedHistoryIsToldAndNotMended(t *testing.T) {
	s := scheduleIn(t, "a")
	remember(t, s, ranBefore("a", 2, outcome.Succeeded))
	path := filepath.Join(s.StateDir, "sched.db")
	if err := os.WriteFile(path, []byte("this is no database, and never was one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := HealthOf(s, false, noon); !state.Damaged(status.Err) {
		t.Errorf("got %v", status.Err)
	}
	if text, _ := os.ReadFile(path); len(text) != 38 {
		t.Errorf("the file was changed: %q", text)
	}
}

func TestWithoutAHistoryNobodyKnowsWhetherTicksCome(t *testing.T) {
	s := scheduleIn(t, "a")
	if err := os.WriteFile(filepath.Join(s.StateDir, "sched.db"), []byte("no database at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	source := Source{Schedule: s, Now: func() time.Time { return noon }, Problem: func(string, ...any) {}}
	if missing := source.TicksMissing(); missing != "" {
		t.Error(missing)
	}
	const want = "the history cannot be read, so nobody knows whether ticks come"
	if status := StatusOf(source, HealthOf(s, false, noon)); status.ExitCode != IsDown || status.Troubles[0].Text != want {
		t.Errorf("%+v", status)
	}
}

func TestTicksMissing(t *testing.T) {
	now := time.Date(2026, 3, 6, 12, 0, 30, 0, time.UTC)
	for _, row := range []struct {
		name string
		ago  time.Duration
		want string
	}{
		{"this minute", 30 * time.Second, ""},
		{"a late one", 3 * time.Minute, ""},
		{"two did not come", 3*time.Minute + time.Second, "no tick came for 3 m 1 s"},
		{"a clock that is a little behind", -time.Minute, ""},
		{"a clock that was set back", -time.Hour, "the last tick is 1 h 0 m ahead of the clock, which was set back"},
	} {
		if got := TicksMissing(t.TempDir(), now.Add(-row.ago), now); got != row.want {
			t.Errorf("%s: %q", row.name, got)
		}
	}
	if got := TicksMissing(t.TempDir(), time.Time{}, now); got != "no tick ever came" {
		t.Errorf("never: %q", got)
	}
}

// Until the first minute of `sched work` no tick has come, and none is missing.
func TestTheFirstTickOfSchedWorkIsAwaited(t *testing.T) {
	s := scheduleIn(t, "a")
	release, err := work.Hold(s.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	began := work.Began(s.StateDir)
	first := began.Truncate(time.Minute).Add(time.Minute)
	statusAt := func(now time.Time) string {
		source := Source{Schedule: s, Now: func() time.Time { return now }, Problem: t.Errorf}
		return StatusOf(source, HealthOf(s, false, now)).First
	}
	want := "ok: 1 task, 0 running, sched work runs, and its first tick comes at " + first.UTC().Format("15:04 UTC")
	if got := statusAt(first.Add(-time.Second)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	const down = "down: no tick ever came; 1 task, 0 running"
	if got := statusAt(first.Add(2 * time.Minute)); got != down {
		t.Errorf("a tick that does not come: %s", got)
	}
	if got := TicksMissing(s.StateDir, began.Add(-time.Hour), began); got == "" {
		t.Error("a `sched work` that begins again hides an hour without ticks")
	}
	release()
	if got := statusAt(began); got != down {
		t.Errorf("without it: %s", got)
	}
}

// A run that somebody asked for may have the time of a slot. It is not the run of the slot.
func TestARequestedRunSaysNothingOfTheSlotOfItsTime(t *testing.T) {
	s := scheduleIn(t, "a")
	begun(t, s, "a")
	source := Source{Schedule: s, Now: func() time.Time { return noon }, Problem: func(string, ...any) {}}
	q, err := Explain(t.Context(), source, "a", noon)
	if err != nil {
		t.Fatal(err)
	}
	if says := q.Answer.Minute.Slots[0].Says; !strings.HasPrefix(says, "nothing is recorded yet") {
		t.Errorf("of the slot it says %q", says)
	}
	if q.isHere(noon, []Record{{Origin: "by a test", Outcome: "succeeded"}}) {
		t.Error("the requested run counts as the run of the slot")
	}
}
