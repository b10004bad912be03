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

// ErrChanged says that somebody else changed the crontab since it was read. Nothing was written.
var ErrChanged = errors.New("the crontab was changed meanwhile by somebody else")

// ErrCarriageReturn says that crontab(1) cannot be trusted to list the crontab as it is: Debian's
// writes \r for a CR.
var ErrCarriageReturn = errors.New(`lines of the crontab end in CR LF, which crontab -l lists as \r`)

// A ReadBackError says that the crontab reads differently from what was written, and what became of
// it.
type ReadBackError struct{ Undone error }

func (e *ReadBackError) Error() string {
	if e.Undone != nil {
		return fmt.Sprintf("what was written to the crontab reads back differently, and the old one could not be put back: %v", e.Undone)
	}
	return "what was written to the crontab reads back differently; the old one is back in its place"
}

func (e *ReadBackError) Unwrap() error { return e.Undone }

// Check returns ErrCarriageReturn for a listing that may not be what the crontab is.
func (e Edit) Check() error {
	if strings.Contains(e.Old, "\\r\n") {
		return ErrCarriageReturn
	}
	return nil
}

// Apply makes the edit the crontab: it keeps a copy of the old one in a folder, makes sure that it
// has not changed since it was read, replaces it, and reads it back. Killed at any moment, or with
// an error, the crontab is the old one or the new one.
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

// keep writes a copy, for its user alone.
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
