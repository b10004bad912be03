// Package statedir has what all files in a state folder need: who may own the folder, file locks
// with a bound, and writes that a kill leaves done or undone.
//
// It knows no file by name but the folder itself; only the package that owns a file knows what it
// holds.
//
// It is our own because no library does what runs need. Other programs must inherit the descriptor
// of a lock, and the wait for it must have a bound: rogpeppe/go-internal/lockedfile waits for ever
// and keeps the descriptor. A draft must have one name, so that many kills leave one draft:
// google/renameio makes a new name for each draft.
package statedir

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
)

// Check refuses a state folder in which another user can write
// (docs/internals/decisions.md#a-state-folder-that-others-can-write-is-refused): the files in it
// say what hooks are run. A folder that does not exist yet is fine. The error is *ForeignError for
// a folder that belongs to another user; Hint says what to do. As root it also refuses a folder in
// whose place another user can put another one; that error is a *FolderError. dir is absolute.
func Check(dir string) error {
	if os.Geteuid() == 0 {
		if err := CheckAbove(dir); err != nil {
			return fmt.Errorf("the state folder %s: %w, and root would run what is put in its place", dir, err)
		}
	}
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil // also a link to a folder that is not there yet, as on a disk that is not mounted
	}
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("the state folder %s is not a folder", dir)
	case ok && int(owner.Uid) != os.Geteuid():
		return &ForeignError{dir, int(owner.Uid)}
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("other users may write into the state folder %s, and so decide what sched runs: "+
			"chmod go-w %s", dir, dir)
	}
	return nil
}

// Hint says what to do about an error of Check; "" if the error says so itself.
func Hint(err error) string {
	if folder, is := errors.AsType[*FolderError](err); is {
		return folder.Hint("state folder")
	}
	if _, foreign := errors.AsType[*ForeignError](err); foreign {
		return "chown it to the user of sched, or set `state_dir` to another folder"
	}
	return ""
}

// A ForeignError says that a state folder belongs to another user.
type ForeignError struct {
	Dir   string
	Owner int
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("the state folder %s belongs to user %d, not to us (%d)", e.Dir, e.Owner, os.Geteuid())
}

// Unwritable reports whether err says that a folder cannot be written.
func Unwritable(err error) bool {
	unwritable := []syscall.Errno{
		syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EACCES, syscall.EPERM, syscall.ENOTDIR, syscall.EIO,
	}
	return slices.ContainsFunc(unwritable, func(errno syscall.Errno) bool { return errors.Is(err, errno) })
}
