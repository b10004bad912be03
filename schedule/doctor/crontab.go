package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule/crontab"
	"sched/schedule/humanize"
	"sched/schedule/install"
	"sched/schedule/process"
	"sched/schedule/view"
)

// A cronLine is a line of a crontab that starts a command.
type cronLine struct {
	crontab.Entry
	source  string // the file, or "crontab -l"
	unended bool   // the last line, without a line break
}

func (l cronLine) place() string { return fmt.Sprintf("%s:%d", l.source, l.Line) }

// systemCrontabs are the crontabs with a user in each line. Tests change them.
var systemCrontabs = []string{"/etc/crontab", "/etc/cron.d/*"}

// crontabs returns the lines of the crontabs that this user may read. The error says why the user's
// own lines are not known.
func (s *Subject) crontabs() ([]cronLine, error) {
	s.readCrontabs.Do(func() { s.cronLines, s.crontabError = readCrontabs() })
	return s.cronLines, s.crontabError
}

func readCrontabs() (lines []cronLine, err error) {
	text, _, err := install.Crontab{}.Read()
	lines = cronLines("crontab -l", text, false)
	for _, pattern := range systemCrontabs {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				lines = append(lines, cronLines(file, string(text), true)...)
			}
		}
	}
	return lines, err
}

func cronLines(source, text string, hasUser bool) (lines []cronLine) {
	last := strings.Count(text, "\n") + 1 // without a line break
	for _, e := range crontab.Parse(crontab.Source{Name: source, Text: text, System: hasUser}).Entries {
		if !e.Off {
			lines = append(lines, cronLine{e, source, e.Line == last})
		}
	}
	return lines
}

// A call is a command that calls sched.
type call struct {
	program string   // as it is written
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

func (s *Subject) callingLines(lines []cronLine) (calling []callingLine) {
	home, _ := process.Lookup(s.Environ)("HOME")
	for _, line := range lines {
		if c, ok := callOf(line.Command, home); ok && c.isOf(s.Schedule.File) {
			calling = append(calling, callingLine{line, c})
		}
	}
	return calling
}

func checkCrontab(_ context.Context, s *Subject) (found findings) {
	lines, err := s.crontabs()
	ours := s.callingLines(lines)
	if len(ours) == 0 {
		return s.noLine(err)
	}
	if len(ours) > 1 {
		found.add(Problem, "remove one of them",
			"%s and %s both call this schedule: everything is due twice", ours[0].place(), ours[1].place())
	}
	for _, line := range ours {
		found = append(found, s.lineFindings(line)...)
	}
	return found.orFine("%s calls this schedule", ours[0].place())
}

// noLine says what a missing line means: nothing if ticks come all the same.
func (s *Subject) noLine(err error) findings {
	if by := s.tickedBy(); by != "" {
		return fine("no line calls this schedule, and ticks come by %s", by)
	}
	text := "no line of a crontab that this user can read calls this schedule"
	if errors.Is(err, exec.ErrNotFound) {
		text = "there is no program crontab on this machine"
	} else if err != nil {
		text = err.Error()
	}
	return finding(Problem, "`sched install -c "+s.Schedule.File+"` adds it, or let `sched work` tick", "%s", text)
}

// lineFindings says what is wrong with a line that calls this schedule.
func (s *Subject) lineFindings(l callingLine) (found findings) {
	add := func(level Level, hint, format string, args ...any) {
		found.add(level, hint, "%s %s", l.place(), fmt.Sprintf(format, args...))
	}
	if l.When != "* * * * *" && l.When != "*/1 * * * *" {
		add(Problem, "write * * * * *", "calls it at %s, and not each minute", l.When)
	}
	if l.unended {
		add(Problem, "add a line break at its end", "is the last line and does not end: cron passes it over")
	}
	if l.Input != nil {
		add(Problem, `write \%`, "has a %%, at which cron ends the command")
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
		add(Problem, "this one is "+s.Self, "calls %s, which is not there", l.call.program)
	case err == nil && !os.SameFile(info, ownInfo):
		add(Warning, "call the same one in both", "calls %s, and this is %s", l.call.program, s.Self)
	}
	if owner, ok := ownerOf(s.Schedule.StateDir); ok && l.User != "" && userID(l.User) != owner {
		add(Problem, "call it as "+view.UserName(owner), "runs as %s, and the state folder belongs to %s",
			l.User, view.UserName(owner))
	}
	return found
}

func checkCron(_ context.Context, s *Subject) findings {
	running := processes()
	for _, name := range []string{"cron", "crond", "fcron", "cronie"} {
		if running[name] {
			return fine("%s runs", name)
		}
	}
	lines, _ := s.crontabs()
	ours := s.callingLines(lines)
	switch {
	case running == nil:
		return fine("whether a cron runs is not known on this system")
	case len(ours) == 0:
		return fine("no cron runs, and no crontab calls this schedule")
	}
	return finding(Problem, "start it: systemctl start cron, or crond; in a container `sched work` is simpler",
		"%s calls this schedule, and no cron runs", ours[0].place())
}
