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

	"sched/schedule/statedir"
)

// Files keeps the mutexes of one machine: one file each in Dir, held with flock(2).
//
// Every process that inherits the descriptor keeps the lock. The kernel drops it with the last of
// them, or with LOCK_UN in any of them. The content of the file names the holder and decides
// nothing.
type Files struct {
	Dir string // made when it is needed, with mode 0700

	// GoesOn reports whether the run last goes on, though no process holds its lock any more. If it
	// does, it still has the mutex. Acquire asks with the lock in hand, before it names the new
	// holder. May be nil.
	GoesOn func(name string, last Holder) bool

	// HeldByOther reports whether a process of a run other than the given one has the file of a
	// lock open. In a folder that was read-only, that run could not write its name into the file.
	// So a release of the run that the file names does not break the lock. May be nil.
	HeldByOther func(file *os.File, run string) bool

	// Over reports whether a run is one of this machine that needs no lock any more, because it
	// has ended or waits for its next attempt. Shared asks when such a run has a mutex in the
	// store: the store was away when the run released it. May be nil.
	Over func(run string) bool

	// Lenient goes on if the folder cannot be written. If the file of a lock cannot be made, the
	// caller gets a lock that holds nothing. If a claim cannot be made, the caller gets it.
	Lenient bool
}

var _ Locks = Files{}

// Acquire takes name with a lock of the kernel.
func (f Files) Acquire(ctx context.Context, name string, holder Holder) (Lock, error) {
	lock, err := f.acquire(ctx, name, holder)
	if err != nil && f.Lenient && statedir.Unwritable(err) {
		return &jointLock{}, nil
	}
	return lock, err
}

// acquire takes the lock in four steps:
//
//  1. Lock the folder: nobody removes the file of the lock meanwhile.
//  2. Open the file, and lock it unless another run has it.
//  3. Give it up if the run that had it last goes on without it.
//  4. Write the new holder into the file. Otherwise it would name the last one, whose late release
//     could break the lock of the new one.
func (f Files) acquire(ctx context.Context, name string, holder Holder) (Lock, error) {
	folder, err := f.lockFolder()
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	file, err := f.lockFile(name)
	if err != nil {
		return nil, err
	}
	last := readHolder(file)
	if f.GoesOn != nil && last.Run != "" && last.Run != holder.Run && f.GoesOn(name, last) {
		unlock(file)
		return nil, &HeldError{Name: name, Holder: last}
	}
	lock := &fileLock{files: f, name: name, run: holder.Run, file: file}
	if err := lock.describe(holder); err != nil && !f.Lenient {
		lock.Release(ctx)
		return nil, fmt.Errorf("lock %s: its owner cannot be written: %w", f.path(name), err)
	}
	return lock, nil
}

// lockFile opens and locks the file of a lock. The error is *HeldError if another process has it
// locked.
func (f Files) lockFile(name string) (*os.File, error) {
	// Not for writing: the command inherits it, and may run as a user who must not write here.
	file, err := statedir.OpenPlain(f.path(name), os.O_RDONLY|os.O_CREATE)
	if errors.Is(err, unix.EROFS) {
		file, err = statedir.OpenPlain(f.path(name), os.O_RDONLY)
	}
	if err != nil {
		return nil, err
	}
	err = tryLock(file)
	if err == nil {
		return file, nil
	}
	defer file.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, &HeldError{Name: name, Holder: readHolder(file)}
	}
	return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
}

func (f Files) Adopt(name string, holder Holder, inherited *os.File) Lock {
	if inherited == nil {
		inherited = f.lockAgain(name, holder.Run)
	}
	return &fileLock{files: f, name: name, run: holder.Run, file: inherited}
}

// lockAgain takes the lock of a run again whose processes with the descriptor were killed. It
// returns nil if one of them lives, or if the mutex is not the run's any more.
func (f Files) lockAgain(name, run string) *os.File {
	folder, err := f.lockFolder()
	if err != nil {
		return nil
	}
	defer folder.Close()
	file, err := statedir.OpenPlain(f.path(name), os.O_RDONLY)
	if err != nil {
		return nil
	}
	if tryLock(file) != nil || readHolder(file).Run != run {
		file.Close()
		return nil
	}
	return file
}

// Break removes the file of a held lock: its holder keeps a lock that nobody can open.
func (f Files) Break(_ context.Context, name string) (Holder, error) {
	return f.breakIf(name, func(*os.File, Holder) bool { return true })
}

// breakIf is Break if mayBreak allows it for the file of the lock and its holder. Else it returns
// ErrFree, with the holder.
func (f Files) breakIf(name string, mayBreak func(*os.File, Holder) bool) (Holder, error) {
	folder, err := f.lockFolder()
	if err != nil {
		return Holder{}, err
	}
	defer folder.Close()

	file, err := statedir.OpenPlain(f.path(name), os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return Holder{}, ErrFree
	}
	if err != nil {
		return Holder{}, err
	}
	defer file.Close()
	if tryLock(file) == nil {
		return Holder{}, ErrFree
	}
	holder := readHolder(file)
	if !mayBreak(file, holder) {
		return holder, ErrFree
	}
	return holder, os.Remove(file.Name())
}

func (f Files) path(name string) string { return filepath.Join(f.Dir, fileName(name)+".lock") }

// fileName turns the name of a mutex or of a task into one path element. Names have no "+".
func fileName(name string) string { return strings.ReplaceAll(name, "/", "+") }

// tryLock locks a file for its open descriptor, and for the processes that inherit it.
func tryLock(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// unlock unlocks a file for all processes that inherited it, and closes it.
func unlock(file *os.File) error {
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_UN)
}

// readHolder reads the first line of the file of a lock. It leaves fields empty that it cannot
// read.
func readHolder(file *os.File) (holder Holder) {
	json.NewDecoder(io.NewSectionReader(file, 0, 4096)).Decode(&holder)
	return holder
}

// A fileLock is a lock of the kernel on the file of a mutex.
type fileLock struct {
	files    Files
	name     string
	run      string
	file     *os.File // nil in a process that did not inherit it
	released bool
}

// Inherit takes the lock again if the last process that had it has ended since Adopt, as when the
// supervisor was killed during one attempt and the next one is about to start.
func (l *fileLock) Inherit() []*os.File {
	if l.file == nil && !l.released {
		l.file = l.files.lockAgain(l.name, l.run)
	}
	if l.file == nil {
		return nil
	}
	return []*os.File{l.file}
}

func (l *fileLock) Lease() time.Duration        { return 0 }
func (l *fileLock) LeaseBegan() time.Time       { return time.Time{} }
func (l *fileLock) Renew(context.Context) error { return nil }
func (l *fileLock) Describe(holder Holder)      { l.describe(holder) }

func (l *fileLock) describe(holder Holder) error {
	if l.file == nil {
		return nil
	}
	file, err := statedir.OpenPlain(l.files.path(l.name), os.O_WRONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	if !statedir.SameFile(file, l.file) {
		return nil // this lock was broken, and the file there is of another one
	}
	text, err := json.Marshal(holder)
	if err != nil {
		return err
	}
	n, err := file.WriteAt(append(text, '\n'), 0)
	if err == nil {
		file.Truncate(int64(n)) // readHolder reads the first line alone
	}
	return err
}

// Release unlocks for all processes of the run, so a daemon that the command left behind keeps
// nothing. The file names nobody then: a run that cannot write its end yet, as on a full disk, does
// not go on for GoesOn. Without the descriptor it breaks the lock if it still names the run.
func (l *fileLock) Release(context.Context) error {
	l.released = true
	if l.file != nil {
		if readHolder(l.file).Run == l.run {
			l.describe(Holder{})
		}
		err := unlock(l.file)
		l.file = nil
		return err
	}
	_, err := l.files.breakIf(l.name, func(file *os.File, h Holder) bool {
		return h.Run == l.run && (l.files.HeldByOther == nil || !l.files.HeldByOther(file, l.run))
	})
	if errors.Is(err, ErrFree) {
		return nil
	}
	return err
}

// folderTimeout bounds the wait for a process that stopped while it opened or broke a lock.
const folderTimeout = 2 * time.Second

// lockFolder locks the folder of the locks until the result is closed. No other process opens or
// breaks a lock meanwhile: it could lock a file that another has just removed.
func (f Files) lockFolder() (*os.File, error) {
	folder, err := statedir.OpenDir(f.Dir)
	if errors.Is(err, os.ErrNotExist) {
		if err := statedir.MakeDir(f.Dir); err != nil {
			return nil, err
		}
		folder, err = statedir.OpenDir(f.Dir)
	}
	if err != nil {
		return nil, err
	}
	if err := statedir.LockWithin(folder, folderTimeout); err != nil {
		folder.Close()
		return nil, fmt.Errorf("lock the folder %s: %w", f.Dir, err)
	}
	return folder, nil
}

// Claim makes a file that only one run can make. The files of one hour share a folder.
func (f Files) Claim(_ context.Context, key string, until time.Time, holder Holder) error {
	err := f.claim(key, until, holder)
	if f.Lenient && statedir.Unwritable(err) {
		return nil
	}
	return err
}

// claim makes the claim at holder.Since.
func (f Files) claim(key string, until time.Time, holder Holder) error {
	path := f.claimPath(key, until)
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
	if claimant := claimantAt(path); claimant.Run != holder.Run {
		return &HeldError{Name: key, Holder: claimant}
	}
	return nil
}

// Claimed returns who has claimed a key; until must be the time that claims of the key give.
func (f Files) Claimed(key string, until time.Time) (holder Holder, claimed bool, err error) {
	path := f.claimPath(key, until)
	if _, err = os.Stat(path); err == nil {
		return claimantAt(path), true, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return Holder{}, false, err
}

func (f Files) claimPath(key string, until time.Time) string {
	return filepath.Join(f.Dir, "claims", until.UTC().Format(claimHour), fileName(key))
}

// claimHour names the folder of the claims that end in one hour (UTC). The names sort by time.
const claimHour = "2006-01-02T15"

// makeHour makes the folder of an hour. If the folder is new, makeHour sweeps the folders of the
// other hours.
func makeHour(folder string, now time.Time) error {
	claims := filepath.Dir(folder)
	if err := statedir.MakeDir(claims); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); errors.Is(err, os.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	hours, err := os.ReadDir(claims)
	for _, hour := range hours {
		if path := filepath.Join(claims, hour.Name()); path != folder {
			sweepHour(path, now)
		}
	}
	return err
}

// outOfDate is a file with the time at which its folder was first found to be out of date.
const outOfDate = ".out-of-date"

// sweepHour removes the folder of an hour that ended two hours ago, and that was found out of date
// an hour ago or earlier. So a clock that is wrong for a moment takes no claims away.
func sweepHour(folder string, now time.Time) {
	mark := filepath.Join(folder, outOfDate)
	if filepath.Base(folder) >= now.UTC().Add(-2*time.Hour).Format(claimHour) {
		os.Remove(mark) // a clock that was wrong has left the mark
		return
	}
	text, _ := statedir.ReadFile(mark)
	marked, err := time.Parse(time.RFC3339, string(text))
	switch {
	case err != nil || marked.After(now): // there is no mark, or a clock that was wrong has left it
		os.WriteFile(mark, now.UTC().AppendFormat(nil, time.RFC3339), 0o600)
	case now.Sub(marked) >= time.Hour:
		os.RemoveAll(folder)
	}
}

// claimantAt reads the file of a claim. The holder of a file that cannot be read is empty.
func claimantAt(path string) Holder {
	text, _ := statedir.ReadFile(path)
	return HolderOf(text)
}
