package crontab

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"sched/schedule/yamldoc"
)

// A Format says how a file is to be read.
type Format int

// The formats of files.
const (
	NotCrontab Format = iota
	User              // a crontab whose lines have no user
	System            // a crontab whose lines have a user before the command, as /etc/crontab
	Unclear           // two formats fit
)

// FormatOf tells crontabs from other files by the path or, when that does not say it, by the text:
//
//  1. *.yaml and *.yml are no crontabs. Files called crontab, *.crontab or *.cron and the files of
//     a folder called cron.d are.
//  2. Any other file is one if a line of it is an entry and the whole is no mapping of YAML.
//  3. A comment `# sched: system` or `# sched: system=false` says whether lines have users. Without
//     it the files of a folder called cron.d have some, and any crontab if system says so.
//  4. /etc/crontab has users if each command begins with a user of this machine, and none if no
//     command does: people also put a crontab without users there, in containers. Any other file
//     has none.
//
// The format is Unclear if a file fits both sides of rule 2, if some lines of /etc/crontab begin
// with a user and others do not, or if each line of any other file begins with a user. The problem
// and the hint say so then.
func FormatOf(path, text string, system bool, isUser func(string) bool) (format Format, problem, hint string) {
	folder, file := filepath.Split(path)
	if ext := filepath.Ext(file); ext == ".yaml" || ext == ".yml" {
		return NotCrontab, "", ""
	}
	inCronD := filepath.Base(folder) == "cron.d"
	table := Parse(Source{Text: text})
	entries, users := 0, 0
	for _, e := range table.Entries {
		if e.Off {
			continue
		}
		entries++
		if words := strings.Fields(e.Command); len(words) > 1 && isUser(words[0]) {
			users++
		}
	}
	if !inCronD && file != "crontab" && !strings.HasSuffix(file, ".crontab") && !strings.HasSuffix(file, ".cron") {
		if entries == 0 {
			return NotCrontab, "", ""
		}
		if yamldoc.IsMapping([]byte(text)) {
			return Unclear, "the file may be a crontab or YAML", "call it " + file + ".crontab or " + file + ".yaml"
		}
	}
	for _, k := range table.Keys {
		if says, err := strconv.ParseBool(k.Value); k.Name == systemKey && err == nil {
			return map[bool]Format{true: System, false: User}[says], "", ""
		}
	}
	atEtc := strings.HasSuffix(path, "/etc/crontab")
	problem = "each command begins with the name of a user, as in /etc/crontab, or they are programs with such names"
	switch {
	case inCronD, system, atEtc && users > 0 && users == entries:
		return System, "", ""
	case atEtc && users > 0:
		problem = "some commands begin with the name of a user, and others do not"
	case users == 0 || users < entries:
		return User, "", ""
	}
	return Unclear, problem, "add --system if they are users, or say it at the top of the file: `# sched: system` or `# sched: system=false`, and an empty line below it"
}

// systemKey is a key of comments alone: FormatOf reads it.
const systemKey = "system"

// IsFileName reports whether Debian's cron reads a file of /etc/cron.d with this name: letters,
// digits, _ and - alone. So it leaves out what editors and packages leave there, such as job.bak
// and job.dpkg-old.
func IsFileName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// compiled returns a regular expression that is compiled at its first use, because most processes
// of sched read no crontab.
func compiled(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
