package status

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// WriteTextfile replaces the content of the file at path, which others read at any time: they see the old text or the new one,
// never a part. As the node exporter wants it, the draft lies beside the file under a name that does not end in .prom, and
// everybody may read the file.
//
// All processes use one draft, and lock it. A process that finds it locked returns nil and leaves the file to the other, whose text
// is as new. So a kill leaves one draft at most, which the next process uses. Nothing is synced to disk: a minute later the text
// is another.
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

// lockDraft opens the draft and locks it; the file is nil while another process has it.
func lockDraft(path string) (*os.File, error) {
	for range 10 {
		draft, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(draft.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			draft.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, nil
			}
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		ours, err := draft.Stat()
		there, terr := os.Lstat(path)
		if err == nil && terr == nil && os.SameFile(ours, there) {
			return draft, nil
		}
		draft.Close() // another process renamed it since we opened it
	}
	return nil, fmt.Errorf("%s: %w", path, fs.ErrExist)
}
