package machine

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
)

// This file lists the jobs of anacron: each runs once in its period of days, some minutes after a
// start of anacron, which a line of a crontab or a timer of systemd starts.

var (
	anacronLine  = humanize.Pattern(`^\s*([^\s#]\S*)\s+(\d+)\s+(\S+)\s+(.*\S)`)
	anacronStart = humanize.Pattern(`(^|[\s/])(0?anacron)(\s|$)`)
	hoursRange   = humanize.Pattern(`(?m)^\s*START_HOURS_RANGE\s*=\s*"?(\d+)-(\d+)`)
	randomDelay  = humanize.Pattern(`(?m)^\s*RANDOM_DELAY\s*=\s*"?(\d+)`)
)

// listAnacron lists the lines of anacrontab. The jobs that start anacron are listed already.
func listAnacron(s *survey) {
	found, err := s.files.read(anacrontab)
	if err != nil {
		s.unread(anacrontab, err)
		return
	}
	off := ""
	if !s.files.has("/usr/sbin/anacron") {
		off = "there is no anacron"
	}
	debian := s.debian || s.files.has("/etc/debian_version")
	all, extra := anacronSettings(s, found.text, debian)
	starts := startsOfAnacron(s, all.From, all.To)
	today := s.Now.In(s.Zone)
	all.First = starts(time.Date(today.Year(), today.Month(), today.Day()+1, 0, 0, -1, 0, s.Zone)).In(s.Zone)
	for i, line := range strings.Split(found.text, "\n") {
		fields := anacronLine().FindStringSubmatch(line)
		if fields == nil {
			continue
		}
		minutes, _ := strconv.Atoi(fields[2])
		one, words := all, ""
		one.Delay, one.Name, one.Command = time.Duration(minutes)*time.Minute, fields[3], fields[4]
		place := fmt.Sprintf("%s:%d", anacrontab, i+1)
		if one.Days, words, err = period(fields[1], debian); err != nil {
			s.odd(place, "root", "", "%v", err)
			continue
		}
		if one.Days == EachStart {
			s.odd(place, "root", "write a number of days, or @monthly",
				"anacron does not know %s: it says that it skips the line, and runs it at each start", fields[1])
		}
		j := Job{
			Kind: Anacron, Place: place, File: anacrontab, Line: i + 1, User: "root",
			When:    fmt.Sprintf("%s, %d min after anacron starts%s", words, minutes, extra),
			Command: fields[4], Off: off, Anacron: &one,
		}
		one.Stamp = path.Join("/var/spool/anacron", fields[3])
		text, err := s.files.read(one.Stamp)
		s.unread(one.Stamp, err)
		if one.Last, err = time.ParseInLocation("20060102", strings.TrimSpace(text.text), s.Zone); err == nil {
			j.SetLast(one.Last, "anacron")
		}
		j.next = func(after time.Time) time.Time { return nextOfAnacron(one, starts, after) }
		if folder := runPartsFolder(j.Command); folder == "" || !listFolder(s, j, folder) {
			s.add(j)
		}
	}
}

// anacronSettings returns what holds for all lines, and how it is said. Debian's anacron has no
// such settings: findings/anacron-hours-are-variables.sh.
func anacronSettings(s *survey, text string, debian bool) (all AnacronLine, extra string) {
	all = AnacronLine{From: 0, To: 24}
	if hours := hoursRange().FindStringSubmatch(text); hours != nil && !debian {
		all.From, _ = strconv.Atoi(hours[1])
		all.To, _ = strconv.Atoi(hours[2])
	} else if hours != nil {
		s.odd(anacrontab, "root", "", "Debian's anacron does not know START_HOURS_RANGE, and starts at any hour")
	}
	if delay := randomDelay().FindStringSubmatch(text); delay != nil && delay[1] != "0" && !debian {
		extra = ", or up to " + delay[1] + " min later"
		all.Random, _ = time.ParseDuration(delay[1] + "m")
	} else if delay != nil && debian {
		s.odd(anacrontab, "root", "", "Debian's anacron does not know RANDOM_DELAY, and adds no delay")
	}
	return all, extra
}

// period reads the first field of a line. Debian's anacron knows fewer names than cronie's.
func period(field string, debian bool) (days int, words string, err error) {
	switch {
	case field == "1" || field == "@daily" && !debian:
		return 1, "daily", nil
	case field == "7" || field == "@weekly" && !debian:
		return 7, "weekly", nil
	case field == "@monthly":
		return Monthly, "monthly", nil
	case field == "@yearly":
		return Yearly, "yearly", nil
	case strings.HasPrefix(field, "@") && debian:
		return EachStart, "each time", nil
	}
	days, err = strconv.Atoi(field)
	if err != nil || days < 1 {
		return 0, "", fmt.Errorf("%q is no period of anacron", field)
	}
	return days, fmt.Sprintf("every %d days", days), nil
}

// nextOfAnacron returns when the job runs after a time; the zero time if nothing starts anacron.
func nextOfAnacron(a AnacronLine, starts func(time.Time) time.Time, after time.Time) time.Time {
	due := a.Last.AddDate(0, 0, a.Days)
	switch a.Days {
	case Monthly:
		due = dueByCount(a.Last, func(day time.Time) time.Time { return day.AddDate(0, 0, 1-day.Day()) }, 1)
	case Yearly:
		due = dueByCount(a.Last, func(day time.Time) time.Time { return day.AddDate(0, 0, 1-day.YearDay()) }, 12)
	case EachStart:
		due = after
	}
	if a.Last.IsZero() || due.Before(after) {
		due = after
	}
	start := starts(due.Add(-time.Second))
	if start.IsZero() {
		return start
	}
	return start.Add(a.Delay)
}

// dueByCount returns the day on which anacron runs a line with @monthly or @yearly after the last:
// when at least as many days have passed as the month (or year) before has, or exactly as many as
// this one has. begin returns the first day of a span of so many months. Measured with anacron
// 2.3-36: findings/anacron-monthly-thirteen.sh.
func dueByCount(last time.Time, begin func(time.Time) time.Time, months int) time.Time {
	days := func(from, to time.Time) int { return int(to.Sub(from).Round(24*time.Hour) / (24 * time.Hour)) }
	for passed := 1; ; passed++ {
		day := last.AddDate(0, 0, passed)
		this := begin(day)
		before := days(this.AddDate(0, -months, 0), this)
		if passed >= before || passed == days(this, this.AddDate(0, months, 0)) {
			return day
		}
	}
}

// startsOfAnacron returns a function that says when anacron is started next, within the hours of
// START_HOURS_RANGE. It is the zero time if no job starts it.
func startsOfAnacron(s *survey, from, to int) func(time.Time) time.Time {
	var starters []Job
	for _, j := range s.list.Jobs {
		if j.Off == "" && j.next != nil && StartsAnacron(j.Command) {
			starters = append(starters, j)
		}
	}
	inHours := func(at time.Time) bool { return at.In(s.Zone).Hour() >= from && at.In(s.Zone).Hour() < to }
	return func(after time.Time) (first time.Time) {
		for _, j := range starters {
			at := j.next(after)
			for tries := 0; tries < 100 && !at.IsZero() && !inHours(at); tries++ {
				at = j.next(at)
			}
			if !at.IsZero() && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
		return first
	}
}

// StartsAnacron reports whether a command starts anacron, and does not only ask whether it is
// there.
func StartsAnacron(command string) bool {
	return anacronStart().MatchString(command) && !anacronFirst().MatchString(command)
}
