package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"sched/schedule"
	"sched/schedule/statedir"
	"sched/schedule/status"
)

// look begins a command that only reads. Such a command writes nothing, neither into the state folder nor to the store, and works
// for everybody who may read the files: also for root on the schedule of another user.
func (f *scheduleFile) look() { f.looks = true }

// ticksMissing returns in words that no ticks come any more, as sched status does; "" while they come, and where none ever came: before
// the crontab has its line.
func (a *app) ticksMissing(s *schedule.Schedule) string {
	last := status.LastTick(s.StateDir)
	if last.IsZero() {
		return ""
	}
	return status.TicksMissing(last, a.now())
}

// A deniedError says that the state folder of another user cannot be read.
type deniedError struct {
	dir   string
	owner int
}

func (e *deniedError) Error() string {
	return fmt.Sprintf("the state folder %s belongs to %s, and others cannot read it", e.dir, userName(e.owner))
}

// Hint is the same command as the owner of the folder.
func (e *deniedError) Hint() string { return "ask as its owner: " + asUser(e.owner) }

// readable returns a *deniedError where the state folder is that of another user who lets nobody read it. Other errors come up when
// the folder is read.
func readable(s *schedule.Schedule) error {
	var foreign *statedir.ForeignError
	_, err := os.ReadDir(s.StateDir)
	if errors.Is(err, os.ErrPermission) && errors.As(statedir.Check(s.StateDir), &foreign) {
		return &deniedError{s.StateDir, foreign.Owner}
	}
	return nil
}

// userName is the login name of a user, or "user 1000" for one without.
func userName(uid int) string {
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		return u.Username
	}
	return fmt.Sprintf("user %d", uid)
}

// asUser is the command line of this process as another user would type it.
func asUser(uid int) string {
	name := fmt.Sprintf("'#%d'", uid)
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		name = u.Username
	}
	words := []string{"sudo", "-u", name, "sched"}
	for _, arg := range os.Args[1:] {
		if strings.ContainsAny(arg, " '\"$`\\*?;&|<>()#") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}
