package mutex_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sched/mutex"
	"sched/testing/redistest"
	"sched/testing/storetest"
)

// onEachDriver runs a test with the locks of the kernel, and with each kind of store; open returns
// the store as one machine has it.
func onEachDriver(t *testing.T, test func(t *testing.T, open func() mutex.Locks)) {
	t.Run("files", func(t *testing.T) {
		dir := t.TempDir()
		test(t, func() mutex.Locks { return mutex.Files{Dir: dir} })
	})
	redistest.OnEachStore(t, func(t *testing.T, r mutex.Store) {
		test(t, func() mutex.Locks { return mutex.NewLocks(mutex.Files{Dir: t.TempDir()}, r) })
	})
}

func seatHolder(run string) mutex.Holder {
	return mutex.Holder{Run: run, Task: "task-" + run, PID: 1, Host: "web-1", Since: time.Now()}
}

func mustGet(t *testing.T, need mutex.Need, store mutex.Locks, run string) mutex.Holding {
	t.Helper()
	h, err := need.Acquire(ctx, store, seatHolder(run))
	if err != nil {
		t.Fatalf("%s: %v", run, err)
	}
	t.Cleanup(func() { h.Lock.Release(ctx) })
	return h
}

func TestAFullPoolNamesItsHolders(t *testing.T) {
	onEachDriver(t, func(t *testing.T, open func() mutex.Locks) {
		need := mutex.Need{Pool: "db", Seats: 2}
		one := mustGet(t, need, open(), "one")
		two := mustGet(t, need, open(), "two")
		if one.Seat != "db#1" || two.Seat != "db#2" || one.Mutex {
			t.Errorf("they have %q and %q", one.Seat, two.Seat)
		}
		_, err := need.Acquire(ctx, open(), seatHolder("three"))
		var full *mutex.FullError
		if !errors.As(err, &full) || len(full.Holders) != 2 || full.Holders[0].Task != "task-one" ||
			full.Holders[1].Run != "two" {
			t.Fatalf("the third gets %v", err)
		}
		var held *mutex.HeldError
		if !errors.As(err, &held) {
			t.Error("a full pool reads as unknown")
		}
		if err := one.Lock.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if three := mustGet(t, need, open(), "three"); three.Seat != "db#1" {
			t.Errorf("the third has %q", three.Seat)
		}
	})
}

// A run that gets no seat must not keep the mutex. A run that does not get the mutex must not keep
// a seat.
func TestItTakesMutexAndSeatOrNeither(t *testing.T) {
	onEachDriver(t, func(t *testing.T, open func() mutex.Locks) {
		both := mutex.Need{Mutex: "report", Pool: "db", Seats: 1}
		first := mustGet(t, both, open(), "first")
		if !first.Mutex || first.Seat != "db#1" {
			t.Errorf("the first has %+v", first)
		}
		if _, err := (mutex.Need{Mutex: "other", Pool: "db", Seats: 1}).Acquire(ctx, open(),
			seatHolder("second")); err == nil {
			t.Fatal("there was a seat")
		}
		other := mustGet(t, mutex.Need{Mutex: "other"}, open(), "third")
		var held *mutex.HeldError
		if _, err := (mutex.Need{Mutex: "other", Pool: "free", Seats: 1}).Acquire(ctx, open(),
			seatHolder("fourth")); !errors.As(err, &held) || held.Name != "other" {
			t.Errorf("the mutex is not held: %v", err)
		}
		mustGet(t, mutex.Need{Pool: "free", Seats: 1}, open(), "fifth")
		other.Lock.Release(ctx)
		first.Lock.Release(ctx)
		mustGet(t, both, open(), "last")
	})
}

func TestASeatThatIsKnownToBeTakenIsNotTried(t *testing.T) {
	need := mutex.Need{Pool: "db", Seats: 2,
		Taken: func(seat string) (mutex.Holder, bool) { return seatHolder("elsewhere"), seat == "db#1" }}
	if h := mustGet(t, need, mutex.Files{Dir: t.TempDir()}, "run"); h.Seat != "db#2" {
		t.Errorf("it has %s", h.Seat)
	}
}

// Two runs may acquire one seat in two folders at the same moment. Neither may go on without having
// looked again.
func TestASeatThatIsTakenElsewhereMeanwhileIsGivenBack(t *testing.T) {
	asked, files := 0, mutex.Files{Dir: t.TempDir()}
	need := mutex.Need{Pool: "db", Seats: 1,
		Taken: func(string) (mutex.Holder, bool) { asked++; return seatHolder("elsewhere"), asked == 2 }}
	_, err := need.Acquire(ctx, files, seatHolder("run"))
	var full *mutex.FullError
	if !errors.As(err, &full) || full.Holders[0].Run != "elsewhere" {
		t.Errorf("it gets %v", err)
	}
	if other, held := storetest.HeldFile(files, "db#1"); held {
		t.Errorf("it is held by %v", other)
	}
}

func TestTheNamesOfSeats(t *testing.T) {
	for name, want := range map[string]string{"db#1": "db", "a/b:c#12": "a/b:c", "db": "", "#1": ""} {
		if of, ok := mutex.PoolOf(name); of != want || ok != (want != "") {
			t.Errorf("%s is of %q, %t", name, of, ok)
		}
	}
	if names := mutex.Seats("db", 2); len(names) != 2 || names[0] != mutex.Seat("db", 1) || names[1] != "db#2" {
		t.Errorf("the seats are %v", names)
	}
}

// Both leases of a run are renewed, and the loss of either is the loss of its lock.
func TestBothLeasesAreRenewed(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r mutex.Store) {
		need := mutex.Need{Mutex: "report", Pool: "db", Seats: 1}
		open := func() mutex.Locks { return mutex.NewLocks(mutex.Files{Dir: t.TempDir()}, r) }
		h := mustGet(t, need, open(), "run")
		before := h.Lock.LeaseBegan()
		if h.Lock.Lease() != time.Minute || before.IsZero() || len(h.Lock.Inherit()) != 2 {
			t.Errorf("lease %s since %s, %d descriptors", h.Lock.Lease(), before, len(h.Lock.Inherit()))
		}
		plain := mustGet(t, mutex.Need{Mutex: "plain"}, open(), "plain")
		if err := h.Lock.Renew(ctx); err != nil {
			t.Error(err)
		}
		if !h.Lock.LeaseBegan().After(before) {
			t.Error("the lease is as old as before")
		}
		if _, err := open().Break(ctx, h.Seat); err != nil {
			t.Fatal(err)
		}
		errs := []error{plain.Lock.Renew(ctx), h.Lock.Renew(ctx)}
		var lost *mutex.LostError
		if errs[0] != nil || !errors.As(errs[1], &lost) || lost.Name != "db#1" {
			t.Errorf("after the seat was broken: %v", errs)
		}
	})
}

// Servers that race for the seats of a pool are never more at once than it has, and each gets its
// turn.
func TestNeverMoreThanThereAreSeats(t *testing.T) {
	onEachDriver(t, func(t *testing.T, open func() mutex.Locks) {
		need := mutex.Need{Pool: "db", Seats: 3}
		// On a busy machine a store that does not answer in time is taken for down, until a renewal
		// is answered.
		other := mustGet(t, mutex.Need{Mutex: "other"}, open(), "other").Lock
		answers := func() bool { return other.Renew(ctx) == nil }
		var inside, most, got atomic.Int32
		var all sync.WaitGroup
		for i := range 8 {
			store := open()
			all.Go(func() {
				for n := range 12 {
					h, err := need.Acquire(ctx, store, seatHolder(fmt.Sprintf("run-%d-%d", i, n)))
					if err != nil {
						continue
					}
					got.Add(1)
					now := inside.Add(1)
					for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
					}
					inside.Add(-1)
					for range 10 {
						if h.Lock.Release(ctx) == nil {
							break
						}
						answers()
					}
				}
			})
		}
		all.Wait()
		if most.Load() > 3 || got.Load() == 0 {
			t.Errorf("%d at once, %d in all", most.Load(), got.Load())
		}
		for i := range 3 { // and no seat was lost; a seat whose grant got no answer is given back a little later
			h, err := need.Acquire(ctx, open(), seatHolder(fmt.Sprint("after-", i)))
			for end := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				answers()
				h, err = need.Acquire(ctx, open(), seatHolder(fmt.Sprint("after-", i)))
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { h.Lock.Release(ctx) })
		}
	})
}
