package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// callerIn returns a process that has runs in the folder.
func callerIn(t *testing.T, dir string) run.Caller {
	storage := holding.StorageAt(dir, nil)
	t.Cleanup(func() { storage.DB.Close() })
	return run.NewCaller(storage, state.Supervisor, nil)
}

func database(name string) *schedule.Task {
	return &schedule.Task{Name: name, Mutex: "db", WithoutOverlapping: true}
}

// wait has the run wait, and releases what it gets at the end of the test.
func wait(t *testing.T, w *waiter) error {
	t.Cleanup(func() {
		if w.run.Lock != nil {
			w.run.Lock.Release(t.Context())
		}
	})
	return w.wait(t.Context())
}

// Nobody watched the run while its time ran out. That read as if a store had not answered.
func TestARunThatNobodyWatchedUntilItsTimeWasOver(t *testing.T) {
	w := waits(t, callerIn(t, t.TempDir()), database("late"), 2*time.Hour)
	w.maxWait = time.Hour
	var skip *skipError
	if err := wait(t, w); !errors.As(err, &skip) ||
		skip.reason != "waited 1 h 0 m: no process was there when its time was over" {
		t.Errorf("%v", err)
	}
}

// The clock jumps ahead by three hours while the supervisor of a run that waits is killed. The run
// has waited for a moment only, and goes on. In another boot the clock alone tells.
func TestAClockThatJumpsEndsNoWait(t *testing.T) {
	if _, ok := clock.SinceBoot(); !ok || clock.BootID() == "" {
		t.Skip("the system does not say when it booted")
	}
	defer func(now func() time.Time) { clock.Now = now }(clock.Now)
	for _, boot := range []string{clock.BootID(), "another one"} {
		c := callerIn(t, t.TempDir())
		row := state.Row{ID: outcome.NewID(), Task: "late", Mutex: "db", Slot: time.Now(), Background: true,
			Wait:    state.Wait{For: state.ForMutex, Since: time.Now(), Until: time.Now().Add(time.Hour)},
			Attempt: state.Attempt{Boot: boot}}
		row.Wait.AfterBoot, _ = clock.SinceBoot()
		r, err := c.Begin(row, database("late"), nil)
		if err != nil {
			t.Fatal(err)
		}
		clock.Now = func() time.Time { return time.Now().Add(3 * time.Hour) }
		if row, err = c.DB.Runs().Row(t.Context(), row.ID); err == nil {
			r, _, err = goOnWith(c.Process, row)
		}
		if err != nil {
			t.Fatal(err)
		}
		err = wait(t, newWaiter(r, nil))
		if sameBoot := boot == clock.BootID(); (err == nil) != sameBoot {
			t.Errorf("in the same boot: %t; %v", sameBoot, err)
		}
		clock.Now = time.Now
	}
}

// A run that waited for an hour has had its mutex for a moment only: other runs read since when it
// has the mutex, not since when it waited.
func TestTheMutexIsHeldFromTheEndOfTheWait(t *testing.T) {
	c := callerIn(t, t.TempDir())
	if err := wait(t, waits(t, c, database("first"), time.Hour)); err != nil {
		t.Fatal(err)
	}
	_, err := c.Mutexes().Acquire(t.Context(), "db", mutex.Holder{Run: "second"})
	var held *mutex.HeldError
	if !errors.As(err, &held) || time.Since(held.Holder.Since) > 10*time.Minute {
		t.Errorf("%v", err)
	}
}

// A run whose mutex comes free during a maintenance is skipped.
func TestARunIsSkippedThatMayNotStartAfterItsWait(t *testing.T) {
	task := database("skipped")
	task.Folder = t.TempDir()
	task.Maintenance = filepath.Join(task.Folder, "down")
	os.WriteFile(task.Maintenance, nil, 0o600)
	if err := wait(t, waits(t, callerIn(t, t.TempDir()), task, 0)); err == nil ||
		err.Error() != "maintenance: down exists" {
		t.Errorf("%v", err)
	}
}

// A run with `after_pause: run` waits for the end of a maintenance, too, or until its time is over.
// Meanwhile it stands in no queue: it would be in the way of others that wait for the same mutex.
func TestARunWaitsForTheEndOfAMaintenance(t *testing.T) {
	c, task := callerIn(t, t.TempDir()), database("patient")
	task.Folder, task.RunAfterPause = t.TempDir(), true
	task.Maintenance = filepath.Join(task.Folder, "down")
	os.WriteFile(task.Maintenance, nil, 0o600)
	late := waits(t, c, task, 0)
	late.maxWait = 2 * time.Second
	if err := wait(t, late); err == nil || err.Error() != "waited 2.0 s: maintenance: down exists" {
		t.Errorf("%v", err)
	}
	run.Finish(late.run, ended(late))
	w := waits(t, c, task, 0)
	over := make(chan error)
	go func() { over <- wait(t, w) }()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		row, err := c.DB.Runs().Row(t.Context(), w.run.Own.ID)
		if err == nil && row.Wait.For == state.ForPause {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it waits for %q (%v)", row.Wait.For, err)
		}
	}
	os.Remove(task.Maintenance)
	if err := <-over; err != nil || w.run.Lock == nil {
		t.Errorf("%v", err)
	}
}

// A run got its mutex, and with it the seat for which another had waited for longer.
func TestARunWhoseMutexComesFreeDoesNotOvertakeRunsThatWaitForASeat(t *testing.T) {
	c := callerIn(t, t.TempDir())
	few := schedule.Pool{Name: "few", Seats: 1}
	other := waits(t, c, &schedule.Task{Name: "other", Pool: few}, time.Hour)
	if err := other.enqueue(state.SeatQueue("few")); err != nil {
		t.Fatal(err)
	}
	both := database("both")
	both.Pool = few
	w := waits(t, c, both, 0)
	w.maxWait = 2 * time.Second
	if err := wait(t, w); err == nil || !strings.Contains(err.Error(), ": other waits for a seat of pool few since ") {
		t.Errorf("%v", err)
	}
	run.Finish(other.run, ended(other))
	w.maxWait = time.Minute
	if err := wait(t, w); err != nil {
		t.Errorf("nobody waits any more: %v", err)
	}
}

// The run that is replaced may not hear of it, as when the database is locked, or lacks its row for
// a moment. Then it is asked again.
func TestARunThatDidNotHearThatItIsReplacedIsAskedAgain(t *testing.T) {
	c, task := callerIn(t, t.TempDir()), database("import")
	task.Replace = true
	old := state.Row{ID: outcome.NewID(), Task: "import", Mutex: "db", Slot: time.Now(), Background: true}
	held := &mutex.HeldError{Name: "db", Holder: mutex.Holder{Run: old.ID, Task: "import"}}
	w := waits(t, c, task, 0)
	if err := w.stopReplaced(held); err != nil { // there is no such row
		t.Fatal(err)
	}
	end := time.Now().Add(10 * time.Second)
	for w.replaced.Load() == old.ID && time.Now().Before(end) {
		time.Sleep(time.Millisecond)
	}
	running, err := c.Begin(old, task, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Close)
	for ; running.Own.StopRequest() == nil; time.Sleep(10 * time.Millisecond) {
		if err := w.stopReplaced(held); err != nil || time.Now().After(end) {
			t.Fatalf("it was not asked again (%v)", err)
		}
	}
}
