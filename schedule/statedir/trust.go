package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// This file says which paths root may believe: paths at which no other user can put something else.
//
// It is about the folders above a file, as StrictModes of sshd is (sshd_config(5)). The package
// that opens the file checks who owns it and who can write it.

// mostLinks bounds the symbolic links on the way to one path, as the kernel does
// (path_resolution(7)).
const mostLinks = 40

// A FolderError says that another user than root can put something else in the place of a path.
type FolderError struct {
	Folder string // above the path, or a symbolic link on the way to it
	Owner  int    // the user it belongs to; 0 if other users can write it
}

func (e *FolderError) Error() string {
	if e.Owner != 0 {
		return fmt.Sprintf("%s belongs to another user (uid %d)", e.Folder, e.Owner)
	}
	return fmt.Sprintf("others than root can write the folder %s", e.Folder)
}

// Hint says what to do about a schedule or a state folder, what, that is below such a folder.
func (e *FolderError) Hint(what string) string {
	elsewhere := "keep the " + what + " where root alone can change it, as /etc/sched for a schedule and /var/lib/sched for its state"
	if e.Owner != 0 {
		return elsewhere + ", or run it from the crontab of that user"
	}
	return "chmod go-w " + e.Folder + ", or " + elsewhere
}

// CheckAbove returns a *FolderError when a folder on the way to path belongs to another user than
// root, or can be written by others and is not sticky: such a user can rename what is in it. It
// goes the way of the kernel, so that it sees the folders that hold a symbolic link and the folders
// that the link leads through. At the path itself there may be anything, or nothing. The path must
// be absolute; other errors are of the system.
func CheckAbove(path string) error {
	folder, rest, links := "/", parts(path), 0
	root, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	if err := check(folder, root); err != nil {
		return err
	}
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			folder = filepath.Dir(folder) // which has no links in it
			continue
		}
		next := filepath.Join(folder, name)
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the user who makes it may write its folder
		}
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if len(rest) == 0 {
				return nil
			}
			if err := check(next, info); err != nil {
				return err
			}
			folder = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if links++; links > mostLinks {
			return &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
		}
		if owner := ownerOf(info); owner != 0 { // who can replace it in a sticky folder
			return &FolderError{Folder: next, Owner: owner}
		}
		if filepath.IsAbs(target) {
			folder = "/"
		}
		rest = append(parts(target), rest...)
	}
	return nil
}

// parts are the names in a path. Names before a ".." stay: they may be links.
func parts(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

func check(folder string, info fs.FileInfo) error {
	if owner := ownerOf(info); owner != 0 {
		return &FolderError{Folder: folder, Owner: owner}
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return &FolderError{Folder: folder}
	}
	return nil
}

// ownerOf returns the user that owns a file; 0 if the system does not say.
func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return 0
}
