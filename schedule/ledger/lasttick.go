package ledger

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sched/schedule/statedir"
)

// The file last-tick holds the last minute that a tick covered, in UTC. It is always of one length and
// written in place, so it can be written on a full disk, and never is half of one minute and half of
// another.
const minuteLayout = "2006-01-02T15:04:00Z"

func lastTickPath(state string) string { return filepath.Join(state, "last-tick") }

// LastTick returns the last minute that a tick covered with this state folder; zero when none ever did.
func LastTick(state string) time.Time {
	file, err := statedir.OpenPlain(lastTickPath(state), os.O_RDONLY)
	if err != nil {
		return time.Time{}
	}
	defer file.Close()
	return readMinute(file)
}

// A LastTickLock lets one tick at a time read what others have covered, and cover its own minute.
type LastTickLock struct{ file *os.File }

// lockPatience bounds the wait for the lock: a tick holds it for microseconds, and some milliseconds after a gap.
const lockPatience = 2 * time.Second

// LockLastTick waits until no other tick holds the lock, for two seconds at most. It makes the file where it is missing.
func LockLastTick(state string) (*LastTickLock, error) {
	file, err := statedir.Open(lastTickPath(state), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := statedir.LockWithin(file, lockPatience); err != nil {
		file.Close()
		return nil, fmt.Errorf("another tick keeps %s locked: %w", file.Name(), err)
	}
	return &LastTickLock{file}, nil
}

// Covered returns the last minute that a tick covered; zero when none ever did.
func (l *LastTickLock) Covered() time.Time { return readMinute(l.file) }

// Cover writes down that a tick covers the minute.
func (l *LastTickLock) Cover(minute time.Time) error {
	_, err := l.file.WriteAt([]byte(minute.UTC().Format(minuteLayout)+"\n"), 0)
	return err
}

// Unlock lets the next tick go on.
func (l *LastTickLock) Unlock() { l.file.Close() }

// readMinute returns zero for a file that it cannot read, as for one that was never written.
func readMinute(file *os.File) time.Time {
	text := make([]byte, len(minuteLayout))
	if _, err := io.ReadFull(io.NewSectionReader(file, 0, 1<<10), text); err != nil {
		return time.Time{}
	}
	minute, err := time.Parse(minuteLayout, string(text))
	if err != nil {
		return time.Time{}
	}
	return minute
}
