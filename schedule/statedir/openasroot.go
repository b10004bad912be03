package statedir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// OpenAsRoot opens a file for writing, for root, and makes the folders that are missing. A symbolic
// link is followed only when it is root's, and no other user could have put it there: such a link
// could lead root to any file of the machine. Other users may have the folder and the file itself.
func OpenAsRoot(path string, flags int, mode uint32) (*os.File, error) {
	w := rootWalk{path: path, rest: parts(path), rootsOnly: true, folder: -1}
	defer w.leave()
	if err := w.goToTop(); err != nil {
		return nil, err
	}
	for len(w.rest) > 0 {
		if err := w.look(); err != nil {
			return nil, err
		}
		name, last := w.rest[0], len(w.rest) == 1
		var next int
		var err error
		if last {
			next, err = unix.Openat(w.folder, name, flags&^unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		} else {
			next, err = openFolder(w.folder, name)
		}
		switch {
		case err != nil:
			if err := w.followLink(name, err); err != nil {
				return nil, err
			}
		case last:
			return w.accept(next, flags)
		default:
			w.goOn(next, filepath.Join(w.passed, name))
			w.rest = w.rest[1:]
		}
	}
	return nil, &os.PathError{Op: "open", Path: path, Err: unix.EISDIR}
}

// A rootWalk goes the way of the kernel along a path, from folder to folder, so that nobody can
// change what it has passed.
type rootWalk struct {
	path      string
	rest      []string // the names that are left
	folder    int      // the open folder that it has come to
	passed    string   // the path of that folder
	writable  bool     // others than root can write that folder, as /tmp
	rootsOnly bool     // in no folder so far could another user have put a link of root's
	links     int      // that it has followed
}

// goToTop goes to the folder of all folders.
func (w *rootWalk) goToTop() error {
	top, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		w.goOn(top, "/")
	}
	return err
}

// goOn goes on from an open folder.
func (w *rootWalk) goOn(folder int, path string) {
	w.leave()
	w.folder, w.passed = folder, path
}

// leave closes the folder.
func (w *rootWalk) leave() {
	if w.folder >= 0 {
		unix.Close(w.folder)
	}
}

// look finds out who can change the names in the folder.
func (w *rootWalk) look() error {
	var folder unix.Stat_t
	if err := unix.Fstat(w.folder, &folder); err != nil {
		return err
	}
	w.writable = folder.Mode&0o022 != 0
	w.rootsOnly = w.rootsOnly && folder.Uid == 0 && (!w.writable || folder.Mode&unix.S_ISVTX != 0)
	return nil
}

// followLink puts the target of a link in the place of its name, which could not be opened for the
// reason why.
func (w *rootWalk) followLink(name string, why error) error {
	const maxLinks = 40 // as the kernel has it (path_resolution(7))
	target, owner, isLink := readLink(w.folder, name)
	switch {
	case !isLink:
		return &os.PathError{Op: "open", Path: filepath.Join(w.passed, name), Err: why}
	case !w.rootsOnly || owner != 0:
		return fmt.Errorf("%s is a link that another user may have put there, and root follows none",
			filepath.Join(w.passed, name))
	case w.links >= maxLinks:
		return &os.PathError{Op: "open", Path: w.path, Err: unix.ELOOP}
	}
	w.links++
	w.rest = append(parts(target), w.rest[1:]...)
	if strings.HasPrefix(target, "/") {
		return w.goToTop()
	}
	return nil
}

// accept returns the opened file. It refuses a file that has another name as well, unless root
// alone can give names in its folder: another user may have linked any file of the machine there.
// It empties the file if flags say so, because the open itself did not.
func (w *rootWalk) accept(descriptor, flags int) (*os.File, error) {
	file := os.NewFile(uintptr(descriptor), w.path)
	var info unix.Stat_t
	err := unix.Fstat(descriptor, &info)
	regular := info.Mode&unix.S_IFMT == unix.S_IFREG
	rootNames := w.rootsOnly && !w.writable
	switch {
	case err != nil:
	case regular && info.Nlink > 1 && !rootNames:
		err = fmt.Errorf("%s has another name, which another user may have given it", w.path)
	case regular && flags&unix.O_TRUNC != 0:
		err = file.Truncate(0)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// openFolder opens a folder that is no link, and makes it when it is missing.
func openFolder(folder int, name string) (fd int, err error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err = unix.Openat(folder, name, flags, 0)
	if err == unix.ENOENT {
		if err = unix.Mkdirat(folder, name, 0o755); err == nil || err == unix.EEXIST {
			fd, err = unix.Openat(folder, name, flags, 0)
		}
	}
	return fd, err
}

// readLink returns the target of a link, and its owner.
func readLink(folder int, name string) (target string, owner uint32, isLink bool) {
	var link unix.Stat_t
	room := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(folder, name, room)
	if err != nil || unix.Fstatat(folder, name, &link, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return "", 0, false
	}
	return string(room[:n]), link.Uid, true
}
