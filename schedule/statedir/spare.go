package statedir

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// When a state folder cannot be written (read-only, full, owned by another user) runs go on with a spare one on
// another file system (docs/decisions.md#there-is-a-spare-one): the tasks run, the locks hold, and it is said what
// the history loses.

// Unwritable reports whether err says that a folder cannot be written, and another one might.
func Unwritable(err error) bool {
	for _, e := range []error{syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EACCES, syscall.EPERM, syscall.ENOTDIR, syscall.EIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Spares returns the paths where the spare folders of a state folder may be, in the order in which they are tried.
// Their names depend on the user and the folder alone, so that every tick and every run finds the same ones.
func Spares(dir string) (spares []string) {
	name := fmt.Sprintf("%s%x", sparePrefix(), sha256.Sum256([]byte(dir)))[:30]
	for _, place := range sparePlaces() {
		spares = append(spares, filepath.Join(place, name))
	}
	return spares
}

func sparePlaces() []string { return []string{os.TempDir(), "/dev/shm"} }

func sparePrefix() string { return fmt.Sprintf("sched-%d-", os.Geteuid()) }

// IsSpare reports whether the folder is a spare one itself.
func IsSpare(dir string) bool {
	return slices.Contains(sparePlaces(), filepath.Dir(dir)) && strings.HasPrefix(filepath.Base(dir), sparePrefix())
}

// Folders returns the state folder, and the spare ones that are there and ours alone: those of others are not
// read.
func Folders(dir string) []string {
	all := []string{dir}
	for _, spare := range Spares(dir) {
		if info, err := os.Lstat(spare); err == nil && info.IsDir() && Check(spare) == nil {
			all = append(all, spare)
		}
	}
	return all
}

// OpenSpare makes a spare folder. One that is there must be ours alone.
func OpenSpare(spare string) error {
	if err := os.Mkdir(spare, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if info, err := os.Lstat(spare); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not a folder", spare) // a link would lead to a place that another user chose
	}
	return Check(spare)
}
