package machine

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
)

// This file lists the jobs of at and batch. The name of such a file says its queue, its number, and
// the minute since 1970 at which it is due: a0000301c9d2b4, with 1, 5 and 8 digits.

var atSpools = []string{"/var/spool/cron/atjobs", "/var/spool/at", "/var/spool/atjobs"}

var atName = humanize.Pattern(`^([a-zA-Z=])([0-9a-f]{5})([0-9a-f]{8})$`)

func listAt(s *survey) {
	for _, spool := range atSpools {
		names, err := s.files.names(spool)
		if errors.Is(err, fs.ErrPermission) {
			s.leaveOut("the jobs of at")
		} else {
			s.unread(spool, err)
		}
		for _, name := range names {
			if parts := atName().FindStringSubmatch(name); parts != nil {
				listAtJob(s, path.Join(spool, name), parts)
			}
		}
	}
}

func listAtJob(s *survey, name string, parts []string) {
	found, err := s.files.read(name)
	if err != nil {
		s.unread(name, err)
		return
	}
	minutes, _ := strconv.ParseInt(parts[3], 16, 64)
	number, _ := strconv.ParseInt(parts[2], 16, 64)
	at := time.Unix(minutes*60, 0)
	j := Job{Kind: At, Place: "at job " + strconv.FormatInt(number, 10), File: name,
		User: s.users.nameOf(found.owner), When: "once", Command: atCommand(found.text)}
	switch {
	case parts[1] == "=":
		j.Off = "it runs now"
	case parts[1] >= "b" || parts[1] <= "Z" && parts[1] >= "B":
		j.When = "once, when the load is low"
	}
	j.next = func(after time.Time) time.Time {
		if at.After(after) {
			return at
		}
		return time.Time{}
	}
	if !at.After(s.Now) && j.Off == "" && parts[1] == "a" {
		s.odd(j.Place, j.User, "does atd run?", "it was due at %s", humanize.MinuteZone(at, s.Zone))
	}
	s.add(j)
}

// atCommand returns the command of a job. It stands below the variables and the change of folder
// that at has written, on newer systems between two lines with a mark.
func atCommand(text string) string {
	_, command, ok := strings.Cut(text, "\n}\n")
	if !ok {
		command = text
	}
	if first, rest, ok := strings.Cut(command, "\n"); ok && strings.Contains(first, "<<") {
		mark := strings.Trim(first[strings.LastIndex(first, "<<")+2:], " '\"")
		command, _, _ = strings.Cut("\n"+rest, "\n"+mark)
	}
	return strings.Join(strings.FieldsFunc(command, func(r rune) bool { return r == '\n' }), "; ")
}
