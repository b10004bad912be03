package statedir

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// When a state folder cannot be written (read-only, full, owned by another user) runs go on with a spare one on
// another file system: the tasks run, the locks hold, and it is said what the history loses.

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

// OpenSpare makes a spare folder, and tries whether it can be written. One that is there must be ours alone. As long as this process
// lives RemoveSpare leaves it where it is: in a folder for everybody somebody else could put another in its place.
func OpenSpare(spare string) error {
	for range openTries {
		if err := os.Mkdir(spare, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		err := checkSpare(spare)
		var lock *os.File
		if err == nil {
			lock, err = lockSpare(spare, unix.LOCK_SH)
		}
		if err == nil {
			err = checkSpare(spare) // it may have been removed, and made by another, before we had the lock
		}
		if errors.Is(err, os.ErrNotExist) { // it was removed since
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		spareLocks.Store(lock, true)
		return tryWrite(filepath.Join(spare, ".try"))
	}
	return fmt.Errorf("%s is removed again and again", spare)
}

// openTries is how often OpenSpare tries to make a folder that others remove.
const openTries = 100

// spareLocks are the locks of the spare folders that this process uses.
var spareLocks sync.Map

func checkSpare(spare string) error {
	info, err := os.Lstat(spare)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", spare) // a link would lead to a place that another user chose
	}
	return Check(spare)
}

// lockSpare takes the lock of those who use a spare folder (shared), or of the one that removes it, which does not wait. The error
// is os.ErrNotExist when the folder was removed since.
func lockSpare(spare string, how int) (*os.File, error) {
	path := filepath.Join(spare, spareLock)
	file, err := OpenPlain(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(file.Fd()), how); err == nil && !IsAt(file, path) {
		err = os.ErrNotExist
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

const spareLock = ".in-use"

// RemoveSpare removes a spare folder that nobody uses and that holds nothing but files that nobody needs: those that match the
// patterns (filepath.Match, below the folder), and of which no process has the lock. The function is called once nobody can begin to
// use the folder. RemoveSpare reports whether it is gone.
func RemoveSpare(spare string, unneeded func() (patterns []string)) bool {
	lock, err := lockSpare(spare, unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return false
	}
	defer lock.Close()
	for _, pattern := range unneeded() {
		files, _ := filepath.Glob(filepath.Join(spare, pattern))
		for _, file := range files {
			if held, err := OpenLocked(file, os.O_RDWR); err == nil {
				os.Remove(file)
				held.Close()
			}
		}
	}
	var folders []string
	filepath.WalkDir(spare, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != spare {
			folders = append(folders, path)
		}
		return nil
	})
	for _, folder := range slices.Backward(folders) {
		syscall.Rmdir(folder) // fails where something is left
	}
	if left, err := os.ReadDir(spare); err != nil || len(left) > 1 {
		return false
	}
	// A process that comes now finds no lock file, or one that is no longer at its path, and begins again.
	os.Remove(lock.Name())
	return syscall.Rmdir(spare) == nil
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
