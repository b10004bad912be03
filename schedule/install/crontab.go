// Package install puts the one line of a schedule into a crontab, /etc/cron.d or units of systemd,
// and takes it out again.
//
// # Promises
//
//   - No byte of a line that is not ours changes, except in lines of a crontab that are commented
//     out on request. Uninstall restores these lines as they were.
//   - A crontab is replaced as a whole, by crontab(1): after a kill at any moment it is the old one
//     or the new one. A copy of the old one is kept before the change. The new crontab is read
//     back, and the change is undone if it reads differently.
//   - Several schedules live in one crontab: each line carries a mark made from the path of its
//     schedule.
//
// It asks nobody and prints nothing: that is for its caller.
package install

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/statedir"
	"sched/schedule/usercrontab"
)

// This file has the line of a schedule, the edits of a crontab's text, and last the program
// crontab(1).

// A Line is the one line of a schedule, which starts a tick each minute.
type Line struct {
	Program string // sched, absolute
	File    string // the schedule, absolute
	Call    string // the command of sched with its flags; "" for the usual one
}

// ID tells the lines of schedules apart. It is made from the path of the schedule alone.
func (l Line) ID() string { return usercrontab.IDOf(l.File) }

// Journal returns the file of a folder (BackupFolder) in which `sched takeover` notes what the
// schedule has taken over from cron. Without a takeover there is no such file.
func (l Line) Journal(folder string) string { return filepath.Join(folder, "takeover-"+l.ID()+".json") }

// mark ends the line in a crontab. To the shell it is a comment.
func (l Line) mark() string { return usercrontab.Mark(l.File) }

// replacedMark begins a line of a crontab that the line of the schedule replaced.
func (l Line) replacedMark() string { return "# replaced by sched " + l.ID() + ": " }

// Command returns the command that starts a tick, for a POSIX shell.
func (l Line) Command() string {
	return humanize.ShellWord(l.Program) + " " + cmp.Or(l.Call, "run -q") + " -c " + humanize.ShellWord(l.File)
}

// Cron returns the line in the crontab of a user.
func (l Line) Cron() string { return "* * * * * " + percents(l.Command()) + l.mark() }

// percents escapes each % for a crontab, because a plain % ends the command there.
func percents(text string) string { return strings.ReplaceAll(text, "%", `\%`) }

// An Edit is a crontab before and after.
type Edit struct {
	Old, New string
	Diff     []string // the lines that change, with - before old ones and + before new ones
}

// IsNone reports whether the edit changes nothing.
func (e Edit) IsNone() bool { return e.Old == e.New }

// AddTo returns the crontab with the line at its end, or in the place of an older line of the same
// schedule. It comments out the lines of these numbers, which count from 1.
func (l Line) AddTo(text string, replace map[int]bool) Edit {
	e := &editor{}
	present := false
	for i, line := range split(text) {
		switch {
		case strings.HasSuffix(line, l.mark()) && !present:
			present = true
			e.change(line, l.Cron())
		case strings.HasSuffix(line, l.mark()):
			e.drop(line)
		case replace[i+1]:
			e.change(line, l.replacedMark()+line)
		default:
			e.keep(line)
		}
	}
	if !present {
		e.add(l.Cron())
	}
	return e.editOf(text)
}

// RemoveFrom returns the crontab without the line. Lines that it replaced are as they were.
func (l Line) RemoveFrom(text string) Edit {
	e := &editor{}
	for _, line := range split(text) {
		if was, replaced := strings.CutPrefix(line, l.replacedMark()); replaced {
			e.change(line, was)
		} else if strings.HasSuffix(line, l.mark()) {
			e.drop(line)
		} else {
			e.keep(line)
		}
	}
	return e.editOf(text)
}

// IsIn reports whether a crontab has the line, as any version of sched writes it.
func (l Line) IsIn(text string) bool {
	return slices.ContainsFunc(split(text), func(line string) bool { return strings.HasSuffix(line, l.mark()) })
}

// split returns the lines of a text without their line breaks. A last line without a line break
// does not matter: no cron takes such a crontab.
func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// An editor writes the new text of a crontab line by line, and keeps the diff.
type editor struct {
	strings.Builder
	diff []string
}

func (e *editor) keep(line string) { e.WriteString(line + "\n") }

func (e *editor) drop(line string) { e.diff = append(e.diff, "- "+line) }

func (e *editor) add(line string) {
	e.diff = append(e.diff, "+ "+line)
	e.keep(line)
}

func (e *editor) change(old, new string) {
	if old == new {
		e.keep(old)
		return
	}
	e.drop(old)
	e.add(new)
}

// editOf returns the edit of the old text.
func (e *editor) editOf(old string) Edit { return Edit{old, e.String(), e.diff} }

// ErrChanged says that somebody else changed the crontab after it was read. Nothing was written.
var ErrChanged = errors.New("the crontab was changed meanwhile by somebody else")

// ErrCarriageReturn says that crontab(1) may not list the crontab as it is: Debian's crontab writes
// \r for a CR.
var ErrCarriageReturn = errors.New(`lines of the crontab end in CR LF, which crontab -l lists as \r`)

// Apply makes the edit the crontab. It keeps a copy of the old crontab in a folder, and makes sure
// that the crontab has not changed meanwhile. Then it replaces the crontab and reads it back. After
// a kill at any moment, or an error, the crontab is the old one or the new one, unless the error
// says that the old one could not be put back.
func Apply(c usercrontab.Crontab, e Edit, existed bool, backups string, now time.Time) (backup string, err error) {
	if strings.Contains(e.Old, "\\r\n") {
		return "", ErrCarriageReturn
	}
	if existed {
		name := "crontab"
		if c.User != "" {
			name = "crontab-" + c.User
		}
		if backup, err = backUp(backups, name, e.Old, now); err != nil {
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
	if err := put(c, e.New); err != nil {
		return backup, err
	}
	if got, _, err := c.Read(); err == nil && got == e.New {
		return backup, nil
	}
	if err := restore(c, e.Old, existed); err != nil {
		return backup, fmt.Errorf(
			"what was written to the crontab reads back differently, and the old one could not be put back: %w", err)
	}
	return backup, errors.New(
		"what was written to the crontab reads back differently; the old one is back in its place")
}

// put makes the text the crontab; an empty text removes the crontab.
func put(c usercrontab.Crontab, text string) error {
	if text == "" {
		return c.Remove()
	}
	return c.Write(text)
}

// restore puts the old crontab back, and makes sure that it reads as before.
func restore(c usercrontab.Crontab, old string, existed bool) error {
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

// backUp writes a copy of a crontab that only its user can read.
func backUp(folder, name, text string, now time.Time) (path string, err error) {
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
