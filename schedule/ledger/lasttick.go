package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/statedir"
)

// The file last-tick holds two minutes in UTC, a line each: the last that a tick covered, and the newest that one ever did,
// which is later when the clock was set back since. It is always of one length and written in place, so it can be written
// on a full disk, and never is half of one minute and half of another.
const minuteLayout = "2006-01-02T15:04:00Z"

func lastTickPath(state string) string { return filepath.Join(state, "last-tick") }

// LastTick returns the last minute that a tick covered with this state folder; zero when none ever did.
func LastTick(state string) time.Time {
	last, _ := lastTicks(state)
	return last
}

// lastTicks returns the last minute that a tick covered with this state folder, and the newest; zero when none ever did.
func lastTicks(state string) (last, newest time.Time) {
	file, err := statedir.OpenPlain(lastTickPath(state), os.O_RDONLY)
	if err != nil {
		return time.Time{}, time.Time{}
	}
	defer file.Close()
	return readMinutes(file)
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

// Cover writes down that a tick covers the minute.
func (l *LastTickLock) Cover(minute time.Time) error {
	_, newest := readMinutes(l.file)
	lines := minute.UTC().Format(minuteLayout) + "\n" + humanize.Later(minute, newest).UTC().Format(minuteLayout) + "\n"
	_, err := l.file.WriteAt([]byte(lines), 0)
	return err
}

// Unlock lets the next tick go on.
func (l *LastTickLock) Unlock() { l.file.Close() }

// readMinutes returns zero for what it cannot read, as for a file that was never written. The newest is never before the last.
func readMinutes(file *os.File) (last, newest time.Time) {
	const length = len(minuteLayout) + 1
	lines := make([]byte, 2*length)
	n, _ := file.ReadAt(lines, 0)
	last = parseMinute(lines[:min(n, length-1)])
	newest = parseMinute(lines[min(n, length):min(n, 2*length-1)])
	return last, humanize.Later(last, newest)
}

func parseMinute(line []byte) time.Time {
	minute, err := time.Parse(minuteLayout, string(line))
	if err != nil {
		return time.Time{}
	}
	return minute
}
