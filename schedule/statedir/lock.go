package statedir

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked says that another process holds the lock of a file. It is what flock(2) says.
var ErrLocked error = unix.EWOULDBLOCK

// How often, and for how long each time, Lock waits for a process that only reads: 0.1 s in all.
const (
	readerTries = 200
	readerPause = 500 * time.Microsecond
)

// Lock takes the lock of a file (flock(2), exclusive) for as long as any process has this
// descriptor open. It returns ErrLocked when another process holds the lock. Processes that only
// look share the lock for a moment. Lock waits for them: otherwise `sched list` would make a tick
// find a lost run alive.
func Lock(file *os.File) error {
	fd := int(file.Fd())
	for range readerTries {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		if unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) != nil {
			return ErrLocked
		}
		_ = unix.Flock(fd, unix.LOCK_UN)
		time.Sleep(readerPause)
	}
	return ErrLocked
}

// LockWithin is Lock for a lock that others hold for a moment only: it waits for them, and returns
// ErrLocked when patience has passed.
func LockWithin(file *os.File, patience time.Duration) error {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if err := Lock(file); !errors.Is(err, ErrLocked) || time.Now().After(end) {
			return err
		}
	}
}

// OpenLocked opens (OpenPlain) and locks the file at path. With os.O_CREATE in flags it makes a
// missing file, with mode 0600. The error is ErrLocked if another process holds the lock. It is
// os.ErrNotExist if there is no such file, also if another process removed or renamed it after it
// was opened.
func OpenLocked(path string, flags int) (*os.File, error) {
	for {
		file, err := OpenPlain(path, flags)
		if err != nil {
			return nil, err
		}
		if err = Lock(file); err == nil && !IsAt(file, path) {
			err = &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
		}
		if err == nil {
			return file, nil
		}
		file.Close()
		if flags&os.O_CREATE == 0 || !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
}

// IsAt reports whether the open file is the one that has the path now.
func IsAt(file *os.File, path string) bool {
	opened, err := file.Stat()
	there, serr := os.Stat(path)
	return err == nil && serr == nil && os.SameFile(opened, there)
}

// Exclusively does something that only one process may do in the folder at a time. It waits for
// others for some seconds, and makes the folder if it is missing.
func Exclusively(dir string, do func() error) error {
	if err := MakeDir(dir); err != nil {
		return err
	}
	folder, err := OpenDir(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	const patience = 5 * time.Second
	if err := LockWithin(folder, patience); err != nil {
		return fmt.Errorf("another process keeps %s locked: %w", dir, err)
	}
	return do()
}
