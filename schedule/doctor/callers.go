package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sched/schedule/humanize"
	"sched/schedule/preflight"
	"sched/schedule/process"
	"sched/schedule/usercrontab"
	"sched/schedule/view"
)

// A call is a command that calls sched.
type call struct {
	program string   // as the line has it
	config  string   // the schedule, absolute if the folder is known; "" if nothing names it
	words   []string // after the program
}

// schedCall finds the program and the words after it.
var schedCall = humanize.Pattern(`(^|[\s;&|"'])((?:[^\s;&|"']*/)?sched)((?:\s+[^;&|\s]+)*)`)

// folderChange finds the folder to which a command changes.
var folderChange = humanize.Pattern(`\bcd\s+(\S+)\s*(&&|;)`)

// callOf returns the call of sched in a command that starts in a folder; false if it does not call
// sched to run tasks.
func callOf(command, folder string) (c call, ok bool) {
	match := schedCall().FindStringSubmatch(command)
	if match == nil {
		return c, false
	}
	c.program, c.words = match[2], strings.Fields(match[3])
	if to := folderChange().FindStringSubmatch(command); to != nil {
		folder = to[1]
	}
	for i, word := range c.words {
		switch {
		case (word == "-c" || word == "--config") && i+1 < len(c.words):
			c.config = c.words[i+1]
		case strings.HasPrefix(word, "--config="):
			c.config = strings.TrimPrefix(word, "--config=")
		}
	}
	if c.config == "" && folder != "" {
		c.config = filepath.Join(folder, "schedule.yaml")
	}
	c.config = strings.Trim(c.config, `"'`)
	if c.config != "" && !filepath.IsAbs(c.config) && folder != "" {
		c.config = filepath.Join(folder, c.config)
	}
	return c, slices.Contains(c.words, "run") || slices.Contains(c.words, "work")
}

// isOf reports whether the call names the schedule in the file, also by another path.
func (c call) isOf(file string) bool {
	if c.config == file {
		return true
	}
	named, namedErr := os.Stat(c.config)
	info, err := os.Stat(file)
	return namedErr == nil && err == nil && os.SameFile(named, info)
}

// A callingLine is a line of a crontab that calls this schedule.
type callingLine struct {
	cronLine
	call call
}

// callingLines returns the lines that call this schedule.
func callingLines(s *Subject, lines []cronLine) (calling []callingLine) {
	home, _ := process.Lookup(s.Environ)("HOME")
	for _, line := range lines {
		if c, ok := callOf(line.Command, home); ok && c.isOf(s.Schedule.File) {
			calling = append(calling, callingLine{line, c})
		}
	}
	return calling
}

// checkCrontab looks for exactly one line that calls this schedule, and for what is wrong with it.
func checkCrontab(_ context.Context, s *Subject) (found findings) {
	lines, err := s.crontabLines()
	ours := callingLines(s, lines)
	gone := findGoneSchedules(s, lines)
	if len(ours) == 0 {
		return append(explainNoLine(s, err), gone...)
	}
	if len(ours) > 1 {
		found.add(Bad, "remove one of them",
			"%s and %s both call this schedule: everything is due twice", ours[0].place(), ours[1].place())
	}
	for _, line := range ours {
		found = append(found, lineFindings(s, line)...)
	}
	return append(found.orFine("%s calls this schedule", ours[0].place()), gone...)
}

// findGoneSchedules looks for lines that call a schedule which is not there any more. A line that
// names its schedule in words that only a shell can read is left out.
func findGoneSchedules(s *Subject, lines []cronLine) (found findings) {
	for _, l := range lines {
		file, hint := "", "take the line out of the crontab"
		if installed := usercrontab.Gone(l.Raw); len(installed) > 0 {
			file = installed[0]
			hint = "`sched uninstall -c " + humanize.ShellWord(file) + "` takes it out"
		} else if c, ok := callOf(l.Command, ""); ok && !strings.ContainsAny(l.Command, "'\"\\$`*?[~") {
			file = c.config
		}
		if !filepath.IsAbs(file) || file == s.Schedule.File {
			continue
		}
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			found.add(Warning, hint, "%s calls a schedule that is not there: %s", l.place(), file)
		}
	}
	return found
}

// explainNoLine says what a missing line means: nothing if ticks come all the same.
func explainNoLine(s *Subject, err error) findings {
	if by := tickedBy(s); by != "" {
		return fine("no line calls this schedule, and ticks come by %s", by)
	}
	text := "no line of a crontab that this user can read calls this schedule"
	if errors.Is(err, exec.ErrNotFound) {
		text = "there is no program crontab on this machine"
	} else if err != nil {
		text = err.Error()
	}
	return finding(Bad, "`sched install -c "+s.Schedule.File+"` adds it, or let `sched work` tick", "%s", text)
}

// lineFindings says what is wrong with a line that calls this schedule.
func lineFindings(s *Subject, l callingLine) (found findings) {
	add := func(level Level, hint, format string, args ...any) {
		found.add(level, hint, "%s %s", l.place(), fmt.Sprintf(format, args...))
	}
	if l.When != "* * * * *" && l.When != "*/1 * * * *" {
		add(Bad, "write * * * * *", "calls it at %s, and not each minute", l.When)
	}
	if l.lacksLineBreak {
		add(Bad, "add a line break at its end", "is the last line and does not end: cron passes it over")
	}
	if l.Input != nil {
		add(Bad, `write \%`, "has a %%, at which cron ends the command")
	}
	if strings.HasPrefix(l.source, "/etc/cron.d/") && strings.Contains(filepath.Base(l.source), ".") {
		add(Warning, "rename the file", "is in a file with a dot in its name, which cron of Debian passes over")
	}
	ownInfo, err := os.Stat(s.Self)
	switch info, missing := os.Stat(l.call.program); {
	case !filepath.IsAbs(l.call.program):
		add(Warning, "write its whole path: "+s.Self,
			"calls %s without its path, and cron's PATH is short", l.call.program)
	case missing != nil:
		add(Bad, "this one is "+s.Self, "calls %s, which is not there", l.call.program)
	case err == nil && !os.SameFile(info, ownInfo):
		add(Warning, "call the same one in both", "calls %s, and this is %s", l.call.program, s.Self)
	}
	var folder unix.Stat_t
	if l.User != "" && unix.Stat(s.Schedule.StateDir, &folder) == nil {
		owner := int(folder.Uid)
		if caller, err := user.Lookup(l.User); err != nil || caller.Uid != strconv.Itoa(owner) {
			add(Bad, "call it as "+view.UserName(owner), "runs as %s, and the state folder belongs to %s",
				l.User, view.UserName(owner))
		}
	}
	return found
}

// checkCron looks for a running cron, if a crontab calls this schedule or nothing else does.
func checkCron(_ context.Context, s *Subject) findings {
	cron := preflight.FindCron()
	if cron.Name != "" && cron.Unsure {
		return fine("%s runs; only root can see whether it is the cron of a container", cron.Name)
	}
	if cron.Name != "" {
		return fine("%s runs", cron.Name)
	}
	lines, _ := s.crontabLines()
	ours := callingLines(s, lines)
	switch {
	case !cron.Known:
		return fine("whether a cron runs is not known on this system")
	case len(ours) == 0 && tickedBy(s) != "":
		return fine("no cron runs, and no crontab calls this schedule")
	case len(ours) == 0:
		return finding(Warning, "start it before `sched install`: systemctl start cron, or crond; "+
			"`sched install --systemd` and `sched work` need no cron", "no cron runs on this machine%s", cron.ElsewhereText())
	}
	return finding(Bad, "start it: systemctl start cron, or crond; in a container `sched work` is simpler",
		"%s calls this schedule, and no cron runs%s", ours[0].place(), cron.ElsewhereText())
}

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
	for _, u := range units(s) {
		paths = append(paths, u.path)
		if u.killMode != "process" {
			found.add(Bad, "add KillMode=process to [Service]; then systemctl daemon-reload",
				"%s has no KillMode=process: systemd kills background runs when the tick has ended", u.path)
		}
	}
	if len(paths) > 0 {
		return found.orFine("%s calls this schedule, with KillMode=process", strings.Join(paths, " and "))
	}
	return found.orFine("no unit calls this schedule")
}

// units returns the units that call this schedule.
func units(s *Subject) (units []unit) {
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

// readUnit reads the text of a unit. Its call is empty if the text does not call sched.
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

// starter returns the path of the unit that starts the service: the timer of its name, if that
// exists, or the service itself.
func (u unit) starter() string {
	timer := strings.TrimSuffix(u.path, ".service") + ".timer"
	if _, err := os.Stat(timer); err == nil {
		return timer
	}
	return u.path
}

// enabled reports whether `systemctl enable` linked the unit, or its timer, for a target.
func (u unit) enabled() bool {
	for _, folder := range []string{filepath.Dir(u.path), unitFolders[0]} {
		if links, _ := filepath.Glob(filepath.Join(folder, "*.wants", filepath.Base(u.starter()))); len(links) > 0 {
			return true
		}
	}
	return false
}
