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

	// Lenient goes on if the folder cannot be written. If the file of a lock cannot be made, the
	// caller gets a lock that holds nothing. If a claim cannot be made, the caller gets it.
	Lenient bool
}

var _ Locks = Files{}

// Acquire takes name with a lock of the kernel.
func (s Files) Acquire(ctx context.Context, name string, holder Holder) (Lock, error) {
	lock, err := s.acquire(ctx, name, holder)
	if err != nil && s.Lenient && statedir.Unwritable(err) {
		return &jointLock{}, nil
	}
	return lock, err
}

func (s Files) acquire(ctx context.Context, name string, holder Holder) (Lock, error) {
	folder, err := s.lockFolder(ctx)
	if err != nil {
		return nil, err
	}
	defer folder.Close()

	// Not for writing: the command inherits it, and may run as a user who must not write here.
	file, err := statedir.OpenPlain(s.path(name), os.O_RDONLY|os.O_CREATE)
	if errors.Is(err, unix.EROFS) {
		file, err = statedir.OpenPlain(s.path(name), os.O_RDONLY)
	}
	if err != nil {
		return nil, err
	}
	if err := flock(file, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		held := &HeldError{name, readHolder(file)}
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, held
		}
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	last := readHolder(file)
	if s.GoesOn != nil && last.Run != "" && last.Run != holder.Run && s.GoesOn(name, last) {
		flock(file, unix.LOCK_UN)
		file.Close()
		return nil, &HeldError{name, last}
	}
	lock := &fileLock{store: s, name: name, run: holder.Run, file: file}
	// Without the new holder the file would name the last one, whose late release could break the
	// lock of the new one.
	if err := lock.describe(holder); err != nil && !s.Lenient {
		path := file.Name()
		lock.Release(ctx)
		return nil, fmt.Errorf("lock %s: its owner cannot be written: %w", path, err)
	}
	return lock, nil
}

func (s Files) Adopt(name string, holder Holder, inherited *os.File) Lock {
	if inherited == nil {
		inherited = s.lockAgain(name, holder.Run)
	}
	return &fileLock{store: s, name: name, run: holder.Run, file: inherited}
}

// lockAgain takes the lock of a run again whose processes with the descriptor were killed. It
// returns nil if one of them lives, or if the mutex is not the run's any more.
func (s Files) lockAgain(name, run string) *os.File {
	folder, err := s.lockFolder(context.Background())
	if err != nil {
		return nil
	}
	defer folder.Close()
	file, err := statedir.OpenPlain(s.path(name), os.O_RDONLY)
	if err != nil {
		return nil
	}
	if flock(file, unix.LOCK_EX|unix.LOCK_NB) != nil || readHolder(file).Run != run {
		file.Close()
		return nil
	}
	return file
}

// Held returns who has the mutex now. A file that cannot be read counts as free.
func (s Files) Held(name string) (holder Holder, held bool) {
	file, err := statedir.OpenPlain(s.path(name), os.O_RDONLY)
	if err != nil {
		return Holder{}, false
	}
	defer file.Close()
	if !errors.Is(flock(file, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return Holder{}, false
	}
	return readHolder(file), true
}

// Last returns the holder that the file of the mutex names, whether it still has the mutex or not;
// false if the file names no run.
func (s Files) Last(name string) (holder Holder, ok bool) {
	holder = readHolderAt(s.path(name))
	return holder, holder.Run != ""
}

// Break removes the file of a held lock: its holder keeps a lock that nobody can open.
func (s Files) Break(ctx context.Context, name string) (Holder, error) {
	return s.breakIf(ctx, name, func(*os.File, Holder) bool { return true })
}

func (s Files) breakIf(ctx context.Context, name string, match func(*os.File, Holder) bool) (Holder, error) {
	folder, err := s.lockFolder(ctx)
	if err != nil {
		return Holder{}, err
	}
	defer folder.Close()

	file, err := statedir.OpenPlain(s.path(name), os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return Holder{}, ErrFree
	}
	if err != nil {
		return Holder{}, err
	}
	defer file.Close()
	if flock(file, unix.LOCK_EX|unix.LOCK_NB) == nil {
		return Holder{}, ErrFree
	}
	holder := readHolder(file)
	if !match(file, holder) {
		return holder, ErrFree
	}
	return holder, os.Remove(file.Name())
}

func (s Files) path(name string) string { return filepath.Join(s.Dir, fileName(name)+".lock") }

// fileName turns the name of a mutex or of a task into one path element. Names have no "+".
func fileName(name string) string { return strings.ReplaceAll(name, "/", "+") }

// readHolder reads the first line of the file of a lock or claim. It leaves fields empty that it
// cannot read.
func readHolder(file *os.File) (holder Holder) {
	json.NewDecoder(io.NewSectionReader(file, 0, 4096)).Decode(&holder) //nolint: see above
	return holder
}
