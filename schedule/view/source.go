package view

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"sched/schedule"
	"sched/schedule/pause"
	"sched/schedule/statedir"
)

// A Source is what the answers are made of, as one machine sees it: a schedule, its state folder
// and, if it has one, its store. Its methods may be called from several goroutines.
type Source struct {
	Schedule *schedule.Schedule
	Controls pause.Source
	Now      func() time.Time
	Server   string         // the name of this machine
	Zone     *time.Location // of times in texts about a task; nil for the zone of the task
	Config   string         // what a command in a hint needs to use the same schedule: " -c FILE", or ""

	// Problem reports what an answer lacks, and why: a store that is down, a database that cannot
	// be read.
	Problem func(format string, args ...any)
}

// TicksMissing says that no ticks come any more, or that no tick ever came; "" while ticks come.
func (s Source) TicksMissing() string {
	return TicksMissing(LastTick(s.Schedule.StateDir), s.Now())
}

// Maintenance says in words that there is maintenance at this moment. It returns "" without
// maintenance, or when that cannot be found out.
func (s Source) Maintenance() string {
	reason, err := pause.Maintenance(s.Schedule.Maintenance, filepath.Dir(s.Schedule.File))
	if err != nil {
		s.Problem("%v", err)
	}
	return reason
}

// Pauses returns the pauses, also pauses that are over. If the store does not answer, they are the
// pauses that this machine read last.
func (s Source) Pauses() pause.Pauses {
	read, err := s.Controls.Read()
	if err != nil {
		s.Problem("what is paused is what this machine knew last: %v", err)
	}
	return read.Pauses
}

// LeftOut reports that an answer is about this machine alone.
func (s Source) LeftOut(err error) { s.Problem("other servers are left out: %v", err) }

// A DeniedError says that the state folder of another user cannot be read.
type DeniedError struct {
	Dir   string
	Owner int
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("the state folder %s belongs to %s, and others cannot read it", e.Dir, UserName(e.Owner))
}

// readable returns a *DeniedError if the folder belongs to another user, who does not let us read
// it.
func readable(dir string) error {
	var foreign *statedir.ForeignError
	_, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrPermission) && errors.As(statedir.Check(dir), &foreign) {
		return &DeniedError{dir, foreign.Owner}
	}
	return nil
}

// UserName returns the login name of a user, or "user 1000" for a user without a name.
func UserName(uid int) string {
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		return u.Username
	}
	return fmt.Sprintf("user %d", uid)
}
