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
	hours := hoursRange().FindStringSubmatch(found.text)
	all, extra := AnacronLine{From: 0, To: 24}, ""
	if hours != nil {
		all.From, _ = strconv.Atoi(hours[1])
		all.To, _ = strconv.Atoi(hours[2])
	}
	if delay := randomDelay().FindStringSubmatch(found.text); delay != nil && delay[1] != "0" {
		extra = ", or up to " + delay[1] + " min later"
		all.Random, _ = time.ParseDuration(delay[1] + "m")
	}
	starts := startsOfAnacron(s, all.From, all.To)
	for i, line := range strings.Split(found.text, "\n") {
		fields := anacronLine().FindStringSubmatch(line)
		if fields == nil {
			continue
		}
		minutes, _ := strconv.Atoi(fields[2])
		one, words := all, ""
		one.Delay, one.Name, one.Command = time.Duration(minutes)*time.Minute, fields[3], fields[4]
		if one.Days, words, err = period(fields[1]); err != nil {
			s.odd(fmt.Sprintf("%s:%d", anacrontab, i+1), "root", "", "%v", err)
			continue
		}
		j := Job{
			Kind: Anacron, Place: fmt.Sprintf("%s:%d", anacrontab, i+1), File: anacrontab, Line: i + 1, User: "root",
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

// period reads the first field of a line.
func period(field string) (days int, words string, err error) {
	switch field {
	case "@daily", "1":
		return 1, "daily", nil
	case "@weekly", "7":
		return 7, "weekly", nil
	case "@monthly":
		return 0, "monthly", nil
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
	if a.Days == 0 {
		due = a.Last.AddDate(0, 1, 1-a.Last.Day())
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

// startsOfAnacron returns a function that says when anacron is started next, within the hours of
// START_HOURS_RANGE. It is the zero time if no job starts it.
func startsOfAnacron(s *survey, from, to int) func(time.Time) time.Time {
	var starters []Job
	for _, j := range s.list.Jobs {
		if j.Off == "" && j.next != nil && anacronStart().MatchString(j.Command) {
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

// StartsAnacron reports whether a command starts anacron.
func StartsAnacron(command string) bool { return anacronStart().MatchString(command) }
