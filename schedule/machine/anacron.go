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

// An anacronJob is a line of anacrontab.
type anacronJob struct {
	days  int // 0: once a month
	delay time.Duration
	last  time.Time // the day of the last run; zero if it has never run
}

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
	starts := startsOfAnacron(s, hoursRange().FindStringSubmatch(found.text))
	extra := ""
	if delay := randomDelay().FindStringSubmatch(found.text); delay != nil && delay[1] != "0" {
		extra = ", or up to " + delay[1] + " min later"
	}
	for i, line := range strings.Split(found.text, "\n") {
		fields := anacronLine().FindStringSubmatch(line)
		if fields == nil {
			continue
		}
		minutes, _ := strconv.Atoi(fields[2])
		one := anacronJob{delay: time.Duration(minutes) * time.Minute}
		var words string
		if one.days, words, err = period(fields[1]); err != nil {
			s.odd(fmt.Sprintf("%s:%d", anacrontab, i+1), "root", "", "%v", err)
			continue
		}
		j := Job{
			Kind: Anacron, Place: fmt.Sprintf("%s:%d", anacrontab, i+1), File: anacrontab, Line: i + 1, User: "root",
			When:    fmt.Sprintf("%s, %d min after anacron starts%s", words, minutes, extra),
			Command: fields[4], Off: off,
		}
		stamp := path.Join("/var/spool/anacron", fields[3])
		text, err := s.files.read(stamp)
		s.unread(stamp, err)
		if one.last, err = time.ParseInLocation("20060102", strings.TrimSpace(text.text), s.Zone); err == nil {
			j.SetLast(one.last, "anacron")
		}
		j.next = func(after time.Time) time.Time { return one.next(starts, after) }
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

// next returns when the job runs after a time; the zero time if nothing starts anacron.
func (a anacronJob) next(starts func(time.Time) time.Time, after time.Time) time.Time {
	due := a.last.AddDate(0, 0, a.days)
	if a.days == 0 {
		due = a.last.AddDate(0, 1, 1-a.last.Day())
	}
	if a.last.IsZero() || due.Before(after) {
		due = after
	}
	start := starts(due.Add(-time.Second))
	if start.IsZero() {
		return start
	}
	return start.Add(a.delay)
}

// startsOfAnacron returns a function that says when anacron is started next, within the hours of
// START_HOURS_RANGE. It is the zero time if no job starts it.
func startsOfAnacron(s *survey, hours []string) func(time.Time) time.Time {
	var starters []Job
	for _, j := range s.list.Jobs {
		if j.Off == "" && j.next != nil && anacronStart().MatchString(j.Command) {
			starters = append(starters, j)
		}
	}
	from, to := 0, 24
	if hours != nil {
		from, _ = strconv.Atoi(hours[1])
		to, _ = strconv.Atoi(hours[2])
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
