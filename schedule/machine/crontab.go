package machine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"sched/schedule/crontab"
	"sched/schedule/crontab/vixie"
	"sched/schedule/humanize"
)

// This file lists the lines of crontabs. The reasons for which cron ignores a file were tried with
// Debian's cron 3.0pl1: it passes over the whole file, whatever the other lines say.

const (
	systemCrontab = "/etc/crontab"
	systemFolder  = "/etc/cron.d"
	cronsPath     = "/usr/bin:/bin" // if a crontab sets no PATH
)

// ignoresFile begins the text about a file that cron ignores whatever its lines say.
const ignoresFile = "cron ignores this file: "

// spools are the folders with the crontabs of users: of Debian, Alpine, SUSE, and cronie.
var spools = []string{"/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/var/spool/cron"}

// A crontabReader reads the crontabs of a machine.
type crontabReader struct {
	*survey
	calendars map[calendarKey]*vixie.Calendar
	buffer    []int64
}

type calendarKey struct {
	zone       *time.Location
	from, span int64 // minutes
}

func listCrontabs(s *survey) {
	r := &crontabReader{survey: s, calendars: map[calendarKey]*vixie.Calendar{}}
	r.readFile(systemCrontab, "")
	names, err := s.files.names(systemFolder)
	s.unread(systemFolder, err)
	for _, name := range names {
		if name[0] != '.' { // Debian has .placeholder there
			r.readFile(path.Join(systemFolder, name), "")
		}
	}
	r.readSpool()
}

// readSpool reads the crontabs of users.
func (r *crontabReader) readSpool() {
	for _, spool := range spools {
		names, err := r.files.names(spool)
		if errors.Is(err, fs.ErrPermission) {
			r.leaveOut("the crontabs of other users")
			break
		}
		r.unread(spool, err)
		if slices.Contains(names, "crontabs") || slices.Contains(names, "tabs") {
			continue
		}
		for _, name := range names {
			if !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "tmp.") { // crontab(1) is at work
				r.readFile(path.Join(spool, name), name)
			}
		}
		if len(names) > 0 {
			return
		}
	}
	if r.OwnCrontab == nil || r.UID == r.Root0 {
		return
	}
	text, exists, err := r.OwnCrontab()
	if err != nil {
		r.unread("crontab -l", err)
	}
	if exists {
		r.readText("crontab", r.users.nameOf(r.UID), text, "")
	}
}

// readFile lists the lines of a file. The user is "" for a system crontab.
func (r *crontabReader) readFile(name, user string) {
	found, err := r.files.read(name)
	off := r.ignored(name, user, found, err)
	if err != nil && off == "" {
		r.unread(name, err)
		return
	}
	if off != "" {
		r.odd(name, user, "", "%s", ignoresFile+off)
		off = "cron ignores the file"
	}
	r.readText(name, user, found.text, off)
}

// ignored says why cron ignores a file whatever it holds; "" if it does not, or if that is not
// known.
func (r *crontabReader) ignored(name, user string, f file, err error) string {
	base := path.Base(name)
	account, known := r.users[user]
	switch {
	case errors.Is(err, fs.ErrPermission):
		return ""
	case errors.Is(err, fs.ErrNotExist) && f.linkOwner < 0:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "it is a link to " + f.link + ", which is not there"
	case user == "" && path.Dir(name) == systemFolder && !r.isTaken(base):
		if r.debian {
			return notPlainName
		}
		return copyName
	case !r.debian:
		return r.ignoredByCronie(user, f, err)
	case f.links > 1:
		return "it has another name, too (a hard link)"
	case user == "" && f.linkOwner >= 0 && f.linkOwner != r.Root0:
		return "it is a link that belongs to " + r.users.nameOf(f.linkOwner)
	case user == "" && err == nil && f.owner != r.Root0:
		return "it belongs to " + r.users.nameOf(f.owner) + ", and not to root"
	case user == "" && f.mode&0o022 != 0:
		return "others than its owner may write it"
	case user == "":
		return ""
	case f.linkOwner >= 0:
		return "it is a link"
	case !r.users.has(r.ctx, r.Ask, user):
		return "there is no user " + user
	case known && f.owner != r.Root0 && f.owner != account.uid:
		return "it belongs to " + r.users.nameOf(f.owner) + ", and not to " + user
	case f.mode.Perm() != 0o600:
		return fmt.Sprintf("its mode is %04o, and not 0600", f.mode.Perm())
	}
	return ""
}

// ignoredByCronie says why cronie ignores a file (check_open in its database.c), and the cron of
// busybox the crontab of a user who is not there.
func (r *crontabReader) ignoredByCronie(user string, f file, err error) string {
	switch crond, _ := r.files.look("/usr/sbin/crond"); {
	case user != "" && !r.users.has(r.ctx, r.Ask, user):
		return "there is no user " + user
	case err != nil || path.Base(crond.end) == "busybox":
		return ""
	case f.mode.Perm()&0o022 != 0:
		return "others than its owner may write it"
	case f.mode.Perm()&0o533 != 0o400:
		return fmt.Sprintf("its mode is %04o, and cronie wants 0644 or 0600", f.mode.Perm())
	case f.owner != r.Root0 && user == "":
		return "it belongs to " + r.users.nameOf(f.owner) + ", and not to root"
	case f.owner != r.Root0 && f.owner != r.users[user].uid:
		return "it belongs to " + r.users.nameOf(f.owner) + ", and not to " + user
	case f.links > 1 && user != "":
		return "it has another name, too (a hard link)"
	}
	return ""
}

// isTaken reports whether cron takes a file of cron.d by its name. Fedora's cron takes dots.
func (r *crontabReader) isTaken(name string) bool {
	if r.debian {
		return crontab.IsFileName(name)
	}
	hasEnd := func(end string) bool { return strings.HasSuffix(name, end) }
	return !slices.ContainsFunc([]string{"~", ".rpmsave", ".rpmorig", ".rpmnew"}, hasEnd) && name[0] != '#'
}

// readText lists the lines of a crontab. off says why cron ignores it; "" if it does not.
func (r *crontabReader) readText(name, user, text, off string) {
	table := crontab.Parse(crontab.Source{Name: name, Text: text, System: user == ""})
	r.addTaken(table)
	if off == "" {
		if place, why := r.badLine(table); why != "" {
			r.odd(place, user, "", "%s", why)
			if r.debian {
				off = "cron ignores the file"
			}
		}
	}
	for _, e := range table.Entries {
		if !e.Off {
			r.readEntry(name, cmp.Or(user, e.User), e, cmp.Or(off, r.lineOff(e)))
		}
	}
}

// lineOff says why a cron that reads the rest of a file passes over a line.
func (r *crontabReader) lineOff(e crontab.Entry) string {
	_, err := vixie.Parse(e.When)
	switch {
	case e.User != "" && !r.users.has(r.ctx, r.Ask, e.User):
		return "there is no user " + e.User
	case err != nil && e.When != "@reboot" && !strings.Contains(e.When, "~"): // cronie knows ~
		return "cron cannot read its times"
	}
	return ""
}

// addTaken adds the lines that cron takes and no schedule can say, such as a command that begins
// with a year, and leaves their findings out.
func (r *crontabReader) addTaken(t *crontab.Table) {
	lines := strings.Split(t.Source.Text, "\n")
	t.Findings = slices.DeleteFunc(t.Findings, func(f crontab.Finding) bool {
		line, times := lines[f.Line-1], 5
		if strings.HasPrefix(line, "@") {
			times = 1
		}
		words, e := strings.Fields(line), crontab.Entry{Line: f.Line}
		if !f.IsOmitted || len(words) < times {
			return false
		}
		e.When, words = strings.Join(words[:times], " "), words[times:]
		if t.Source.System { // a line that ends right behind its user is no line to cron
			if len(words) == 0 || len(words) == 1 && strings.HasSuffix(line, words[0]) {
				return false
			}
			e.User, words = words[0], words[1:]
		} else if strings.HasPrefix(strings.Join(words, " "), "*") {
			return false
		}
		e.Command = strings.Join(words, " ")
		if _, err := vixie.Parse(e.When); err != nil {
			return false
		}
		t.Entries = append(t.Entries, e)
		return true
	})
}

// badLine returns the first line that cron does not take, and why.
func (r *crontabReader) badLine(t *crontab.Table) (place, why string) {
	at := func(line int) string { return fmt.Sprintf("%s:%d", t.Source.Name, line) }
	whole := ""
	if r.debian {
		whole = ", and Debian's cron ignores the whole file"
	}
	lines := strings.Split(t.Source.Text, "\n")
	for _, f := range t.Findings {
		if f.IsOmitted && !setting().MatchString(lines[f.Line-1]) {
			return at(f.Line), "cron cannot read this line" + whole + ": " + f.Text
		}
	}
	for _, e := range t.Entries {
		_, err := vixie.Parse(e.When)
		switch {
		case e.Off:
		case e.Refused != "":
			return at(e.Line), e.Refused
		case err != nil && e.When != "@reboot":
			return at(e.Line), "cron cannot read these times" + whole + ": " + err.Error()
		case e.User != "" && !r.users.has(r.ctx, r.Ask, e.User):
			return at(e.Line), "there is no user " + e.User + whole
		}
	}
	if last := lines[len(lines)-1]; r.debian && last != "" {
		return at(len(lines)), "the last line has no line break at its end" + whole
	}
	return "", ""
}

// setting matches a line that sets a variable. Findings about such a line are about schedules.
var setting = humanize.Pattern(`^\s*["']?[^\s="']+["']?\s*=`)

// readEntry lists a line, or the files of the folder that it gives to run-parts.
func (r *crontabReader) readEntry(name, user string, e crontab.Entry, off string) {
	j := Job{
		Kind: Cron, Place: fmt.Sprintf("%s:%d", name, e.Line), File: name, Line: e.Line,
		User: user, When: e.When, Command: strings.TrimSpace(e.Command), Off: off,
		line: strings.TrimSpace(e.Command), path: cmp.Or(e.Set["PATH"], cronsPath),
	}
	zone := r.Zone
	if tz := e.Set["CRON_TZ"]; tz != "" && r.debian {
		r.odd(fmt.Sprintf("%s:%d", name, e.SetAt["CRON_TZ"]), user, "",
			"Debian's cron does not know CRON_TZ: the times below are in %s", r.Zone)
	} else if named, err := time.LoadLocation(tz); tz != "" && err == nil {
		zone = named
		j.When += " " + tz
	}
	if times, err := vixie.Parse(e.When); err == nil {
		j.next = func(after time.Time) time.Time { return r.nextOf(times, zone, after) }
		if j.next(r.Now).IsZero() {
			r.odd(j.Place, user, "", "no date has these times")
		}
	}
	folder := runPartsFolder(e.Command)
	switch {
	case anacronFirst().MatchString(e.Command) && r.files.has("/usr/sbin/anacron"):
		j.setOff("anacron does it")
		if anacrons, _ := r.files.read(anacrontab); strings.Contains(anacrons.text, folder) {
			folder = "" // its files are listed there
		}
	case r.systemd && noSystemd().MatchString(e.Command):
		j.setOff("it does nothing while systemd runs")
	}
	if folder == "" || !listFolder(r.survey, j, folder) {
		r.add(j)
	}
}

var (
	anacronFirst = humanize.Pattern(`^\s*(test|\[) -x /usr/sbin/anacron( \])? \|\|`)
	noSystemd    = humanize.Pattern(`! -[de] /run/systemd/system\b|^\s*(test|\[) -[de] "?/run/systemd/system"?( \])? \|\|`)
)

// nextOf returns the first minute after a time in which cron starts a line; the zero time if there
// is no such minute for nine years, in which each date comes.
func (r *crontabReader) nextOf(times vixie.Times, zone *time.Location, after time.Time) time.Time {
	from := after.Unix()/60 + 1
	for _, span := range []int64{60, 24 * 60, 40 * 24 * 60, 9 * 366 * 24 * 60} {
		r.buffer = times.Due(r.calendar(zone, from, span), from, from+span, r.buffer)
		if len(r.buffer) > 0 {
			return time.Unix(r.buffer[0]*60, 0)
		}
	}
	return time.Time{}
}

func (r *crontabReader) calendar(zone *time.Location, from, span int64) *vixie.Calendar {
	key := calendarKey{zone, from, span}
	if r.calendars[key] == nil {
		r.calendars[key] = vixie.NewCalendar(zone, time.Unix(from*60, 0), time.Unix((from+span)*60, 0))
	}
	return r.calendars[key]
}
