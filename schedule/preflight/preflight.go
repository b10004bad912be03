// Package preflight says what a task lacks on this machine before it runs: a user, a folder, a
// program, an interpreter, a place for its output, a shell that can read its line. It looks with
// the rights of this process. It runs no command of a task: a shell only reads a line (sh -n), or
// runs commands of ours.
package preflight

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/account"
	"sched/schedule/statedir"
)

// Unfit returns why active tasks cannot start on this machine (problems), and what they do not find
// there now (warnings).
func Unfit(s *schedule.Schedule, environ []string) (problems, warnings []schedule.Problem) {
	if problem := StateDirProblem(s); problem != nil {
		warnings = append(warnings, *problem)
	}
	if release := ReleaseOf(s); release != nil {
		warnings = append(warnings, release.Problem())
	}
	machine := &Machine{Environ: environ}
	var lacks []Lack
	active := slices.Collect(s.ActiveTasks())
	for i, ofTask := range machine.LacksOf(active) {
		for _, lack := range ofTask {
			switch lack.Kind {
			case Root, Account:
				lack.Hint = "the other tasks run, and each run of this one fails" + accountHint(active[i].As)
				problems = append(problems, lack.Problem)
				continue
			case EnvFile:
				lack.Hint = "the task fails when it is not there in time"
			}
			lacks = append(lacks, lack)
		}
	}
	for _, lack := range MergeSame(lacks) {
		warnings = append(warnings, lack.Problem)
	}
	return problems, append(warnings, environmentElsewhere(s, environ)...)
}

// accountHint asks which user or group was meant, if this machine does not know the name. A group
// may have been meant as a pool.
func accountHint(as schedule.As) string {
	if near := account.Nearest(as); near != "" {
		return "; did you mean " + near + "?"
	}
	if _, err := user.LookupGroup(as.Group); !errors.As(err, new(user.UnknownGroupError)) || as.User != "" ||
		strings.Trim(as.Group, digits) == "" {
		return ""
	}
	return "; or did you mean `pool: " + as.Group + "`?"
}

// StateDirProblem returns why this user cannot use the state folder of the schedule; nil if the
// user can use it, or could make it.
func StateDirProblem(s *schedule.Schedule) *schedule.Problem {
	problem := &schedule.Problem{Place: schedule.Place{File: filepath.Base(s.File)}}
	noFolder := func(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) }
	if err := statedir.Check(s.StateDir); err != nil && !noFolder(err) {
		problem.Text, problem.Hint = err.Error(), statedir.Hint(err)
		return problem
	}
	existing := s.StateDir
	info, err := os.Stat(existing)
	for noFolder(err) && existing != "/" { // not FirstExisting: a file on the way is an answer here
		existing = filepath.Dir(existing)
		info, err = os.Stat(existing)
	}
	switch {
	case err == nil && !info.IsDir():
		problem.Text = fmt.Sprintf("the state folder %s cannot be made: %s is not a folder", s.StateDir, existing)
	case unix.Access(existing, unix.W_OK|unix.X_OK) != nil:
		problem.Text = fmt.Sprintf("the state folder %s cannot be written: this user may not write in %s",
			s.StateDir, existing)
	default:
		return nil
	}
	problem.Hint = "set state_dir, or ticks go on in a folder that a reboot may empty"
	return problem
}
