package crontab

import (
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule/yamldoc"
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
	entries := slices.DeleteFunc(slices.Clone(table.Entries), func(e Entry) bool { return e.Off })
	isNamed := inCronD || file == "crontab" || strings.HasSuffix(file, ".crontab") || strings.HasSuffix(file, ".cron")
	switch {
	case isNamed: // it is a crontab, whatever its text is
	case len(entries) == 0:
		return NotCrontab, "", ""
	case yamldoc.IsMapping([]byte(text)):
		return Unclear, "the file may be a crontab or YAML", "call it " + file + ".crontab or " + file + ".yaml"
	}
	if format, ok := table.formatOfComment(); ok {
		return format, "", ""
	}
	if inCronD || system {
		return System, "", ""
	}
	return formatByUsers(entries, isUser, strings.HasSuffix(path, "/etc/crontab"))
}

// formatByUsers applies rule 4 of FormatOf.
func formatByUsers(entries []Entry, isUser func(string) bool, atEtc bool) (format Format, problem, hint string) {
	users := 0
	for _, e := range entries {
		if words := strings.Fields(e.Command); len(words) > 1 && isUser(words[0]) {
			users++
		}
	}
	all := users == len(entries)
	switch {
	case users == 0 || !all && !atEtc:
		return User, "", ""
	case all && atEtc:
		return System, "", ""
	case all:
		problem = "each command begins with the name of a user, as in /etc/crontab, " +
			"or they are programs with such names"
	default:
		problem = "some commands begin with the name of a user, and others do not"
	}
	return Unclear, problem, "add --system if they are users, or say it at the top of the file: " +
		"`# sched: system` or `# sched: system=false`, and an empty line below it"
}
