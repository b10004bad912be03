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

func (l *fileLock) Inherit() []*os.File {
	if l.file == nil {
		return nil
	}
	return []*os.File{l.file}
}

func (l *fileLock) Lease() time.Duration { return 0 }

func (l *fileLock) Leased() time.Time { return time.Time{} }

func (l *fileLock) Renew(context.Context) error { return nil }

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

// Release unlocks for all processes of the run, so a daemon that the command left behind keeps
// nothing. Without the descriptor it breaks the lock if it still names the run.
func (l *fileLock) Release(ctx context.Context) error {
	if l.file != nil {
		err := flock(l.file, unix.LOCK_UN)
		l.file.Close()
		l.file = nil
		return err
	}
	_, err := l.store.breakIf(ctx, l.name, func(file *os.File, h Holder) bool {
		return h.Run == l.run && (l.store.HeldByOther == nil || !l.store.HeldByOther(file, l.run))
	})
	if errors.Is(err, ErrFree) {
		return nil
	}
	return err
}

// A noLock stands for a lock whose file cannot be made: see Files.Lenient.
type noLock struct{}

func (noLock) Inherit() []*os.File           { return nil }
func (noLock) Lease() time.Duration          { return 0 }
func (noLock) Leased() time.Time             { return time.Time{} }
func (noLock) Renew(context.Context) error   { return nil }
func (noLock) Describe(Holder)               {}
func (noLock) Release(context.Context) error { return nil }

func sameFile(a, b *os.File) bool {
	x, xerr := a.Stat()
	y, yerr := b.Stat()
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}
