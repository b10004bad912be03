// Package statedir has what all files in a state folder need: who may own the folder, file locks
// with a bound, and writes that a kill leaves done or undone.
//
// It knows no file by name but the folder itself and the note Unloaded; only the package that owns
// a file knows what it holds.
//
// It is our own because no library does what runs need. Other programs must inherit the descriptor
// of a lock, and the wait for it must have a bound: rogpeppe/go-internal/lockedfile waits for ever
// and keeps the descriptor. A draft must have one name, so that many kills leave one draft:
// google/renameio makes a new name for each draft.
package statedir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxRead is the most bytes of a file that ReadFile reads. It is far beyond what is written into a
// state folder.
const maxRead = 64 << 20

// A NotPlainError says that there is something else in the place of a file in a state folder: a
// named pipe, for which a process would wait for ever, a device, a folder.
type NotPlainError struct {
	Path string
	Kind string // what it is, in words
}

func (e *NotPlainError) Error() string {
	return fmt.Sprintf("%s is %s, not a file; remove it", e.Path, e.Kind)
}

// OpenPlain is os.OpenFile for a file in a state folder, with mode 0600 for a new one. It waits for
// nothing, and the error is *NotPlainError if something else than a plain file is there.
func OpenPlain(path string, flags int) (*os.File, error) {
	// Without O_NONBLOCK a named pipe would stop us here for ever. On a plain file it has no
	// effect.
	file, err := os.OpenFile(path, flags|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0o600)
	if err != nil {
		if wrong := CheckPlain(path); wrong != nil {
			return nil, wrong // "no such device or address" of a pipe, and "is a directory"
		}
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &NotPlainError{path, kind(info.Mode())}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// CheckPlain returns a *NotPlainError if something is at the path, or at the end of a link there,
// that is no plain file. It opens nothing.
func CheckPlain(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &NotPlainError{path, kind(info.Mode())}
	}
	return nil
}

// ReadFile is os.ReadFile for a file in a state folder: see OpenPlain. A file of more than maxRead
// bytes is an error.
func ReadFile(path string) ([]byte, error) {
	file, err := OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxRead+1))
	if len(text) > maxRead {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxRead>>20)
	}
	return text, err
}

// OpenDir opens a folder, for its lock or to sync it. It waits for nothing.
func OpenDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// Open opens a file that only we may read, and makes its folder (mode 0700) and the file if flags
// say so. It tries the file first: the folder is missing only once. See OpenPlain.
func Open(path string, flags int) (*os.File, error) {
	file, err := OpenPlain(path, flags)
	if errors.Is(err, os.ErrNotExist) && flags&os.O_CREATE != 0 {
		if err = MakeDir(filepath.Dir(path)); err == nil {
			file, err = OpenPlain(path, flags)
		}
	}
	return file, err
}

// MakeDir makes a folder (mode 0700), and the folders above it, if they are missing. A link to
// nowhere is an error that says that the folder cannot be written (Unwritable).
func MakeDir(path string) error {
	err := os.MkdirAll(path, 0o700)
	if wrong, ok := errors.AsType[*os.PathError](err); ok && errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is a link that leads nowhere: %w", wrong.Path, unix.ENOTDIR)
	}
	return err
}

// Make makes a state folder as MakeDir does. A folder that sched made gets a .gitignore: git sees
// nothing of it. Any other folder stays as it is: people may keep other files there
// (`state_dir: .`).
func Make(dir string) error {
	ignore := filepath.Join(dir, ".gitignore")
	if _, err := os.Lstat(ignore); err == nil {
		return nil
	}
	if _, err := os.Stat(dir); err != nil {
		if err := MakeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, os.ErrExist) {
			return MakeDir(dir) // another process made it, or it is a link to nowhere
		}
		if err != nil {
			return err
		}
	} else if !isOurs(dir) {
		return nil
	}
	// O_EXCL follows no link. Without the file sched works as well, so errors do not matter.
	if file, err := OpenPlain(ignore, os.O_WRONLY|os.O_CREATE|os.O_EXCL); err == nil {
		if _, err := file.WriteString("*\n"); err != nil {
			os.Remove(ignore) // the disk is full: a later call tries again
		}
		file.Close()
	}
	return nil
}

// isOurs reports whether sched made a state folder: it has the name that sched gives, or nothing in
// it but what a tick or a run writes before the database is there.
func isOurs(dir string) bool {
	if filepath.Base(dir) == ".sched" {
		return true
	}
	entries, err := os.ReadDir(dir)
	isForeign := func(e os.DirEntry) bool {
		return !slices.Contains([]string{"tick-environment", "output", "locks"}, e.Name())
	}
	return err == nil && len(entries) > 0 && !slices.ContainsFunc(entries, isForeign)
}

// Unwritable reports whether err says that a folder cannot be written.
func Unwritable(err error) bool {
	unwritable := []syscall.Errno{
		syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EACCES, syscall.EPERM, syscall.ENOTDIR, syscall.EIO,
	}
	return slices.ContainsFunc(unwritable, func(errno syscall.Errno) bool { return errors.Is(err, errno) })
}

// Replace makes text the content of the file at path, in one step: a kill or a power cut at any
// moment leaves the old file or the new one. The folder must be there. Of two processes that
// replace the same file at the same moment one may fail, unless a lock keeps them apart.
func Replace(path string, text []byte) error {
	draft := path + ".new"
	if err := WriteSynced(draft, text); err != nil {
		return err
	}
	if err := os.Rename(draft, path); err != nil {
		os.Remove(draft)
		return err
	}
	SyncDir(filepath.Dir(path))
	return nil
}

// WriteSynced writes a file that only we may read, and syncs it to disk. If its folder is missing,
// it is made. If the write fails, the file is removed; if the file cannot be opened, it stays.
func WriteSynced(path string, text []byte) error {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	file, err := Open(path, flags)
	if _, notPlain := errors.AsType[*NotPlainError](err); notPlain && os.Remove(path) == nil {
		file, err = Open(path, flags) // nobody misses what was in the place of the draft
	}
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// SyncDir makes what was renamed in a folder survive a power cut, if the file system can.
func SyncDir(path string) {
	if dir, err := OpenDir(path); err == nil {
		dir.Sync()
		dir.Close()
	}
}

// ErrLocked says that another process holds the lock of a file. It is what flock(2) says.
var ErrLocked error = unix.EWOULDBLOCK

// How often, and for how long each time, Lock waits for a process that only reads: 0.1 s in all.
const (
	readerTries = 200
	readerPause = 500 * time.Microsecond
)

// Lock takes the lock of a file (flock(2), exclusive) for as long as any process has this
// descriptor open. It returns ErrLocked when another process holds the lock.
//
// A process that only looks who is alive, as `sched list` does, shares the lock for a moment. Lock
// waits for such processes: otherwise a tick would take a lost run for alive.
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
		} // only readers have it, because they share it with us
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

// SameFile reports whether two open files are the same one.
func SameFile(a, b *os.File) bool {
	x, err := a.Stat()
	y, yerr := b.Stat()
	return err == nil && yerr == nil && os.SameFile(x, y)
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
