package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sched/schedule/statedir"
)

// ErrChanged says that somebody else changed the crontab after it was read. Nothing was written.
var ErrChanged = errors.New("the crontab was changed meanwhile by somebody else")

// ErrCarriageReturn says that crontab(1) may not list the crontab as it is: Debian's crontab writes
// \r for a CR.
var ErrCarriageReturn = errors.New(`lines of the crontab end in CR LF, which crontab -l lists as \r`)

// A ReadBackError says that the crontab reads differently from what was written, and whether the
// change was undone.
type ReadBackError struct{ Undone error }

func (e *ReadBackError) Error() string {
	if e.Undone != nil {
		return fmt.Sprintf("what was written to the crontab reads back differently, and the old one could not be put back: %v", e.Undone)
	}
	return "what was written to the crontab reads back differently; the old one is back in its place"
}

func (e *ReadBackError) Unwrap() error { return e.Undone }

// Check returns ErrCarriageReturn if the listing may differ from the crontab.
func (e Edit) Check() error {
	if strings.Contains(e.Old, "\\r\n") {
		return ErrCarriageReturn
	}
	return nil
}

// Apply makes the edit the crontab. It keeps a copy of the old crontab in a folder, and makes sure
// that the crontab has not changed meanwhile. Then it replaces the crontab and reads it back. After
// a kill at any moment, or an error, the crontab is the old one or the new one.
func (c Crontab) Apply(e Edit, existed bool, backups string, now time.Time) (backup string, err error) {
	if err := e.Check(); err != nil {
		return "", err
	}
	if existed {
		if backup, err = keep(backups, c.name(), e.Old, now); err != nil {
			return "", err
		}
	}
	current, exists, err := c.Read()
	if err != nil {
		return backup, err
	}
	if current != e.Old || exists != existed {
		return backup, ErrChanged
	}
	if err := c.put(e.New); err != nil {
		return backup, err
	}
	if got, _, err := c.Read(); err == nil && got == e.New {
		return backup, nil
	}
	return backup, &ReadBackError{c.restore(e.Old, existed)}
}

// put makes the text the crontab; an empty text removes the crontab.
func (c Crontab) put(text string) error {
	if text == "" {
		return c.Remove()
	}
	return c.Write(text)
}

func (c Crontab) restore(old string, existed bool) error {
	if !existed {
		return c.Remove()
	}
	if err := c.Write(old); err != nil {
		return err
	}
	if got, _, err := c.Read(); err != nil || got != old {
		return fmt.Errorf("it reads differently, too (%v)", err)
	}
	return nil
}

func (c Crontab) name() string {
	if c.User != "" {
		return "crontab-" + c.User
	}
	return "crontab"
}

// keep writes a copy that only its user can read.
func keep(folder, name, text string, now time.Time) (path string, err error) {
	stamp := name + "-" + now.UTC().Format("20060102T150405Z")
	path = filepath.Join(folder, stamp)
	for i := 2; ; i++ {
		if _, err := os.Lstat(path); err != nil { // nothing is there, as far as anybody can see
			break
		}
		path = filepath.Join(folder, fmt.Sprintf("%s-%d", stamp, i))
	}
	if err := statedir.WriteSynced(path, []byte(text)); err != nil {
		return "", fmt.Errorf("no copy of it could be kept, so nothing was changed: %w", err)
	}
	return path, nil
}
