package run

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"sched/mutex"
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
	lock.Inherit().Close() // as by the kill
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
