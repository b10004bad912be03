package mutex

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/statedir"
)

// A fileLock is a lock of the kernel on the file of a mutex.
type fileLock struct {
	store Files
	name  string
	run   string
	file  *os.File // nil in a process that did not inherit it
}

// Inherit returns the locked file, in a process that has it.
func (l *fileLock) Inherit() []*os.File {
	if l.file == nil {
		return nil
	}
	return []*os.File{l.file}
}

// Lease returns 0: the lock lasts as long as the processes of its run.
func (l *fileLock) Lease() time.Duration { return 0 }

// Leased returns zero: the lock is no lease.
func (l *fileLock) Leased() time.Time { return time.Time{} }

// Renew does nothing.
func (l *fileLock) Renew(context.Context) error { return nil }

// Describe writes the holder into the file, in a process that has the descriptor.
func (l *fileLock) Describe(holder Holder) { l.describe(holder) }

func (l *fileLock) describe(holder Holder) error {
	if l.file == nil {
		return nil
	}
	file, err := statedir.OpenPlain(l.store.path(l.name), os.O_WRONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	if !sameFile(file, l.file) {
		return nil // this lock was broken, and the file there is of another one
	}
	text, err := json.Marshal(holder)
	if err != nil {
		return err
	}
	n, err := file.WriteAt(append(text, '\n'), 0)
	if err == nil {
		file.Truncate(int64(n)) //nolint: readHolder reads the first line alone
	}
	return err
}

// Release unlocks the description that all processes of the run share, so a daemon that the
// command left behind keeps nothing. Without the descriptor it breaks the lock if it still names
// the run.
func (l *fileLock) Release(ctx context.Context) error {
	if l.file != nil {
		err := flock(l.file, unix.LOCK_UN)
		l.file.Close()
		l.file = nil
		return err
	}
	_, err := l.store.breakIf(ctx, l.name, func(h Holder) bool { return h.Run == l.run })
	if errors.Is(err, ErrFree) {
		return nil
	}
	return err
}

// sameFile reports whether both are open on one file.
func sameFile(a, b *os.File) bool {
	x, xerr := a.Stat()
	y, yerr := b.Stat()
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}
