package takeover

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/install"
	"sched/schedule/statedir"
	"sched/schedule/usercrontab"
)

// A File is a file of cron with lines to take.
type File struct {
	Path  string `json:"path"` // "" for the crontab of this user, by crontab(1)
	Text  string `json:"text"` // before the takeover
	Lines []Line `json:"lines"`
}

// A Line is a line of cron, and the tasks that do what it does.
type Line struct {
	Raw   string   `json:"raw"`
	Tasks []string `json:"tasks"`
	Stamp string   `json:"stamp"` // the file in which anacron keeps when it ran; "" for no line of anacron
}

// ErrChanged says that somebody else changed a file meanwhile. Nothing was written.
var ErrChanged = errors.New("it was changed meanwhile by somebody else")

// name is what messages call the file.
func (f File) name() string {
	if f.Path == "" {
		return "crontab"
	}
	return f.Path
}

// read returns the text of the file as it is now.
func (f File) read() (string, error) {
	if f.Path == "" {
		text, _, err := usercrontab.Crontab{}.Read()
		return text, err
	}
	text, _, err := readPlain(f.Path)
	return text, err
}

// replace makes text the text of the file, in one step, if that is still the old one.
func (f File) replace(old, text, backups string, now time.Time) error {
	if f.Path == "" {
		_, err := install.Apply(usercrontab.Crontab{}, install.Edit{Old: old, New: text}, true, backups, now)
		return err
	}
	return replaceFile(f.Path, old, text)
}

// readPlain reads a file that is no link, and what the system says about it.
func readPlain(path string) (text string, info fs.FileInfo, err error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no plain file")
	}
	if err != nil {
		return "", nil, err
	}
	all, err := io.ReadAll(file)
	return string(all), info, err
}

// replaceFile replaces a file by one that has its owner, mode and label. The name of the draft
// begins with a dot: no cron reads such a file.
func replaceFile(path, old, text string) (err error) {
	current, info, err := readPlain(path)
	if err != nil {
		return err
	}
	if current != old {
		return ErrChanged
	}
	draft := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".sched")
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL | syscall.O_NOFOLLOW
	file, err := os.OpenFile(draft, flags, 0o600)
	if errors.Is(err, fs.ErrExist) && os.Remove(draft) == nil { // of a call that was killed
		file, err = os.OpenFile(draft, flags, 0o600)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(draft)
		}
	}()
	owner := info.Sys().(*syscall.Stat_t)
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Chown(int(owner.Uid), int(owner.Gid)), file.Chmod(info.Mode().Perm()),
		copyLabel(path, draft), file.Sync(), file.Close()); err != nil {
		return err
	}
	if current, _, err = readPlain(path); err != nil || current != old {
		return errors.Join(ErrChanged, err)
	}
	if err = os.Rename(draft, path); err != nil {
		return err
	}
	statedir.SyncDir(filepath.Dir(path))
	return nil
}

// copyLabel gives a file the label of another, without which cron would not read it where SELinux
// is on.
func copyLabel(from, to string) error {
	label := make([]byte, 1<<10)
	n, err := unix.Lgetxattr(from, "security.selinux", label)
	if err != nil {
		return nil // it has none
	}
	return unix.Lsetxattr(to, "security.selinux", label[:n], 0)
}
