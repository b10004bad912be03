package preflight

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/account"
)

// Refused returns what the users of active tasks may not do on this machine: enter the folder of
// the task, start its programs and scripts, or write the copy of its output. It looks with the
// rights of these users, which only root can do; a user can look for its own tasks. While it looks
// the whole process has other rights, so nothing else may go on.
func Refused(s *schedule.Schedule) (warnings []schedule.Problem) {
	var lacks []Lack
	for t := range s.ActiveTasks() {
		a, err := account.Of(t.As)
		if err != nil || t.As.User == "" || a.UID == 0 {
			continue
		}
		_ = a.WithRights(func() { lacks = append(lacks, refusals(t, a.Name)...) }) // else nobody knows
	}
	for _, lack := range MergeSame(lacks) {
		warnings = append(warnings, lack.Problem)
	}
	return warnings
}

// refusals returns what this process may not do for a task. name is the user.
func refusals(t *schedule.Task, name string) (lacks []Lack) {
	report := func(kind Kind, key, hint, may, path string) {
		lacks = append(lacks, Lack{kind, t.Problem(key, hint, "%s: %s may not %s %s", key, name, may, path)})
	}
	if folder := closedFolder(t.Dir); folder != "" {
		report(Program, "dir", "the task fails with 126 until it may", "enter", folder)
		return lacks
	}
	if file := t.Output.File; file != "" {
		if err := unix.Access(file, unix.F_OK); err == nil && isRefused(file, unix.W_OK) {
			report(OutputFile, "output", "the copy is not made then; the task runs", "write", file)
		} else if folder := FirstExisting(filepath.Dir(file)); err != nil && isRefused(folder, unix.W_OK|unix.X_OK) {
			report(OutputFile, "output", "the copy is not made then; the task runs", "write in", folder)
		}
	}
	inDir := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(t.Dir, path)
	}
	const hint = "the command fails until it may"
	for _, c := range commandsOf(t) {
		for _, program := range programsOf(c.command) {
			if strings.Contains(program, "/") && !isPlainFile(inDir(program)) && isRefused(inDir(program), unix.X_OK) {
				report(Program, c.key, hint, "start", program)
			}
		}
		if _, script := scriptOf(c.command); script != "" && isRefused(inDir(script), unix.R_OK) {
			report(Program, c.key, hint, "read", script)
		}
	}
	return lacks
}

// closedFolder returns the first folder of a path that this process may not enter; "" if it may
// enter all of them, or one is missing.
func closedFolder(path string) string {
	if path != "/" {
		if above := closedFolder(filepath.Dir(path)); above != "" {
			return above
		}
	}
	if isRefused(path, unix.X_OK) {
		return path
	}
	return ""
}

// isPlainFile reports whether nobody may start a file, which Machine.Lacks says.
func isPlainFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 == 0
}

// isRefused reports whether this process, with the user that it has become, may not use a file.
func isRefused(path string, mode uint32) bool {
	return errors.Is(unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS), unix.EACCES)
}
