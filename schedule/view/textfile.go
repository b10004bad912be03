package view

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"sched/schedule/statedir"
)

// WriteTextfile replaces the file at path; readers see the old text or the new one. Everybody may
// read the file. The draft lies beside it, under a name that does not end in .prom. All processes
// lock one draft: a process that finds it locked returns nil, because the other process's text is
// as new. A kill leaves at most one draft. Nothing is synced, because a new text comes a minute
// later.
func WriteTextfile(path string, text []byte) error {
	draft, err := lockDraft(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new"))
	if draft == nil || err != nil {
		return err
	}
	defer draft.Close()
	err = draft.Truncate(0)
	if err == nil {
		_, err = draft.Write(text)
	}
	if err == nil {
		err = draft.Chmod(0o644) // whatever the umask
	}
	if err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		os.Remove(draft.Name())
	}
	return err
}

// lockDraft opens the draft and locks it. The returned file is nil while another process has the
// draft. The exporter's user may own the folder and can put anything there. So lockDraft removes a
// file that is not ours alone, and never writes it.
func lockDraft(path string) (*os.File, error) {
	for range 10 {
		draft, err := statedir.OpenLocked(path, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW)
		switch {
		case errors.Is(err, statedir.ErrLocked):
			return nil, nil
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("there is no folder %s", filepath.Dir(path))
		case errors.As(err, new(*statedir.NotPlainError)), errors.Is(err, unix.ELOOP):
		case err != nil:
			return nil, err
		default:
			if ours, err := draft.Stat(); err == nil && onlyOurs(ours) {
				return draft, nil
			}
			draft.Close()
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %w", path, fs.ErrExist)
}

// onlyOurs reports whether a file is ours and has no second name.
func onlyOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid() && stat.Nlink == 1
}
