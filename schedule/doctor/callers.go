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

	"sched/schedule/crontab"
	"sched/schedule/humanize"
	"sched/schedule/install"
	"sched/schedule/process"
	"sched/schedule/view"
	"sched/schedule/work"
)

// This file finds what calls the schedule: lines of crontabs, and units of systemd. Two callers are
// one too many, because everything is due twice then.

// A cronLine is a line of a crontab that starts a command.
type cronLine struct {
	crontab.Entry
	source         string // the file, or "crontab -l"
	lacksLineBreak bool   // it is the last line of its file
}

func (l cronLine) place() string { return fmt.Sprintf("%s:%d", l.source, l.Line) }

// systemCrontabs are the crontabs with a user in each line. Tests change them.
var systemCrontabs = []string{"/etc/crontab", "/etc/cron.d/*"}

// crontabLines returns the lines of the crontabs that this user may read. The error says why the
// user's own lines are not known.
func (s *Subject) crontabLines() ([]cronLine, error) {
	s.crontabsOnce.Do(func() { s.cronLines, s.crontabError = readCrontabs() })
	return s.cronLines, s.crontabError
}

func readCrontabs() (lines []cronLine, err error) {
	text, _, err := install.Crontab{}.Read()
	lines = parseLines("crontab -l", text, false)
	for _, pattern := range systemCrontabs {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				lines = append(lines, parseLines(file, string(text), true)...)
			}
		}
	}
	return lines, err
}

// parseLines returns the lines of a crontab that start a command. Lines that are commented out do
// not.
func parseLines(source, text string, hasUser bool) (lines []cronLine) {
	last := strings.Count(text, "\n") + 1 // the number of a last line that has no line break
	for _, e := range crontab.Parse(crontab.Source{Name: source, Text: text, System: hasUser}).Entries {
		if !e.Off {
			lines = append(lines, cronLine{e, source, e.Line == last})
		}
	}
	return lines
}

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
func (s *Subject) callingLines(lines []cronLine) (calling []callingLine) {
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
	ours := s.callingLines(lines)
	if len(ours) == 0 {
		return s.explainNoLine(err)
	}
	if len(ours) > 1 {
		found.add(Bad, "remove one of them",
			"%s and %s both call this schedule: everything is due twice", ours[0].place(), ours[1].place())
	}
	for _, line := range ours {
		found = append(found, s.lineFindings(line)...)
	}
	return found.orFine("%s calls this schedule", ours[0].place())
}

// explainNoLine says what a missing line means: nothing if ticks come all the same.
func (s *Subject) explainNoLine(err error) findings {
	if by := s.tickedBy(); by != "" {
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
func (s *Subject) lineFindings(l callingLine) (found findings) {
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

// checkCron looks for a running cron, if a crontab calls this schedule.
func checkCron(_ context.Context, s *Subject) findings {
	running := processes()
	for _, name := range []string{"cron", "crond", "fcron", "cronie"} {
		if running[name] {
			return fine("%s runs", name)
		}
	}
	lines, _ := s.crontabLines()
	ours := s.callingLines(lines)
	switch {
	case running == nil:
		return fine("whether a cron runs is not known on this system")
	case len(ours) == 0:
		return fine("no cron runs, and no crontab calls this schedule")
	}
	return finding(Bad, "start it: systemctl start cron, or crond; in a container `sched work` is simpler",
		"%s calls this schedule, and no cron runs", ours[0].place())
}

// findOtherCallers looks for `sched work` and enabled units beside a line of a crontab that calls
// this schedule, too.
func (s *Subject) findOtherCallers(lines []cronLine) (found findings) {
	ours := s.callingLines(lines)
	if len(ours) == 0 {
		return nil
	}
	if pid, isRunning := work.Running(s.Schedule.StateDir); isRunning {
		found.add(Bad, "keep one of the two",
			"sched work (process %d) ticks this schedule, and %s calls it, too", pid, ours[0].place())
	}
	for _, u := range s.units() {
		if u.enabled() {
			found.add(Bad, "keep one of the two: `sched uninstall` takes away what `sched install` wrote",
				"%s is enabled, and %s calls this schedule, too", u.starter(), ours[0].place())
		}
	}
	return found
}

// findLaravelTwice looks for Laravel's scheduler in a crontab beside a task that is Laravel's
// scheduler.
func (s *Subject) findLaravelTwice(lines []cronLine) (found findings) {
	for t := range s.Schedule.ActiveTasks() {
		if !strings.Contains(strings.Join(t.Command.Argv(), " "), "artisan schedule:run") {
			continue
		}
		for _, l := range lines {
			if strings.Contains(l.Command, "artisan schedule:run") && strings.Contains(l.Command, t.Dir) {
				found.add(Bad, "take the line out of the crontab",
					"%s calls schedule:run of Laravel, and so does the task %s", l.place(), t.Name)
			}
		}
	}
	return found
}

// findLinesBesideTasks looks for lines of crontabs with the command of a task, as they stay when an
// imported schedule is called without `sched install --replace`. Their times are not compared.
func (s *Subject) findLinesBesideTasks(lines []cronLine) (found findings) {
	tasks := map[string]string{}
	for t := range s.Schedule.ActiveTasks() {
		tasks[strings.TrimSpace(t.Command.Line)] = t.Name
	}
	delete(tasks, "") // of a command that is a list
	for _, l := range lines {
		if task, ok := tasks[strings.TrimSpace(l.Command)]; ok {
			found.add(Warning,
				"comment the line out; `sched install --replace` does so where the times are the same, too",
				"%s has the command of the task %s, too", l.place(), task)
		}
	}
	return found
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
	for _, u := range s.units() {
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
