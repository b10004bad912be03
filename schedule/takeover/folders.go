package takeover

import (
	"fmt"
	"path"
	"strings"
	"time"

	"sched/schedule/crontab"
	"sched/schedule/humanize"
	"sched/schedule/machine"
)

// This file makes lines of a crontab of what run-parts and anacron start: one for each file of a
// folder, in the order of run-parts, one after another, and a last one for the files that packages
// put there later.

// startsFolderAlone matches a command that does nothing but give a folder to run-parts. If the
// files of any other became tasks, a part of it would be lost.
var startsFolderAlone = humanize.Pattern(`^\s*(?:(?:test|\[) -x /usr/sbin/anacron(?: \])? \|\| )?[({]?\s*(?:cd / && )?` +
	`(?:nice )?(?:/usr)?(?:/s?bin/)?run-parts(?:\s+(?:--report|--verbose|-v))*\s+/[^\s;&|)}"']+\s*;?\s*[)}]?\s*$`)

// canSplit reports whether the files of a folder, of which the job is one, can be tasks in place of
// the line with the command.
func canSplit(j machine.Job, command string) bool {
	return j.Kind == machine.RunParts && startsFolderAlone().MatchString(command)
}

// niceKey is the key for a line that calls `nice run-parts`.
func niceKey(command string) string {
	if niceRunParts().MatchString(command) {
		return ", nice=10"
	}
	return ""
}

var niceRunParts = humanize.Pattern(`\bnice \S*run-parts\b`)

// folderEntries returns the lines for the files of a folder that a line gives to run-parts. keys
// are keys that each of them has.
func folderEntries(jobs []machine.Job, line crontab.Entry, keys string) (entries []crontab.Entry) {
	folder := path.Dir(jobs[0].Place)
	base := path.Base(folder)
	var known []string
	for _, j := range jobs {
		if j.Skipped { // the last task passes it over, too
			continue
		}
		file := humanize.ShellWord(j.Place)
		known = append(known, file)
		// A package may be removed: run-parts starts what is executable then.
		command := fmt.Sprintf("cd / && if [ -x %s ]; then %[1]s; fi", file)
		entries = append(entries, entry(line, taskName(base, path.Base(j.Place)), keys, command))
	}
	do := "$job"
	if len(known) > 0 {
		do = fmt.Sprintf("case $job in %s) ;; *) $job ;; esac", strings.Join(known, "|"))
	}
	others := fmt.Sprintf("cd / && for job in $(run-parts --test %s); do %s; done", humanize.ShellWord(folder), do)
	return append(entries, entry(line, base+"/others", keys, others))
}

// taskName is the name of the task for a file.
func taskName(folder, file string) string {
	valid := func(r rune) rune {
		isLetter, isDigit := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z', r >= '0' && r <= '9'
		if isLetter || isDigit || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}
	return folder + "/" + strings.Map(valid, file)
}

// entry returns the line with another command, and with keys of a task.
func entry(line crontab.Entry, name, keys, command string) crontab.Entry {
	text := "# sched: name=" + name + ", background=false" + keys + "\n" + line.When + " root " +
		strings.ReplaceAll(command, "%", `\%`) + "\n"
	made := crontab.Parse(crontab.Source{Text: text, System: true}).Entries[0]
	made.Line, made.User, made.Set, made.SetAt = line.Line, line.User, line.Set, line.SetAt
	return made
}

// The reasons for which a line of anacrontab is left.
const (
	leftNotToday = "anacron has not run it today: once it has, call this again"
	leftPeriod   = "a crontab has no times for its period"
)

// reasonToLeaveAnacron says why a line of anacrontab is left on a day; "" if it may be taken.
func reasonToLeaveAnacron(a machine.AnacronLine, today string) string {
	switch {
	case a.Days != 1 && a.Days != 7 && a.Days != machine.Monthly:
		return leftPeriod
	case a.Days == 1 && a.Last.Format(time.DateOnly) != today:
		return leftNotToday
	case a.Last.IsZero():
		return leftNotToday
	}
	return ""
}

var setting = humanize.Pattern(`^\s*([A-Za-z_]\w*)\s*=\s*"?(.*?)"?\s*$`)

// anacronEntries returns the lines for a line of anacrontab: at its delay after the first start of
// anacron, each day, week or month, and later if the machine was off then.
func anacronEntries(jobs []machine.Job, text string, isSplit bool) []crontab.Entry {
	a := *jobs[0].Anacron
	line := crontab.Entry{Line: jobs[0].Line, User: jobs[0].User, Set: crontab.Variables{}, SetAt: map[string]int{}}
	for i, row := range strings.Split(text, "\n") {
		if i+1 >= line.Line {
			break
		}
		if found := setting().FindStringSubmatch(row); found != nil {
			line.Set[found[1]], line.SetAt[found[1]] = found[2], i+1
		}
	}
	for _, name := range []string{"START_HOURS_RANGE", "RANDOM_DELAY", "LOGNAME"} {
		delete(line.Set, name)
	}
	start := time.Date(2000, 1, 1, a.From, 0, 0, 0, time.UTC)
	if !a.First.IsZero() {
		start = a.First
	}
	start = start.Add(a.Delay)
	within, day := "24h", "* * *"
	switch a.Days {
	case 7:
		day, within = fmt.Sprintf("* * %d", a.Last.Weekday()), "7d"
	case machine.Monthly:
		day, within = "1 * *", "31d"
	}
	line.When = fmt.Sprintf("%d %d %s", start.Minute(), start.Hour(), day)
	keys := ", missed=once, missed_within=" + within
	if a.Random >= 2*time.Minute {
		keys += fmt.Sprintf(", spread=%dm", int(min(a.Random, 24*time.Hour)/time.Minute))
	}
	if a.From > 0 || a.To < 24 {
		keys += fmt.Sprintf(", between=[\"%d:00\", \"%d:59\"]", a.From, (a.To+23)%24)
	}
	if isSplit {
		return folderEntries(jobs, line, keys+niceKey(a.Command))
	}
	return []crontab.Entry{entry(line, "anacron/"+taskName("", a.Name)[1:], keys, a.Command)}
}
