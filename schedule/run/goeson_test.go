package run

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/pool"
	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// While the disk is full a lock may be in the spare folder and the file of its run in the state folder, and the supervisor that had the
// lock may be killed. Its witness goes on with the run without the descriptor: nothing holds the lock, and the mutex is taken.
func TestARunThatGoesOnWithoutItsLockKeepsItsMutexWhereverThatIs(t *testing.T) {
	places := statedir.SparePlaces
	statedir.SparePlaces = []string{t.TempDir()}
	t.Cleanup(func() { statedir.SparePlaces = places })
	ctx, storage := context.Background(), Storage{Dir: t.TempDir()}
	spareDir, err := statedir.OpenAnySpare(storage.Dir)
	if err != nil {
		t.Fatal(err)
	}
	spare, task := Storage{Dir: spareDir}, &schedule.Task{Name: "report", Mutex: "report"}
	record := outcome.Record{Run: outcome.NewID(), Task: "report", Mutex: "report", Slot: time.Now()}
	lock, err := spare.Mutexes().Acquire(ctx, "report", mutex.Holder{Run: record.Run, Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	begun, err := Caller{Storage: storage}.Begin(record, task, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := begun.GiveTo("a supervisor"); err != nil {
		t.Fatal(err)
	}
	lock.Inherit()[0].Close() // as by the kill
	if holder, held := storage.HeldIn(spare.Locks(), "report"); !held || holder.Run != record.Run {
		t.Errorf("a tick that can write the state folder again finds %v, %t", holder, held)
	}
	var held *mutex.HeldError
	if _, err := storage.storeAt(spare.Locks()).Acquire(ctx, "report", mutex.Holder{Run: "another"}); !errors.As(err, &held) {
		t.Errorf("another run gets the lock: %v", err)
	}
	begun.file.Close() // and its witness is gone
	if holder, held := storage.HeldIn(spare.Locks(), "report"); held {
		t.Errorf("it is still held by %v", holder)
	}
	os.RemoveAll(spareDir)
}

// A request that could not begin on a full disk has left its name in a seat. It begins with another seat at the next tick, and has that one
// alone: its pool counted as full with one run.
func TestARunHasTheSeatWithWhichItBegan(t *testing.T) {
	ctx, storage := context.Background(), Storage{Dir: t.TempDir()}
	task := &schedule.Task{Name: "report", Mutex: "report", Pool: schedule.Pool{Name: "few", Seats: 2}}
	record := outcome.Record{Run: outcome.NewID(), Task: "report", Mutex: "report", Slot: time.Now()}
	first, err := storage.Mutexes().Acquire(ctx, pool.Seat("few", 1), mutex.Holder{Run: record.Run, Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	first.Release(ctx)
	second, err := storage.Mutexes().Acquire(ctx, pool.Seat("few", 2), mutex.Holder{Run: record.Run, Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	storage.Held(&record, pool.Holding{Lock: second, Seat: pool.Seat("few", 2)})
	begun, err := Caller{Storage: storage}.Begin(record, task, second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := begun.GiveTo("a supervisor"); err != nil {
		t.Fatal(err)
	}
	for n, want := range []bool{false, true} {
		if holder, held := storage.HeldIn(storage.Locks(), pool.Seat("few", n+1)); held != want {
			t.Errorf("seat %d is held: %t, by %v", n+1, held, holder)
		}
	}
}
