package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sched/mutex"
)

// A Locks opener opens locks that share their mutexes, each as another process would.
type openLocks = func() mutex.Locks

// Locks tests what files and stores promise. Each of its parts has new, empty mutexes.
func Locks(t *testing.T, newOpener func(t *testing.T) func() mutex.Locks) {
	for name, test := range map[string]func(*testing.T, openLocks){
		"a held mutex names its holder at once":                testHeld,
		"a release frees, twice does nothing":                  testRelease,
		"another process releases by the id of the run":        testReleaseElsewhere,
		"the inherited descriptor releases":                    testReleaseInherited,
		"a broken mutex is free, and its holder is named":      testBreak,
		"a late release leaves the lock of the next run alone": testLateRelease,
		"a broken lock is taken again by the next attempt":     testBreakBeforeTheNextAttempt,
		"a claim is taken once and kept":                       testClaim,
		"of many that race one wins":                           testRace,
		"names do not get in the way of each other":            testNames,
		"a context that is done never reads as held":           testCancelled,
		"a lock is renewed by the run that has it":             testRenew,
	} {
		t.Run(name, func(t *testing.T) { test(t, newOpener(t)) })
	}
}

var ctx = context.Background()

// since has no part of a second, so that it comes back as it was from any driver.
var since = time.Date(2026, 1, 1, 9, 55, 0, 0, time.UTC)

// Holder is a run on some server.
func Holder(run string) mutex.Holder {
	return mutex.Holder{Run: run, PID: 3121, Host: "web-2", Since: since}
}

// Acquire takes a mutex for a run, or fails.
func Acquire(t *testing.T, s mutex.Locks, name, run string) mutex.Lock {
	t.Helper()
	lock, err := s.Acquire(ctx, name, Holder(run))
	if err != nil {
		t.Fatalf("acquire %s for %s: %v", name, run, err)
	}
	t.Cleanup(func() { runtime.KeepAlive(lock) }) // the garbage collector closes a lock that is not used any more
	return lock
}

// held checks that run has the mutex. A store that is slow to answer is asked again: the machine
// may be busy.
func held(t *testing.T, s mutex.Locks, name, run string) {
	t.Helper()
	_, err := s.Acquire(ctx, name, Holder("another-run"))
	for try := 1; err != nil && strings.Contains(err.Error(), "does not answer within") && try < 5; try++ {
		_, err = s.Acquire(ctx, name, Holder("another-run"))
	}
	heldBy(t, err, name, run)
}

func heldBy(t *testing.T, err error, name, run string) {
	t.Helper()
	var held *mutex.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("%s is not held: %v", name, err)
	}
	if held.Name != name || held.Holder.Run != run {
		t.Fatalf("%s is held by %+v, not by %s", held.Name, held.Holder, run)
	}
}

// free checks that no run has the mutex, and leaves it so.
func free(t *testing.T, s mutex.Locks, name string) {
	t.Helper()
	release(t, Acquire(t, s, name, "another-run"))
}

func release(t *testing.T, lock mutex.Lock) {
	t.Helper()
	if err := lock.Release(ctx); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// inherited is the descriptor of the lock as a child would have it, nil if the driver uses no
// descriptor.
func inherited(t *testing.T, lock mutex.Lock) *os.File {
	t.Helper()
	if lock.Inherit() == nil {
		return nil
	}
	fd, err := syscall.Dup(int(lock.Inherit()[0].Fd()))
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "an inherited lock")
}

func testHeld(t *testing.T, open openLocks) {
	Acquire(t, open(), "backup", "run-1")
	begun := time.Now()
	_, err := open().Acquire(ctx, "backup", Holder("run-2"))
	if waited := time.Since(begun); waited > 5*time.Second {
		t.Errorf("it waited for %s", waited)
	}
	heldBy(t, err, "backup", "run-1")
	var held *mutex.HeldError
	errors.As(err, &held)
	if got, want := held.Holder, Holder("run-1"); !got.Since.Equal(want.Since) || got.Host != want.Host ||
		got.PID != want.PID && got.PID != 0 { // stores keep no pid
		t.Errorf("the holder is %+v, not %+v", got, want)
	}
}

func testRelease(t *testing.T, open openLocks) {
	lock := Acquire(t, open(), "backup", "run-1")
	release(t, lock)
	second := Acquire(t, open(), "backup", "run-2")
	release(t, lock)
	held(t, open(), "backup", "run-2")
	release(t, second)
	release(t, second)
	free(t, open(), "backup")
}

func testReleaseElsewhere(t *testing.T, open openLocks) {
	Acquire(t, open(), "backup", "run-1")
	release(t, open().Adopt("backup", Holder("run-2"), nil))
	held(t, open(), "backup", "run-1")
	release(t, open().Adopt("backup", Holder("run-1"), nil))
	free(t, open(), "backup")
	release(t, open().Adopt("backup", Holder("run-1"), nil))
	release(t, open().Adopt("never-taken", Holder("run-1"), nil))
}

func testReleaseInherited(t *testing.T, open openLocks) {
	lock := Acquire(t, open(), "backup", "run-1")
	adopted := open().Adopt("backup", Holder("run-1"), inherited(t, lock))
	held(t, open(), "backup", "run-1")
	release(t, adopted)
	free(t, open(), "backup")

	second := Acquire(t, open(), "backup", "run-2")
	release(t, adopted)
	release(t, lock)
	held(t, open(), "backup", "run-2")
	release(t, second)
}

func testBreak(t *testing.T, open openLocks) {
	if _, err := open().Break(ctx, "backup"); !errors.Is(err, mutex.ErrFree) {
		t.Errorf("no run ever had it: %v", err)
	}
	release(t, Acquire(t, open(), "backup", "run-0"))
	if _, err := open().Break(ctx, "backup"); !errors.Is(err, mutex.ErrFree) {
		t.Errorf("it is free again: %v", err)
	}
	Acquire(t, open(), "backup", "run-1")
	Acquire(t, open(), "report", "run-2")
	if had, err := open().Break(ctx, "backup"); err != nil || had.Run != "run-1" {
		t.Errorf("%+v, %v", had, err)
	}
	if _, err := open().Break(ctx, "backup"); !errors.Is(err, mutex.ErrFree) {
		t.Errorf("it is broken already: %v", err)
	}
	free(t, open(), "backup")
	held(t, open(), "report", "run-2")
}

// A run whose lock was broken takes it again for its next attempt: Break took the lock of the
// attempt before.
func testBreakBeforeTheNextAttempt(t *testing.T, open openLocks) {
	first := Acquire(t, open(), "backup", "run-1")
	if _, err := open().Break(ctx, "backup"); err != nil {
		t.Fatal(err)
	}
	release(t, first)
	second := Acquire(t, open(), "backup", "run-1")
	if err := second.Renew(ctx); err != nil {
		t.Errorf("the second attempt: %v", err)
	}
	held(t, open(), "backup", "run-1")
	release(t, second)
}

func testLateRelease(t *testing.T, open openLocks) {
	late := Acquire(t, open(), "backup", "run-1")
	lateToo := open().Adopt("backup", Holder("run-1"), inherited(t, late))
	if _, err := open().Break(ctx, "backup"); err != nil {
		t.Fatal(err)
	}
	next := Acquire(t, open(), "backup", "run-2")
	for _, lock := range []mutex.Lock{late, lateToo, open().Adopt("backup", Holder("run-1"), nil)} {
		release(t, lock)
		held(t, open(), "backup", "run-2")
	}
	release(t, next)
	free(t, open(), "backup")
}

func testClaim(t *testing.T, open openLocks) {
	until := time.Now().Add(time.Hour)
	claim := func(key, run string) error {
		o := Holder(run)
		o.Since = time.Now()
		return open().Claim(ctx, key, until, o)
	}
	if err := claim("backup@1", "run-1"); err != nil {
		t.Fatal(err)
	}
	heldBy(t, claim("backup@1", "run-2"), "backup@1", "run-1")
	if err := claim("backup@1", "run-1"); err != nil {
		t.Errorf("the run has claimed it before: %v", err)
	}
	heldBy(t, claim("backup@1", "run-2"), "backup@1", "run-1")
	if files, ok := open().(mutex.Files); ok { // TestStore asks a store for its Claims
		if o, claimed, err := files.Claimed("backup@1", until); !claimed || o.Run != "run-1" || err != nil {
			t.Errorf("Claimed: %v by %q, %v", claimed, o.Run, err)
		}
		if _, claimed, err := files.Claimed("backup@2", until); claimed || err != nil {
			t.Errorf("a key is claimed without a claim: %v", err)
		}
	}
	for _, key := range []string{"backup@2", "report@1", "backup", "a/backup@1"} {
		if err := claim(key, "run-2"); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	// A claim is no lock: neither gets in the way of the other.
	release(t, Acquire(t, open(), "backup@1", "run-3"))
	heldBy(t, claim("backup@1", "run-2"), "backup@1", "run-1")
}

// testRace has many runs want the same mutex and claim. A busy machine may not get all answers in
// time: the race is held again then, a few times.
func testRace(t *testing.T, open openLocks) {
	for try := 1; ; try++ {
		slow := race(t, open, fmt.Sprint("backup-", try))
		if slow == "" || t.Failed() {
			return
		}
		if try == 5 {
			t.Fatal(slow)
		}
	}
}

// race fails when two runs win, and returns why when no run does.
func race(t *testing.T, open openLocks, name string) (slow string) {
	const racers = 50
	var locked, claimed atomic.Int32
	var unknown atomic.Pointer[string]
	var ready, done sync.WaitGroup
	until := time.Now().Add(time.Hour)
	locks := make(chan mutex.Lock, racers)
	judge := func(what string, err error) {
		var held *mutex.HeldError
		var silent *mutex.StoreError
		switch {
		case errors.As(err, &silent), errors.Is(err, mutex.ErrSplit):
			text := what + err.Error()
			unknown.Store(&text)
		case !errors.As(err, &held) || held.Holder.Run == "":
			t.Errorf("%s: %v", what, err)
		}
	}
	ready.Add(racers)
	for i := range racers {
		done.Go(func() {
			store, o := open(), Holder(fmt.Sprintf("run-%d", i))
			o.Since = time.Now()
			ready.Done()
			ready.Wait()
			if lock, err := store.Acquire(ctx, name, o); err == nil {
				locked.Add(1)
				locks <- lock
			} else {
				judge("the mutex: ", err)
			}
			if err := store.Claim(ctx, name+"@1", until, o); err == nil {
				claimed.Add(1)
			} else {
				judge("the claim: ", err)
			}
		})
	}
	done.Wait()
	l, c := locked.Load(), claimed.Load()
	if l > 1 || c > 1 {
		t.Fatalf("%d have the mutex, %d have the claim", l, c)
	}
	if l+c < 2 {
		slow = fmt.Sprintf("%d have the mutex, %d have the claim", l, c)
		if text := unknown.Load(); text != nil {
			slow += "; " + *text
		}
		return slow
	}
	release(t, <-locks)
	return ""
}

func testNames(t *testing.T, open openLocks) {
	names := []string{"a", "a/b", "a:b", "a.b", "a-b", "a_b", "a/b/c", "a.lock", "claims", "claims/a", "0",
		strings.Repeat("x", 128)}
	locks := map[string]mutex.Lock{}
	run := func(i int) string { return fmt.Sprintf("run-%d", i) }
	for i, name := range names {
		locks[name] = Acquire(t, open(), name, run(i))
	}
	for i, name := range names {
		held(t, open(), name, run(i))
		if err := open().Claim(ctx, name, time.Now().Add(time.Hour), Holder(run(i))); err != nil {
			t.Errorf("claim %s: %v", name, err)
		}
	}
	for _, name := range names {
		release(t, locks[name])
		free(t, open(), name)
	}
}

func testCancelled(t *testing.T, open openLocks) {
	gone, cancel := context.WithCancel(ctx)
	cancel()
	lock, err := open().Acquire(gone, "backup", Holder("run-1"))
	var held *mutex.HeldError
	if errors.As(err, &held) {
		t.Fatalf("no run has it: %v", err)
	}
	if err == nil {
		release(t, lock)
	}
	free(t, open(), "backup")
	if err := open().Claim(gone, "backup@1", time.Now().Add(time.Hour), Holder("run-1")); errors.As(err, &held) {
		t.Errorf("no run has claimed it: %v", err)
	}
}

func testRenew(t *testing.T, open openLocks) {
	lock := Acquire(t, open(), "backup", "run-1")
	adopted := open().Adopt("backup", Holder("run-1"), nil)
	for _, l := range []mutex.Lock{lock, adopted, lock} {
		if err := l.Renew(ctx); err != nil {
			t.Errorf("the run has it: %v", err)
		}
	}
	held(t, open(), "backup", "run-1")
	if lock.Lease() == 0 {
		return // it lasts as long as its processes
	}
	late := open().Adopt("backup", Holder("run-1"), nil) // it has not looked at the lock before it was broken
	if _, err := open().Break(ctx, "backup"); err != nil {
		t.Fatal(err)
	}
	lost := func(holder string) {
		t.Helper()
		for _, l := range []mutex.Lock{lock, adopted, late} {
			var lost *mutex.LostError
			if err := l.Renew(ctx); !errors.As(err, &lost) || lost.Holder.Run != holder || !lost.Broken {
				t.Errorf("a renewal of a broken lock: %v", err)
			}
		}
	}
	lost("")
	next := Acquire(t, open(), "backup", "run-2")
	lost("run-2")
	held(t, open(), "backup", "run-2")
	release(t, next)
	lost("")
	free(t, open(), "backup")
	release(t, lock)
	if err := lock.Renew(ctx); err != nil {
		t.Errorf("a renewal that comes after the release: %v", err)
	}
	free(t, open(), "backup")
}
