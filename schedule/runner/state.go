package runner

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sched/mutex"
)

// A State is the folder where runs leave what they must not forget. When it cannot be written
// (read-only, full, somebody else's) the runs go on with a spare one on another file system: the
// tasks run, the locks hold, and the loss of history is said.
type State struct {
	Dir    string
	Remote *mutex.Redis // where servers share the mutexes; nil for a machine that stands alone
}

// locks is where the mutexes of this machine are.
func (s State) locks() string { return filepath.Join(s.Dir, "locks") }

// Store returns the mutexes of the schedule.
func (s State) Store() mutex.Store { return s.storeAt(s.locks()) }

// storeAt returns the mutexes whose part on this machine is in another folder: a run that began while
// this one could not be written has its lock there.
func (s State) storeAt(locks string) mutex.Store {
	return mutex.NewStore(locks, s.Remote)
}

// meetStore lets this machine know the Redis of the store again, if it was started anew.
func (s State) meetStore() {
	if s.Remote != nil {
		os.MkdirAll(s.Dir, 0o700) // where that is impossible, others say so
		s.Remote.RememberInstances(filepath.Join(s.Dir, "store.json"))
	}
}

// alone is the same state without other servers.
func (s State) alone() State { return State{Dir: s.Dir} }

// StateFrom returns the state that the environment of a background run's process names, and false
// for any other process.
func StateFrom(getenv func(string) string) (s State, ok bool, err error) {
	s.Dir = getenv(StateVariable)
	if store := getenv(StoreVariable); store != "" && s.Dir != "" {
		var config mutex.Config
		if err := json.Unmarshal([]byte(store), &config); err != nil {
			return s, true, fmt.Errorf("$%s: %w", StoreVariable, err)
		}
		s.Remote, err = mutex.Dial(config)
	}
	return s, s.Dir != "", err
}

// variables are what StateFrom reads.
func (s State) variables() []string {
	variables := []string{StateVariable + "=" + s.Dir}
	if s.Remote != nil {
		config, _ := json.Marshal(s.Remote.Config()) // texts and a number
		variables = append(variables, StoreVariable+"="+string(config))
	}
	return variables
}

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
func (s State) spares() (spares []State) {
	name := fmt.Sprintf("%s%x", sparePrefix(), sha256.Sum256([]byte(s.Dir)))[:30]
	for _, place := range sparePlaces() {
		spares = append(spares, State{filepath.Join(place, name), s.Remote})
	}
	return spares
}

func sparePlaces() []string { return []string{os.TempDir(), "/dev/shm"} }

func sparePrefix() string { return fmt.Sprintf("sched-%d-", os.Geteuid()) }

// isSpare reports whether the folder is a spare one itself.
func (s State) isSpare() bool {
	return slices.Contains(sparePlaces(), filepath.Dir(s.Dir)) && strings.HasPrefix(filepath.Base(s.Dir), sparePrefix())
}

// folders returns the state folder and the spare ones that are ours alone: in those of others we believe
// nothing.
func (s State) folders() []State {
	all := []State{s}
	for _, spare := range s.spares() {
		if info, err := os.Lstat(spare.Dir); err == nil && info.IsDir() && spare.Check() == nil {
			all = append(all, spare)
		}
	}
	return all
}

// open makes a spare folder, or takes the one that is there if it is ours alone.
func (s State) open() error {
	if err := os.Mkdir(s.Dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if info, err := os.Lstat(s.Dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not a folder", s.Dir) // a link would lead to a place that somebody else chose
	}
	return s.Check()
}

// Check refuses a state folder in which somebody else can write: the files in it say what hooks
// are run. One that does not exist yet is fine.
func (s State) Check() error {
	info, err := os.Lstat(s.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		if info, err = os.Stat(s.Dir); err != nil {
			return err
		}
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("the state folder %s is not a folder", s.Dir)
	case ok && int(owner.Uid) != os.Geteuid():
		return &ForeignError{s.Dir, int(owner.Uid)}
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("the state folder %s can be written by others (chmod 700 %s)", s.Dir, s.Dir)
	}
	return nil
}

// A ForeignError says that a state folder belongs to another user.
type ForeignError struct {
	Dir   string
	Owner int
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("the state folder %s belongs to user %d, not to us (%d)", e.Dir, e.Owner, os.Geteuid())
}
