package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"sched/schedule/process"
)

// unitFolders are where administrators and packages put units. Tests change them.
var unitFolders = []string{
	"/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system", "~/.config/systemd/user",
}

// A unit is a service of systemd.
type unit struct {
	path     string
	killMode string
	call     call // of its ExecStart
}

// checkSystemd warns because by default systemd kills the background runs of a tick that has ended.
func checkSystemd(_ context.Context, s *Subject) (found findings) {
	var paths []string
	for _, u := range s.units() {
		paths = append(paths, u.path)
		if u.killMode != "process" {
			found.add(Problem, "add KillMode=process to [Service]; then systemctl daemon-reload",
				"%s has no KillMode=process: systemd kills background runs when the tick has ended", u.path)
		}
	}
	if len(paths) > 0 {
		return found.orFine("%s calls this schedule, with KillMode=process", strings.Join(paths, " and "))
	}
	return found.orFine("no unit calls this schedule")
}

// units returns the units that call this schedule.
func (s *Subject) units() (units []unit) {
	home, _ := process.Lookup(s.Environ)("HOME")
	seen := map[string]bool{} // /lib may be a link to /usr/lib
	for _, folder := range unitFolders {
		if rest, ok := strings.CutPrefix(folder, "~/"); ok {
			folder = filepath.Join(home, rest)
		}
		files, _ := filepath.Glob(filepath.Join(folder, "*.service"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil || seen[filepath.Base(file)] {
				continue
			}
			if u := readUnit(file, string(text)); u.call.isOf(s.Schedule.File) {
				seen[filepath.Base(file)] = true
				units = append(units, u)
			}
		}
	}
	return units
}

// readUnit returns the unit of a text; its call is empty if the text does not call sched.
func readUnit(path, text string) unit {
	u := unit{path: path}
	var folder, command string
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch strings.TrimSpace(key) {
		case "KillMode":
			u.killMode = strings.TrimSpace(value)
		case "WorkingDirectory":
			folder = strings.TrimSpace(value)
		case "ExecStart":
			command = value
		}
	}
	u.call, _ = callOf(command, folder)
	return u
}

// starter is the unit that starts the service: the timer of its name, if that exists, or the
// service itself.
func (u unit) starter() string {
	timer := strings.TrimSuffix(u.path, ".service") + ".timer"
	if _, err := os.Stat(timer); err == nil {
		return timer
	}
	return u.path
}

// enabled reports whether `systemctl enable` linked the unit into a target's folder.
func (u unit) enabled() bool {
	for _, folder := range []string{filepath.Dir(u.path), unitFolders[0]} {
		if links, _ := filepath.Glob(filepath.Join(folder, "*.wants", filepath.Base(u.starter()))); len(links) > 0 {
			return true
		}
	}
	return false
}
