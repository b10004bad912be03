package mutex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrFree says that there was nothing to break.
var ErrFree = errors.New("nobody holds it")

// guardTimeout bounds the wait for another process that is opening or breaking a lock, which takes
// microseconds unless it was stopped in the middle.
const guardTimeout = 2 * time.Second

// Files keeps the mutexes of one machine: one file each in Dir, held with flock(2).
//
// The kernel ties such a lock to the open file description: every process that inherits the
// descriptor keeps it, and it is dropped with the last of them, however they end. LOCK_UN through
// any duplicate drops it at once. The content of the file names the owner and decides nothing.
type Files struct {
	Dir string
}

var _ Store = Files{}

// Acquire takes name with a lock of the kernel.
func (s Files) Acquire(ctx context.Context, name string, owner Owner) (Lock, error) {
	guard, err := s.guard(ctx)
	if err != nil {
		return nil, err
	}
	defer guard.Close()

	// Not for writing: the command inherits it, and may run as a user who must not write here.
	file, err := os.OpenFile(s.path(name), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(file, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		held := &HeldError{name, readOwner(file)}
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, held
		}
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	fence := max(readOwner(file).Fence+1, owner.Since.UnixMicro(), owner.Fence)
	lock := &fileLock{store: s, name: name, run: owner.Run, file: file, fence: fence}
	// Without the new owner the file would name the last one, whose late finish could take the lock for its own.
	if err := lock.describe(owner); err != nil {
		path := file.Name()
		lock.Release(ctx)
		return nil, fmt.Errorf("lock %s: its owner cannot be written: %w", path, err)
	}
	return lock, nil
}

// Held returns who has the mutex at this moment.
func (s Files) Held(name string) (owner Owner, held bool) {
	file, err := os.Open(s.path(name))
	if err != nil {
		return Owner{}, false
	}
	defer file.Close()
	if !errors.Is(flock(file, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return Owner{}, false
	}
	return readOwner(file), true
}

// Adopt returns the lock that came with an inherited descriptor.
func (s Files) Adopt(name string, owner Owner, inherited *os.File) Lock {
	return &fileLock{store: s, name: name, run: owner.Run, file: inherited, fence: owner.Fence}
}

// claimHour names the folder of the claims that end in one hour.
const claimHour = "2006-01-02T15"

// Claim makes a file that only one can make. The files of one hour share a folder, so that what
// has served its time goes at once when a new hour begins.
func (s Files) Claim(_ context.Context, key string, until time.Time, owner Owner) error {
	path := s.claimPath(key, until)
	dir := filepath.Dir(path)
	if err := s.makeClaims(dir, owner.Since); err != nil {
		return err
	}
	text, err := json.Marshal(owner)
	if err != nil {
		return err
	}
	// link(2) makes the claim with its content or not at all: a claim cannot be half written.
	draft := filepath.Join(dir, ".draft-"+owner.Run)
	defer os.Remove(draft)
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return err
	}
	err = os.Link(draft, path)
	if !errors.Is(err, os.ErrExist) {
		return err
	}
	if has := readOwnerOf(path); has.Run != owner.Run {
		return &HeldError{key, has}
	}
	return nil
}

// Claimed looks for the file of a claim.
func (s Files) Claimed(_ context.Context, key string, until time.Time) (owner Owner, claimed bool, err error) {
	path := s.claimPath(key, until)
	_, err = os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return Owner{}, false, nil
	}
	if err != nil {
		return Owner{}, false, err
	}
	return readOwnerOf(path), true, nil
}

func (s Files) claimPath(key string, until time.Time) string {
	return filepath.Join(s.Dir, "claims", until.UTC().Format(claimHour), fileName(key))
}

// makeClaims makes the folder of an hour, and where it is new removes those of hours long gone.
func (s Files) makeClaims(dir string, now time.Time) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil
		}
		return err
	}
	hours, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	gone := now.UTC().Add(-2 * time.Hour).Format(claimHour)
	for _, hour := range hours {
		if path := filepath.Join(filepath.Dir(dir), hour.Name()); hour.Name() < gone && path != dir {
			os.RemoveAll(path)
		}
	}
	return nil
}

// Break removes the file of a held lock: its holder keeps the lock on a file that nobody will
// open again. A new one has the fence, so that it goes on from there.
func (s Files) Break(ctx context.Context, name string) (Owner, error) {
	return s.breakIf(ctx, name, func(Owner) bool { return true })
}

func (s Files) breakIf(ctx context.Context, name string, ours func(Owner) bool) (Owner, error) {
	guard, err := s.guard(ctx)
	if err != nil {
		return Owner{}, err
	}
	defer guard.Close()

	file, err := os.Open(s.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return Owner{}, ErrFree
	}
	if err != nil {
		return Owner{}, err
	}
	defer file.Close()
	if flock(file, unix.LOCK_EX|unix.LOCK_NB) == nil {
		return Owner{}, ErrFree
	}
	owner := readOwner(file)
	if !ours(owner) {
		return owner, ErrFree
	}
	if err := os.Remove(file.Name()); err != nil {
		return owner, err
	}
	if text, err := json.Marshal(Owner{Fence: owner.Fence}); err == nil {
		os.WriteFile(file.Name(), text, 0o600) //nolint: a full disk leaves it empty, and the clock goes on
	}
	return owner, nil
}

// guard keeps opening and breaking a lock apart, so that nobody locks a file that was just removed.
// It is a lock on the folder itself.
func (s Files) guard(ctx context.Context) (*os.File, error) {
	dir, err := os.Open(s.Dir)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(s.Dir, 0o700); err != nil {
			return nil, err
		}
		dir, err = os.Open(s.Dir)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, guardTimeout)
	defer cancel()
	for {
		err := flock(dir, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || ctx.Err() != nil {
			dir.Close()
			return nil, fmt.Errorf("lock the folder %s: %w", s.Dir, err)
		}
		time.Sleep(time.Millisecond)
	}
}

func (s Files) path(name string) string { return filepath.Join(s.Dir, fileName(name)+".lock") }

// fileName turns a mutex or task name into one path element. The names' alphabet has no "+".
func fileName(name string) string { return strings.ReplaceAll(name, "/", "+") }

type fileLock struct {
	store Files
	name  string
	run   string
	file  *os.File // nil in a process that did not inherit it
	fence int64
}

func (l *fileLock) Inherit() *os.File { return l.file }

// Fence is the time of the acquisition in microseconds, or one more than the last where the clock
// was set back or the file was lost with its folder.
func (l *fileLock) Fence() int64 { return l.fence }

func (l *fileLock) Lease() time.Duration { return 0 }

func (l *fileLock) Renew(context.Context) error { return nil }

// Describe writes the owner into the file. It may fail, on a full disk: then people see what they saw before.
func (l *fileLock) Describe(owner Owner) { l.describe(owner) }

func (l *fileLock) describe(owner Owner) error {
	if l.file == nil {
		return nil
	}
	file, err := os.OpenFile(l.store.path(l.name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if !same(file, l.file) {
		return nil // this lock was broken, and the file there is of another one
	}
	owner.Fence = max(owner.Fence, l.fence, readOwner(l.file).Fence) // the next owner's must be larger
	text, err := json.Marshal(owner)
	if err != nil {
		return err
	}
	n, err := file.WriteAt(append(text, '\n'), 0)
	if err == nil {
		file.Truncate(int64(n)) //nolint: what is left of a longer text is cut by readOwner too
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
	_, err := l.store.breakIf(ctx, l.name, func(o Owner) bool { return o.Run == l.run })
	if errors.Is(err, ErrFree) {
		return nil
	}
	return err
}

// readOwner reads the first line of a lock's file; what it cannot read it leaves empty.
func readOwner(file *os.File) (owner Owner) {
	json.NewDecoder(io.NewSectionReader(file, 0, 4096)).Decode(&owner) //nolint: see above
	return owner
}

func readOwnerOf(path string) Owner {
	file, err := os.Open(path)
	if err != nil {
		return Owner{}
	}
	defer file.Close()
	return readOwner(file)
}

// same reports whether both are open on one file.
func same(a, b *os.File) bool {
	x, xerr := a.Stat()
	y, yerr := b.Stat()
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}

func flock(file *os.File, how int) error {
	for {
		err := unix.Flock(int(file.Fd()), how)
		if err != unix.EINTR {
			return err
		}
	}
}
