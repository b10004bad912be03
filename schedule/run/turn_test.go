package run

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule/state"
)

// others is a line in which other runs are first, by the name of the queue.
type others struct {
	first  map[string]mutex.Holder
	stands []string
}

func (l *others) stand(names ...string) error {
	l.stands = names
	return l.behind(names...)
}

func (l *others) behind(names ...string) error {
	for _, name := range names {
		if first, ok := l.first[name]; ok {
			return &BehindError{Name: name, First: first}
		}
	}
	return nil
}

// waitFor returns the wait of a run that began to wait so long ago, for a mutex in the folder, and
// waits for a second more.
func waitFor(t *testing.T, dir, run string, waited time.Duration) turn {
	return turn{
		need: mutex.Need{Mutex: "db"}, store: mutex.Files{Dir: dir}, line: &others{},
		holder: mutex.Holder{Run: run, Task: run, Since: time.Now().Add(-waited)},
		waited: waited, atMost: waited + time.Minute,
		ended:   func() error { return nil },
		refused: func() string { return "" },
		took: func(h mutex.Holding, _ time.Duration) error {
			t.Cleanup(func() { h.Lock.Release(t.Context()) })
			return nil
		},
	}
}

// Nobody watched the run while its time ran out. That read as if a store had not answered.
func TestARunThatNobodyWatchedUntilItsTimeWasOver(t *testing.T) {
	w := waitFor(t, t.TempDir(), "late", 2*time.Hour)
	w.atMost = time.Hour
	var skip *skipError
	if _, err := w.await(t.Context()); !errors.As(err, &skip) || skip.reason != "waited 1 h 0 m: no process was there when its time was over" {
		t.Errorf("%v", err)
	}
}

// A run that waited for an hour has had its mutex for a moment only: other runs read since when it
// has the mutex, not since when it waited.
func TestTheMutexIsHeldSinceTheTurnCame(t *testing.T) {
	dir := t.TempDir()
	if _, err := waitFor(t, dir, "first", time.Hour).await(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := (mutex.Files{Dir: dir}).Acquire(t.Context(), "db", mutex.Holder{Run: "second"})
	var held *mutex.HeldError
	if !errors.As(err, &held) || time.Since(held.Holder.Since) > 10*time.Minute {
		t.Errorf("%v", err)
	}
}

// A run that is refused is skipped, or waits on in no queue until it may start, or its time is
// over.
func TestARefusedRunIsSkippedOrPatient(t *testing.T) {
	dir := t.TempDir()
	w := waitFor(t, dir, "first", 0)
	w.refused = func() string { return "paused" }
	if _, err := w.await(t.Context()); err == nil || err.Error() != "paused" {
		t.Errorf("%v", err)
	}
	asked, own := 0, w.line.(*others)
	w.patient, w.refused = true, func() string {
		if asked++; asked < 3 {
			return "paused"
		}
		if asked == 3 && len(own.stands) > 0 {
			t.Errorf("it is in the way of others that wait for %v", own.stands)
		}
		return ""
	}
	if waited, err := w.await(t.Context()); err != nil || asked < 3 {
		t.Errorf("asked %d times in %s: %v", asked, waited, err)
	}
	w.atMost, w.refused = time.Nanosecond, func() string { return "paused" }
	w.need.Mutex = "other"
	if _, err := w.await(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "waited ") {
		t.Errorf("%v", err)
	}
}

// A run got its mutex, and with it the seat for which another had waited for longer.
func TestARunWhoseMutexComesFreeDoesNotOvertakeThoseThatWaitForASeat(t *testing.T) {
	dir := t.TempDir()
	w := waitFor(t, dir, "both", 0)
	w.need.Pool, w.need.Seats = "few", 1
	w.line = &others{first: map[string]mutex.Holder{state.SeatsOf("few"): {Run: "other", Task: "other", Since: time.Now().Add(-time.Hour)}}}
	w.atMost = 300 * time.Millisecond
	if _, err := w.await(t.Context()); err == nil || !strings.Contains(err.Error(), ": other waits for a seat of pool few since ") {
		t.Errorf("%v", err)
	}
	w.line = &others{}
	w.atMost = time.Minute
	if _, err := w.await(t.Context()); err != nil {
		t.Errorf("nobody waits any more: %v", err)
	}
}
