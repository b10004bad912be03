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
	for _, place := range SparePlaces {
		spares = append(spares, filepath.Join(place, name))
	}
	return spares
}

// SparePlaces are the folders in which spare ones are made, in the order in which they are tried. No variable of the
// environment changes them: locks hold only between processes that use the same one. Only tests set it, before anything runs.
var SparePlaces = placesOf(os.Geteuid())

// placesOf begins with a folder in which root alone can make a spare one; where others can, they can be first.
func placesOf(uid int) []string {
	if uid == 0 {
		return []string{"/run", "/dev/shm", "/tmp"}
	}
	return []string{"/tmp", "/dev/shm"}
}

func sparePrefix() string { return fmt.Sprintf("sched-%d-", os.Geteuid()) }

// IsSpare reports whether the folder is a spare one itself.
func IsSpare(dir string) bool {
	return slices.Contains(SparePlaces, filepath.Dir(dir)) && strings.HasPrefix(filepath.Base(dir), sparePrefix())
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

// OpenSpare makes a spare folder, and tries whether it can be written. One that is there must be ours alone.
func OpenSpare(spare string) error {
	if err := os.Mkdir(spare, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if info, err := os.Lstat(spare); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not a folder", spare) // a link would lead to a place that another user chose
	}
	if err := Check(spare); err != nil {
		return err
	}
	return tryWrite(filepath.Join(spare, ".try"))
}

// tryWrite writes a file and removes it: where a folder can be made, there may be no room for a file.
func tryWrite(path string) error {
	err := os.WriteFile(path, make([]byte, 4096), 0o600)
	return errors.Join(err, os.Remove(path))
}

// OpenAnySpare opens the first spare folder of a state folder that can be used: one that is there already before one that is
// not, so that locks go on to hold. The error says why each cannot.
func OpenAnySpare(dir string) (spare string, err error) {
	candidates := Folders(dir)[1:]
	for _, spare := range Spares(dir) {
		if !slices.Contains(candidates, spare) {
			candidates = append(candidates, spare)
		}
	}
	var problems []error
	for _, spare := range candidates {
		err := OpenSpare(spare)
		if err == nil {
			return spare, errors.Join(problems...)
		}
		problems = append(problems, fmt.Errorf("nor can %s: %w", spare, err))
	}
	return "", errors.Join(problems...)
}
