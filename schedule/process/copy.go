package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule"
)

// CopyTo makes the copy for the key output, with the rights of this process. It returns when ctx is
// done, with the cause of ctx, even if the file is a named pipe without a reader, or is on a file
// system that does not answer.
func CopyTo(ctx context.Context, to schedule.Output, from io.Reader) error {
	done := make(chan error, 1) // what hangs in the kernel is left behind
	go func() { done <- copyTo(ctx, to, from) }()
	select {
	case err := <-done:
		if errors.Is(err, os.ErrDeadlineExceeded) { // of the write, which the end of ctx brings about
			return context.Cause(ctx)
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func copyTo(ctx context.Context, to schedule.Output, from io.Reader) error {
	file, err := openCopy(ctx, to)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { file.SetWriteDeadline(time.Now()) })() // of a pipe; files have none
	_, err = io.Copy(file, from)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}

// openCopy opens the file of a copy, and makes the folders that are missing. It waits for the
// reader of a named pipe until ctx is done.
func openCopy(ctx context.Context, to schedule.Output) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC | syscall.O_NONBLOCK
	if to.Append {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND | syscall.O_NONBLOCK
	}
	open := func() (*os.File, error) { return openAsRoot(to.File, flags, 0o644) }
	if os.Geteuid() != 0 {
		if err := os.MkdirAll(filepath.Dir(to.File), 0o755); err != nil {
			return nil, err
		}
		open = func() (*os.File, error) { return os.OpenFile(to.File, flags, 0o644) }
	}
	for {
		file, err := open()
		if info, serr := os.Stat(to.File); !errors.Is(err, syscall.ENXIO) || serr != nil || info.Mode()&fs.ModeNamedPipe == 0 {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// CopyOutput makes the copy as the user of the task, because root would follow the links of anybody
// who can write in that folder
// (docs/internals/decisions.md#the-copy-of-the-output-is-made-as-the-user). It returns when ctx is
// done, with the cause of ctx.
func (spec Spec) CopyOutput(ctx context.Context, to schedule.Output, captured *os.File) error {
	p, err := spec.startAs(setup{Copy: to}, captured)
	if err != nil {
		return err
	}
	select {
	case <-p.Done:
	case <-ctx.Done():
		syscall.Kill(-p.PID, syscall.SIGKILL)
		return context.Cause(ctx)
	}
	switch {
	case p.Refusal != "":
		return errors.New(p.Refusal)
	case p.ExitCode() != 0:
		return fmt.Errorf("exit code %d", p.ExitCode())
	}
	return nil
}

// openAsRoot opens a file for writing, for root, and makes the folders that are missing. A symbolic
// link is followed only when it is root's, and no other user could have put it there: such a link
// could lead root to any file of the machine. Other users may have the folder and the file itself.
//
// It goes the way of the kernel, from folder to folder, so that nobody can change what it has
// passed.
func openAsRoot(path string, flags int, mode uint32) (file *os.File, err error) {
	folder, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { unix.Close(folder) }()
	const mostLinks = 40 // as the kernel has it (path_resolution(7))
	rest, links, roots, passed := names(path), 0, true, "/"
	for len(rest) > 0 {
		at := unix.Stat_t{}
		if err := unix.Fstat(folder, &at); err != nil {
			return nil, err
		}
		roots = roots && at.Uid == 0 && (at.Mode&0o022 == 0 || at.Mode&unix.S_ISVTX != 0)
		name := rest[0]
		next, err := -1, error(nil)
		if len(rest) > 1 {
			next, err = openFolder(folder, name)
		} else {
			next, err = unix.Openat(folder, name, flags&^unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		}
		if err != nil {
			target, owner, isLink := readLink(folder, name)
			switch {
			case !isLink:
				return nil, &os.PathError{Op: "open", Path: filepath.Join(passed, name), Err: err}
			case !roots || owner != 0:
				return nil, fmt.Errorf("%s is a link that another user may have put there, and root follows none", filepath.Join(passed, name))
			case links >= mostLinks:
				return nil, &os.PathError{Op: "open", Path: path, Err: unix.ELOOP}
			}
			links++
			if strings.HasPrefix(target, "/") {
				top, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
				if err != nil {
					return nil, err
				}
				unix.Close(folder)
				folder, passed = top, "/"
			}
			rest = append(names(target), rest[1:]...)
			continue
		}
		if len(rest) == 1 {
			file := os.NewFile(uintptr(next), path)
			if err := checkOpened(file, roots && at.Mode&0o022 == 0, flags); err != nil {
				file.Close()
				return nil, err
			}
			return file, nil
		}
		unix.Close(folder)
		folder, rest, passed = next, rest[1:], filepath.Join(passed, name)
	}
	return nil, &os.PathError{Op: "open", Path: path, Err: unix.EISDIR}
}

// names are the names in a path. Names before a ".." stay: they may be links.
func names(path string) []string {
	return slices.DeleteFunc(strings.Split(filepath.ToSlash(path), "/"), func(name string) bool { return name == "" || name == "." })
}

// openFolder opens a folder that is no link, and makes it when it is missing.
func openFolder(in int, name string) (fd int, err error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err = unix.Openat(in, name, flags, 0)
	if err == unix.ENOENT {
		if err = unix.Mkdirat(in, name, 0o755); err == nil || err == unix.EEXIST {
			fd, err = unix.Openat(in, name, flags, 0)
		}
	}
	return fd, err
}

// readLink returns the target of a link, and its owner.
func readLink(in int, name string) (target string, owner uint32, isLink bool) {
	var link unix.Stat_t
	room := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(in, name, room)
	if err != nil || unix.Fstatat(in, name, &link, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return "", 0, false
	}
	return string(room[:n]), link.Uid, true
}

// checkOpened refuses a file that has another name as well, unless root alone can give names in its
// folder: another user may have linked any file of the machine there. It empties the file when
// flags say so.
func checkOpened(file *os.File, roots bool, flags int) error {
	var is unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &is); err != nil {
		return err
	}
	regular := is.Mode&unix.S_IFMT == unix.S_IFREG
	if regular && is.Nlink > 1 && !roots {
		return fmt.Errorf("%s has another name, which another user may have given it", file.Name())
	}
	if regular && flags&unix.O_TRUNC != 0 {
		return file.Truncate(0)
	}
	return nil
}
