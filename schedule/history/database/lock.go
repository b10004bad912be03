package database

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"sched/schedule/statedir"
)

func (f *File) lockPath() string { return f.path() + "-lock" }

// takeLock waits for the lock of the database: shared for use, exclusive (LOCK_EX) to mend. It
// returns nil in a folder that cannot be written, and for a look without a lock file.
func (f *File) takeLock(how int) (*os.File, error) { return f.takeLockAt(f.lockPath(), how) }

func (f *File) takeLockAt(path string, how int) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE
	if f.config.Reading {
		flags = os.O_RDONLY
	}
	lock, err := statedir.OpenPlain(path, flags)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || f.config.Reading && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := f.poll(func() (bool, error) { return flock(lock, how) }); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), lock.Close())
	}
	return lock, nil
}

// flock tries once, and reports whether it has the lock, which the kernel drops with its holder: flock(2).
// It is not statedir.Lock, which has no shared holders: it takes them for readers that are gone in a moment.
func flock(f *os.File, how int) (bool, error) {
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// errWaited says that Config.Patience has run out.
var errWaited = errors.New("another process kept it locked for too long")

// poll calls try until it is done or fails, and gives up with errWaited.
func (f *File) poll(try func() (bool, error)) error {
	deadline := time.Now().Add(f.config.Patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 10*time.Millisecond) {
		if done, err := try(); done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errWaited
		}
		time.Sleep(pause)
	}
}
