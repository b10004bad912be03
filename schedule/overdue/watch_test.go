package overdue

import (
	"errors"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A machine has a clock that can be set, and knows how long ago it booted.
type machine struct {
	now     time.Time
	elapsed time.Duration
	watch   *Watch
	t       *testing.T
}

func newMachine(t *testing.T, tasks ...*schedule.Task) *machine {
	m := &machine{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), elapsed: time.Hour, t: t}
	elapsed, id := clock.SinceBoot, clock.BootID
	t.Cleanup(func() { clock.SinceBoot, clock.BootID = elapsed, id })
	clock.SinceBoot = func() (time.Duration, bool) { return m.elapsed, true }
	clock.BootID = func() string { return "first" }
	m.watch = &Watch{DB: openDB(t), Tasks: tasks, Server: "a", Now: func() time.Time { return m.now }}
	return m
}

func (m *machine) pass(d time.Duration) { m.now, m.elapsed = m.now.Add(d), m.elapsed+d }

func openDB(t *testing.T) *state.DB {
	db := state.At(t.TempDir(), state.Patience)
	t.Cleanup(func() { db.Close() })
	return db
}

func (m *machine) succeed(task string) {
	m.t.Helper()
	row := state.Row{ID: outcome.NewID(), Task: task, Slot: m.now, Phase: state.Ended,
		Result: state.Result{Outcome: outcome.Succeeded, Ended: m.now}}
	if err := m.watch.DB.Runs().Record(m.t.Context(), []state.Row{row}, false); err != nil {
		m.t.Fatal(err)
	}
}

// open returns how many incidents of the task report go on.
func (m *machine) open() int {
	m.t.Helper()
	open, err := Open(m.t.Context(), m.watch.DB)
	if err != nil {
		m.t.Fatal(err)
	}
	return len(open["report"])
}

// look looks once, notes all incidents as reported, and returns how many began.
func (m *machine) look(live ...state.Row) int {
	m.t.Helper()
	began, unreported, err := m.watch.Look(live)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, i := range unreported {
		if err := m.watch.NoteReported(i); err != nil {
			m.t.Fatal(err)
		}
	}
	return len(began)
}

func every(d time.Duration) *schedule.Task {
	return &schedule.Task{Name: "report", Expect: schedule.Expect{Every: d}}
}

func TestAClockThatIsSetMakesNothingOverdue(t *testing.T) {
	for _, by := range []time.Duration{3 * time.Hour, -3 * time.Hour, 56 * 365 * 24 * time.Hour,
		-56 * 365 * 24 * time.Hour} {
		m := newMachine(t, every(time.Hour))
		m.look()
		m.succeed("report")
		m.pass(50 * time.Minute)
		m.look()
		m.now = m.now.Add(by)
		m.pass(5 * time.Minute)
		if m.look() != 0 {
			t.Errorf("set by %s: overdue", by)
		}
		m.succeed("report")
		if m.look(); m.look() != 0 {
			t.Errorf("set by %s: overdue after a success", by)
		}
		m.pass(59 * time.Minute)
		if m.look() != 0 {
			t.Errorf("set by %s: overdue too early", by)
		}
		m.pass(2 * time.Minute)
		if m.look() != 1 {
			t.Errorf("set by %s: not overdue an hour after the last success", by)
		}
	}
}

func TestASuccessThatEndedBeforeTheClockWasSetAndIsSeenAfterIsNotOld(t *testing.T) {
	m := newMachine(t, every(time.Hour))
	m.look()
	m.pass(10 * time.Minute)
	m.succeed("report")
	m.now = m.now.Add(3 * time.Hour)
	m.pass(time.Minute)
	if m.look() != 0 {
		t.Error("overdue")
	}
}

// A run ends while a tick looks, and the tick did not see it. Its success counts from its own end,
// not from the next tick.
func TestASuccessThatATickJustMissedIsNotNew(t *testing.T) {
	m := newMachine(t, every(time.Hour))
	m.now = m.now.Add(-time.Second)
	ended := m.now
	m.now = m.now.Add(time.Second)
	m.look()
	now := m.now
	m.now = ended
	m.succeed("report")
	m.now = now
	m.pass(50 * time.Minute)
	m.look()
	m.pass(11 * time.Minute)
	if m.look() != 1 {
		t.Error("an hour after the success it is not overdue")
	}
}

func TestAnIncidentLastsUntilASuccessHoweverTheClockIsSet(t *testing.T) {
	m := newMachine(t, every(time.Hour))
	m.look()
	m.pass(61 * time.Minute)
	if m.look() != 1 {
		t.Fatal("not overdue")
	}
	for _, by := range []time.Duration{-5 * time.Hour, 10 * time.Hour, 0} {
		m.now = m.now.Add(by)
		m.pass(2 * time.Hour)
		if n := m.look(); n != 0 {
			t.Errorf("set by %s: %d new incidents", by, n)
		}
	}
	m.succeed("report")
	m.look()
	if open := m.open(); open != 0 {
		t.Errorf("a success left %d incidents", open)
	}
}

func TestABootIsNoChangeOfTheClock(t *testing.T) {
	m := newMachine(t, every(time.Hour))
	m.look()
	m.pass(30 * time.Minute)
	m.now, m.elapsed = m.now.Add(40*time.Minute), 0 // it was off for so long
	clock.BootID = func() string { return "second" }
	if m.look() != 1 {
		t.Error("not overdue")
	}
}

func TestWhatIsExpectedCountsFromTheFirstTickThatExpectsIt(t *testing.T) {
	m := newMachine(t, every(time.Hour))
	m.look()
	task := m.watch.Tasks
	m.watch.Tasks = nil // the task is switched off
	m.look()
	m.pass(5 * time.Hour)
	m.watch.Tasks = task
	if m.look() != 0 {
		t.Error("overdue at once")
	}
	m.pass(61 * time.Minute)
	if m.look() != 1 {
		t.Error("not overdue")
	}
}

func TestOfOneServerASuccessAnywhereCountsAndWhatIsUnknownBeginsNothing(t *testing.T) {
	task := every(time.Hour)
	task.OneServer = true
	m := newMachine(t, task)
	var at time.Time
	var down error
	asked := 0
	m.watch.Elsewhere = func(*schedule.Task, time.Time) (time.Time, error) { asked++; return at, down }
	m.look()
	m.pass(59 * time.Minute)
	if m.look() != 0 || asked != 0 {
		t.Errorf("asked %d times before it could be overdue", asked)
	}
	at = m.now
	m.pass(10 * time.Minute)
	if m.look() != 0 || asked != 1 {
		t.Errorf("overdue although another server succeeded; asked %d times", asked)
	}
	m.pass(55 * time.Minute)
	down = errors.New("down")
	if began, _, err := m.watch.Look(nil); len(began) != 0 || err == nil {
		t.Errorf("%v, %v while the store is down", began, err)
	}
	down = nil
	if m.look() != 1 {
		t.Error("not overdue when the store answers again")
	}
	at = m.now.Add(time.Minute)
	m.pass(2 * time.Minute)
	m.look()
	if open := m.open(); open != 0 {
		t.Errorf("a success elsewhere left %d incidents", open)
	}
}

func TestARunIsOverdueOnceAndFromItsFirstAttemptOn(t *testing.T) {
	m := newMachine(t, &schedule.Task{Name: "report", Expect: schedule.Expect{Within: 30 * time.Minute}})
	begun := m.now
	run := state.Row{ID: "1", Task: "report", Attempt: state.Attempt{Number: 1, At: begun}, Started: begun}
	m.look(run)
	m.pass(29 * time.Minute)
	run.Attempt = state.Attempt{Number: 2, At: m.now}
	if m.look(run) != 0 {
		t.Error("overdue too early")
	}
	m.pass(2 * time.Minute)
	if m.look(run) != 1 || m.look(run) != 0 {
		t.Error("not overdue once")
	}
	m.look()
	if open := m.open(); open != 0 {
		t.Errorf("the end of the run left %d incidents", open)
	}
}

func TestAnIncidentThatWasNotToldIsLeftToTheNextTickThoughItIsOver(t *testing.T) {
	m := newMachine(t, every(time.Hour))
	m.look()
	m.pass(2 * time.Hour)
	if began, _, _ := m.watch.Look(nil); len(began) != 1 { // and the tick is killed
		t.Fatal("not overdue")
	}
	m.succeed("report")
	_, unreported, err := m.watch.Look(nil)
	if err != nil || len(unreported) != 1 {
		t.Errorf("unreported are %v, %v", unreported, err)
	}
}
