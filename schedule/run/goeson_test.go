package run

import (
	"context"
	"errors"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/past"
	"sched/schedule/run/holding"
	"sched/schedule/run/hook"
	"sched/schedule/state"
	"sched/testing/storetest"
)

// A supervisor that had the lock may be killed. Its witness goes on with the run without the
// descriptor: nothing holds the lock, but the mutex counts as taken.
func TestARunThatGoesOnWithoutItsLockKeepsItsMutex(t *testing.T) {
	ctx, storage := context.Background(), holding.StorageAt(t.TempDir(), nil)
	defer storage.DB.Close()
	task := &schedule.Task{Name: "report", Mutex: "report"}
	row := state.Row{ID: outcome.NewID(), Task: "report", Mutex: "report", Slot: time.Now(), Background: true}
	lock, err := storage.Mutexes().Acquire(ctx, "report", mutex.Holder{Run: row.ID, Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	witness := NewCaller(storage, state.Supervisor, nil)
	if _, err := witness.Begin(row, task, nil); err != nil {
		t.Fatal(err)
	}
	lock.Inherit()[0].Close() // as by the kill
	if holder, held := heldBy(storage, "report"); !held || holder.Run != row.ID {
		t.Errorf("a tick finds %v, %t", holder, held)
	}
	var held *mutex.HeldError
	if _, err := storage.Mutexes().Acquire(ctx, "report", mutex.Holder{Run: "another"}); !errors.As(err, &held) {
		t.Errorf("another run gets the lock: %v", err)
	}
	witness.Self.Close() // and the witness is gone
	if holder, held := heldBy(storage, "report"); held {
		t.Errorf("it is still held by %v", holder)
	}
}

// A request that could not begin on a full disk has left its name in a seat. It begins with another
// seat at the next tick, and has that one alone: its pool counted as full with one run.
func TestARunHasTheSeatWithWhichItBegan(t *testing.T) {
	ctx, storage := context.Background(), holding.StorageAt(t.TempDir(), nil)
	defer storage.DB.Close()
	task := &schedule.Task{Name: "report", Mutex: "report", Pool: schedule.Pool{Name: "few", Seats: 2}}
	row := state.Row{ID: outcome.NewID(), Task: "report", Mutex: "report", Slot: time.Now(), Background: true}
	first, err := storage.Mutexes().Acquire(ctx, mutex.Seat("few", 1), mutex.Holder{Run: row.ID, Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	first.Release(ctx)
	second, err := storage.Mutexes().Acquire(ctx, mutex.Seat("few", 2), mutex.Holder{Run: row.ID, Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	row.Seat = mutex.Seat("few", 2)
	if _, err := NewCaller(storage, state.Supervisor, nil).Begin(row, task, second); err != nil {
		t.Fatal(err)
	}
	for n, want := range []bool{false, true} {
		if holder, held := heldBy(storage, mutex.Seat("few", n+1)); held != want {
			t.Errorf("seat %d is held: %t, by %v", n+1, held, holder)
		}
	}
}

// firstAttempt begins a run of the task report, and its first attempt.
func firstAttempt(t *testing.T, caller Caller, retry schedule.Retry, background bool) *Run {
	t.Helper()
	row := state.Row{ID: outcome.NewID(), Task: "report", Mutex: "report", Slot: time.Now(), Background: background}
	r, err := caller.Begin(row, &schedule.Task{Name: "report", Mutex: "report", Retry: retry}, nil)
	if err == nil {
		err = r.Own.Apply(state.Start(state.Attempt{Number: 1, At: time.Now()}))
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// collect finishes the runs that no process looks after, and returns those that go on instead.
func collect(t *testing.T, storage holding.Storage) (again []state.Row) {
	t.Helper()
	caller := NewCaller(storage, state.Tick, nil)
	rows, err := caller.Unwatched(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		waits, err := caller.Collect(row, Facts{Unrecorded: UnrecordedStarts(storage.Dir, row), DueBy: time.Now().Add(time.Hour)})
		if err != nil {
			t.Error(err)
		}
		if waits != nil {
			again = append(again, *waits)
		}
	}
	return again
}

// A tick that is killed while it waits for the next attempt of a foreground run leaves that to the
// next tick. The run counted as finished by hand.
func TestAForegroundRunGoesOnBetweenTwoAttempts(t *testing.T) {
	ctx, storage := context.Background(), holding.StorageAt(t.TempDir(), nil)
	defer storage.DB.Close()
	killed := NewCaller(storage, state.Tick, nil)
	r := firstAttempt(t, killed, schedule.Retry{Attempts: 2}, false)
	record := r.Own.Row
	code := 1
	r.Own.Apply(state.AwaitRetry(state.Result{Reason: "exit code 1", ExitCode: &code}, time.Now().Add(time.Second)))
	killed.Self.Close()

	again := collect(t, storage)
	if len(again) != 1 || again[0].Attempt.Number != 1 {
		t.Errorf("it goes on: %+v", again)
	}
	row, err := storage.DB.Runs().Row(ctx, record.ID)
	if err != nil || !row.Deferred() || row.Reason != "exit code 1" || row.ExitCode == nil || *row.ExitCode != 1 {
		t.Errorf("%+v, %v", row, err)
	}
}

// On a full disk the second attempt was started although that could not be written down. When its
// supervisor and its witness are killed, nobody knows how it ended: it is lost, and does not begin
// again.
func TestAnAttemptThatCouldNotBeWrittenDownBeginsOnce(t *testing.T) {
	for _, row := range []struct {
		restWritten bool // whether the end of the first attempt was written down
		starts      int  // how many attempts after it could not be
	}{{true, 1}, {false, 1}, {false, 2}} {
		storage := holding.StorageAt(t.TempDir(), nil)
		defer storage.DB.Close()
		killed := NewCaller(storage, state.Supervisor, nil)
		r := firstAttempt(t, killed, schedule.Retry{Attempts: 1 + row.starts, Lost: true}, true)
		if row.restWritten {
			r.Own.Apply(state.AwaitRetry(state.Result{Reason: "exit code 1"}, time.Now().Add(time.Second)))
		}
		output.MarkUnwritten(r.Output, row.starts)
		killed.Self.Close()

		if again := collect(t, storage); len(again) > 0 {
			t.Errorf("attempt %d begins", again[0].Attempt.Number+1)
		}
		row, err := past.Of(storage.DB).Get(t.Context(), r.Own.ID)
		if err != nil || row.Outcome != outcome.Lost {
			t.Errorf("%+v, %v", row, err)
		}
	}
}

// A tick is killed after it has written down that a run of the foreground begins, and before it has
// started the command: the next tick says that the run is lost, and starts nothing.
func TestAForegroundRunThatWasKilledBeforeItsStartIsLost(t *testing.T) {
	before := schedule.Hooks{Before: []schedule.Hook{{Run: schedule.Command{List: []string{"true"}}}}}
	for _, hooks := range []schedule.Hooks{{}, before} {
		storage := holding.StorageAt(t.TempDir(), nil)
		defer storage.DB.Close()
		task := &schedule.Task{Name: "report", Mutex: "report", Hooks: hooks,
			Command: schedule.Command{List: []string{"true"}}, Retry: schedule.Retry{Attempts: 1}}
		killed := NewCaller(storage, state.Tick, nil)
		row := state.Row{ID: outcome.NewID(), Task: "report", Mutex: "report", Slot: time.Now().UTC()}
		prepared, err := killed.Prepare(row, task, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := prepared.BeginToExecute(); err != nil {
			t.Fatal(err)
		}
		begun, err := storage.DB.Runs().Row(t.Context(), row.ID)
		wasAnnounced := begun.Phase == state.Running && begun.Attempt.Number == 1 && !begun.Started.IsZero()
		if isReady := begun.Phase == state.Ready; err != nil || isReady == wasAnnounced || isReady != hook.FiresBefore(task) {
			t.Errorf("it begins as %+v, %v", begun, err)
		}
		killed.Self.Close()
		if again := collect(t, storage); len(again) > 0 {
			t.Errorf("%v go on", again)
		}
		ended, err := storage.DB.Runs().Row(t.Context(), row.ID)
		if err != nil || ended.Outcome != outcome.Lost {
			t.Errorf("it ended as %+v, %v", ended, err)
		}
	}
}

// heldBy returns who has a mutex of the machine: who holds the lock, or goes on without it.
func heldBy(s holding.Storage, name string) (holder mutex.Holder, held bool) {
	files := mutex.Files{Dir: s.Locks()}
	if holder, held = storetest.HeldFile(files, name); held {
		return holder, true
	}
	last, ok := storetest.LastInFile(files, name)
	return last, ok && s.GoesOn(name, last)
}
