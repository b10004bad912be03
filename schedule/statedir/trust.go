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

// This file says whom the files of sched are safe from: Check for a state folder, CheckAbove for
// each path that root believes. Owner says as whom root may look at files of another user.

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

// maxLinks bounds the symbolic links on the way to one path, as the kernel does
// (path_resolution(7)).
const maxLinks = 40

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

// Hint says what to do about a file or folder below such a folder: "schedule" or "state folder".
func (e *FolderError) Hint(below string) string {
	elsewhere := "keep the " + below + " where root alone can change it, " +
		"as /etc/sched for a schedule and /var/lib/sched for its state"
	if e.Owner != 0 {
		return elsewhere + ", or run it from the crontab of that user"
	}
	return "chmod go-w " + e.Folder + ", or " + elsewhere
}

// CheckAbove returns a *FolderError when a folder on the way to path belongs to another user than
// root, or can be written by others and is not sticky: such a user can rename what is in it. At the
// path itself there may be anything, or nothing: the package that opens the file checks who owns it
// and who can write it. Folders are judged as by StrictModes of sshd (sshd_config(5)). The path
// must be absolute; other errors are of the system.
func CheckAbove(path string) error {
	return walk(path, func(name string, info fs.FileInfo, isEnd bool) error {
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			return refuseLink(name, info)
		case isEnd:
			return nil
		}
		return refuseWritable(name, info)
	})
}

// CheckFile returns why another user than root can change the file at the path, or put another one
// in its place. The path must be absolute.
func CheckFile(path string) error {
	if err := CheckAbove(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if owner := ownerOf(info); owner != 0 || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others than root can change %s", path)
	}
	return nil
}

// Owner returns the user besides root who answers for what is at the path: all that is on the way
// there and does not belong to root is this user's. It returns 0 if there is no such user: root
// alone can change it, or several users can. It opens nothing. The path must be absolute; if
// nothing is there, the folders above it count.
func Owner(path string) (uid int) {
	errSeveral := errors.New("of several users")
	err := walk(path, func(_ string, info fs.FileInfo, _ bool) error {
		owner := ownerOf(info)
		if owner != 0 && uid != 0 && owner != uid {
			return errSeveral
		}
		uid = max(uid, owner)
		return nil
	})
	if err != nil {
		return 0
	}
	return uid
}

// walk calls visit for what the kernel meets on its way to an absolute path, from / on: each
// folder, each symbolic link, and what is at the end of the path. It goes on as long as visit
// returns nil. A part that does not exist ends the walk without an error.
//
//   - ".." is the folder above.
//   - A link is visited, and then replaced by its target. So the folders that hold the link are
//     visited, and the folders that it leads through.
func walk(path string, visit func(name string, info fs.FileInfo, isEnd bool) error) error {
	folder, rest, links := "/", parts(path), 0
	root, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	if err := visit(folder, root, len(rest) == 0); err != nil {
		return err
	}
	for len(rest) > 0 {
		next := filepath.Join(folder, rest[0]) // folder has no links in it
		rest = rest[1:]
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the user who makes it may write its folder
		}
		if err != nil {
			return err
		}
		isLink := info.Mode()&fs.ModeSymlink != 0
		if err := visit(next, info, len(rest) == 0 && !isLink); err != nil {
			return err
		}
		if !isLink {
			folder = next
			continue
		}
		if links++; links > maxLinks {
			return &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
		}
		target, err := os.Readlink(next)
		if err != nil {
			return err
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

// refuseLink refuses a symbolic link of another user than root: the owner of a link can replace it,
// even in a sticky folder.
func refuseLink(link string, info fs.FileInfo) error {
	if owner := ownerOf(info); owner != 0 {
		return &FolderError{Folder: link, Owner: owner}
	}
	return nil
}

// refuseWritable refuses a folder in which another user than root can replace the files of root.
func refuseWritable(folder string, info fs.FileInfo) error {
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
