package runner

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"sched/mutex"
)

// A State is the folder where runs leave what they must not forget. When it cannot be written
// (read-only, full, somebody else's) the runs go on with a spare one on another file system: the
// tasks run, the locks hold, and the loss of history is said.
type State struct {
	Dir string
}

// locks is where the mutexes of this machine are.
func (s State) locks() string { return filepath.Join(s.Dir, "locks") }

// Store returns the mutexes of this machine.
func (s State) Store() mutex.Files { return mutex.Files{Dir: s.locks()} }

// unwritable reports whether err says that a folder cannot be written, and another one might.
func unwritable(err error) bool {
	for _, e := range []error{syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EACCES, syscall.EPERM, syscall.ENOTDIR, syscall.EIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// spares are where the spare folder of this state folder may be. Their names depend on the user
// and the folder alone, so that every tick and every run finds the same ones.
func (s State) spares() []State {
	name := fmt.Sprintf("sched-%d-%x", os.Getuid(), sha256.Sum256([]byte(s.Dir)))[:30]
	return []State{{filepath.Join(os.TempDir(), name)}, {filepath.Join("/dev/shm", name)}}
}

// open makes a spare folder, or takes it if it is ours alone: others can write where it is.
func (s State) open() error {
	if err := os.Mkdir(s.Dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(s.Dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ok || int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a folder of ours alone", s.Dir)
	}
	return nil
}
