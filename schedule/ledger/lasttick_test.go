package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOneTickAtATimeCoversItsMinute(t *testing.T) {
	state := filepath.Join(t.TempDir(), "new")
	if last := LastTick(state); !last.IsZero() {
		t.Errorf("the last tick was at %s", last)
	}
	lock, err := LockLastTick(state)
	if err != nil {
		t.Fatal(err)
	}
	if !LastTick(state).IsZero() {
		t.Error("something is covered")
	}
	if _, err := LockLastTick(state); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("a second lock: %v", err)
	}
	for _, c := range []struct{ minute, newest time.Time }{
		{noon, noon},
		{noon.Add(time.Minute), noon.Add(time.Minute)},
		{noon.Add(-time.Hour), noon.Add(time.Minute)}, // the clock was set back
		{noon, noon.Add(time.Minute)},
		{noon.Add(2 * time.Minute), noon.Add(2 * time.Minute)},
	} {
		err := lock.Cover(c.minute)
		last, newest := lastTicks(state)
		if err != nil || !last.Equal(c.minute) || !newest.Equal(c.newest) || !LastTick(state).Equal(c.minute) {
			t.Errorf("%v: covered is %s, the newest %s", err, last, newest)
		}
	}
	lock.Unlock()
	again, err := LockLastTick(state)
	if err != nil {
		t.Fatal(err)
	}
	again.Unlock()
}

func TestWhatIsReadOfALastTickThatIsTornOrOdd(t *testing.T) {
	for text, want := range map[string][2]time.Time{
		"2026-03-01T12:00:00Z\n":                          {noon, noon},
		"2026-03-01T12:00:00Z\n2026-03-01T11:00:00Z\n":    {noon, noon},
		"2026-03-01T12:00:00Z\n2026-03-01T1":              {noon, noon},
		"2026-03-01T11:00:00Z\n2026-03-01T12:00:00Z\n":    {noon.Add(-time.Hour), noon},
		"rubbish that is as long\n2026-03-01T12:00:00Z\n": {},
		"": {},
	} {
		state := t.TempDir()
		if err := os.WriteFile(lastTickPath(state), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if last, newest := lastTicks(state); !last.Equal(want[0]) || !newest.Equal(want[1]) {
			t.Errorf("%q: %s and %s", text, last, newest)
		}
	}
}
