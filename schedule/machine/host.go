package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/preflight"
	"sched/schedule/usercrontab"
)

// A Host is a machine to look at.
type Host struct {
	Root  string         // the folder that has its files: "/" but for tests
	Root0 int            // the uid of root: 0 but for tests
	UID   int            // who looks
	Zone  *time.Location // of the times in crontabs
	Now   time.Time

	Ask         Ask                                          // nil: no program is asked
	OwnCrontab  func() (text string, exists bool, err error) // crontab -l; nil: it is not called
	RunningCron func() (name string, known bool)             // nil: that is not known
}

// Here is this machine, as this user sees it.
func Here(now time.Time, zone *time.Location) Host {
	return Host{Root: "/", UID: os.Geteuid(), Zone: zone, Now: now, Ask: askProgram,
		OwnCrontab: usercrontab.Crontab{}.Read, RunningCron: preflight.RunningCron}
}

// patience is how long a program may take for its answer.
const patience = 3 * time.Second

func askProgram(ctx context.Context, program string, arguments ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	command := exec.CommandContext(ctx, program, arguments...)
	command.Env = []string{"LC_ALL=C", "TZ=UTC", "SYSTEMD_PAGER=", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	command.WaitDelay = patience
	return command.Output()
}

// A survey is one look at a machine.
type survey struct {
	Host
	ctx     context.Context
	files   *files
	users   accounts
	list    *List
	systemd bool // systemd runs
	debian  bool // its cron is Debian's, whose rules are known
}

func (s *survey) add(jobs ...Job) { s.list.Jobs = append(s.list.Jobs, jobs...) }

func (s *survey) odd(place, user, hint, format string, args ...any) {
	odd := Oddity{place, user, fmt.Sprintf(format, args...), hint}
	if n := len(s.list.Odd); n == 0 || s.list.Odd[n-1] != odd { // it may be about several lines
		s.list.Odd = append(s.list.Odd, odd)
	}
}

// unread notes that a path could not be read, and why, unless nothing is there.
func (s *survey) unread(path string, err error) {
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, fs.ErrPermission):
		s.leaveOut(path)
	default:
		s.odd(path, "", "", "it is not read: %v", humanize.WithoutPath(err))
	}
}

// bootTime returns when the machine was started; the zero time if nobody knows.
func (s *survey) bootTime() time.Time {
	stat, _ := s.files.read("/proc/stat")
	if found := bootSecond().FindStringSubmatch(stat.text); found != nil {
		seconds, _ := strconv.ParseInt(found[1], 10, 64)
		return time.Unix(seconds, 0)
	}
	return time.Time{}
}

var bootSecond = humanize.Pattern(`(?m)^btime (\d+)$`)

// leaveOut notes something that only root may see.
func (s *survey) leaveOut(what string) {
	if !slices.Contains(s.list.LeftOut, what) {
		s.list.LeftOut = append(s.list.LeftOut, what)
	}
}
