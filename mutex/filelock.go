package mutex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

func sameFile(a, b *os.File) bool {
	x, xerr := a.Stat()
	y, yerr := b.Stat()
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}

// folderTimeout bounds the wait for a process that stopped while it opened or broke a lock.
const folderTimeout = 2 * time.Second

// lockFolder locks the folder of the locks until the result is closed. No other process opens or
// breaks a lock meanwhile: it could lock a file that another has just removed.
func (s Files) lockFolder(ctx context.Context) (*os.File, error) {
	folder, err := statedir.OpenDir(s.Dir)
	if errors.Is(err, os.ErrNotExist) {
		if err := statedir.MakeDir(s.Dir); err != nil {
			return nil, err
		}
		folder, err = statedir.OpenDir(s.Dir)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, folderTimeout)
	defer cancel()
	for {
		err := flock(folder, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return folder, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || ctx.Err() != nil {
			folder.Close()
			return nil, fmt.Errorf("lock the folder %s: %w", s.Dir, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// flock is flock(2), again after a signal.
func flock(file *os.File, how int) error {
	for {
		err := unix.Flock(int(file.Fd()), how)
		if err != unix.EINTR {
			return err
		}
	}
}

// claimHour names the folder of the claims that end in one hour (UTC). The names sort by time.
const claimHour = "2006-01-02T15"

// Claim makes a file that only one run can make. The files of one hour share a folder.
func (s Files) Claim(_ context.Context, key string, until time.Time, holder Holder) error {
	err := s.claim(key, until, holder)
	if s.Lenient && statedir.Unwritable(err) {
		return nil
	}
	return err
}

func (s Files) claim(key string, until time.Time, holder Holder) error {
	path := s.claimPath(key, until)
	folder := filepath.Dir(path)
	if err := makeHour(folder, holder.Since); err != nil {
		return err
	}
	text, err := json.Marshal(holder)
	if err != nil {
		return err
	}
	// link(2) makes the claim with its content or not at all: a claim cannot be half written.
	draft := filepath.Join(folder, ".draft-"+holder.Run)
	defer os.Remove(draft)
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return err
	}
	err = os.Link(draft, path)
	if !errors.Is(err, os.ErrExist) {
		return err
	}
	if has := readHolderAt(path); has.Run != holder.Run {
		return &HeldError{key, has}
	}
	return nil
}

// Claimed returns who has claimed a key; until must be the time that claims of the key give.
func (s Files) Claimed(key string, until time.Time) (holder Holder, claimed bool, err error) {
	path := s.claimPath(key, until)
	if _, err = os.Stat(path); err == nil {
		return readHolderAt(path), true, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return Holder{}, false, err
}

func (s Files) claimPath(key string, until time.Time) string {
	return filepath.Join(s.Dir, "claims", until.UTC().Format(claimHour), fileName(key))
}

// makeHour makes the folder of an hour. If the folder is new, makeHour sweeps the folders of other
// hours.
func makeHour(folder string, now time.Time) error {
	claims := filepath.Dir(folder)
	if err := statedir.MakeDir(claims); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil
		}
		return err
	}
	return sweepClaims(claims, folder, now)
}

func sweepClaims(claims, but string, now time.Time) error {
	hours, err := os.ReadDir(claims)
	if err != nil {
		return err
	}
	for _, hour := range hours {
		if path := filepath.Join(claims, hour.Name()); path != but {
			sweepHour(path, now)
		}
	}
	return nil
}

// outOfDate is a file with the hour in which its folder was first found to be out of date.
const outOfDate = ".out-of-date"

// sweepHour removes the folder of an hour that ended two hours ago and was out of date an hour ago,
// too. So a clock that is wrong for a moment takes no claims away.
func sweepHour(folder string, now time.Time) {
	mark := filepath.Join(folder, outOfDate)
	if filepath.Base(folder) >= now.UTC().Add(-2*time.Hour).Format(claimHour) {
		os.Remove(mark) // of a clock that was wrong
		return
	}
	found, err := statedir.ReadFile(mark)
	switch {
	case errors.Is(err, os.ErrNotExist):
		os.WriteFile(mark, []byte(now.UTC().Format(claimHour)), 0o600)
	case string(found) != now.UTC().Format(claimHour):
		os.RemoveAll(folder)
	}
}

// readHolderAt is readHolder for a path; a file that cannot be opened has an empty holder.
func readHolderAt(path string) Holder {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return Holder{}
	}
	defer file.Close()
	return readHolder(file)
}
