package machine

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/machine/oncalendar"
)

const (
	// systemFolders are where the manager of the machine looks for units (systemd.unit(5)).
	systemFolders = `/etc/systemd/system.control /run/systemd/system.control /run/systemd/transient
		/etc/systemd/system /run/systemd/system /run/systemd/generator /usr/local/lib/systemd/system
		/usr/lib/systemd/system /lib/systemd/system`

	// userFolders are where the managers of all users look. Each looks in its home first.
	userFolders = `/etc/systemd/user /run/systemd/user /usr/local/lib/systemd/user
		/usr/lib/systemd/user /lib/systemd/user`

	homeFolder = ".config/systemd/user"
)

// A manager is a process of systemd that starts timers: the machine's, or a user's.
type manager struct {
	*survey
	units  *units
	user   string     // "" for the machine
	only   string     // list only timers that have a file below this folder; "" for all
	stamps unitFolder // the times of timers with Persistent=
	said   map[string]timerState
}

// A timerState is what systemctl says of a timer.
type timerState struct {
	active     bool
	last, next time.Time
}

// listTimers lists the timers of the machine, of all users, and of each user.
func listTimers(s *survey) {
	machine := manager{survey: s, units: newUnits(s, foldersOf(s.files, systemFolders)), said: askSystemd(s),
		stamps: unitFolder{s.files, "/var/lib/systemd/timers"}}
	machine.list()
	shared := foldersOf(s.files, userFolders)
	(&manager{survey: s, units: newUnits(s, shared), user: EachUser}).list()
	homes := map[string]bool{"": true, "/": true}
	for _, one := range s.users.sorted() {
		if homes[one.home] || !s.files.has(one.home) {
			continue
		}
		if homes[one.home] = true; s.UID != s.Root0 && s.UID != one.uid {
			s.leaveOut("the timers of other users")
			continue
		}
		if home, err := openFiles(filepath.Join(s.Root, one.home), one.home, s.Root0); err == nil {
			own := unitFolder{home, "/" + homeFolder}
			(&manager{survey: s, units: newUnits(s, append([]unitFolder{own}, shared...)), user: one.name,
				only: own.path, stamps: unitFolder{home, "/.local/share/systemd/timers"}}).list()
			home.root.Close()
		}
	}
}

// list lists the timers of a manager.
func (m *manager) list() {
	names, wanted := m.units.timers()
	loaded := map[string]unit{}
	for _, name := range names {
		loaded[name] = m.units.load(name)
		if alias := loaded[name].alias; alias != "" {
			wanted[alias] = wanted[alias] || wanted[name]
		}
	}
	for _, name := range names {
		timer := loaded[name]
		isTemplate := strings.HasSuffix(name, "@.timer")
		if isTemplate || timer.alias != "" || m.only != "" && timer.folder.path != m.only {
			continue
		}
		if timer.path == "" {
			m.odd(name, m.user, "", "it is to be started, and there is no such timer")
			continue
		}
		m.add(m.job(name, timer, wanted[name]))
	}
}

// job returns the job of a timer, and notes what is odd about it.
func (m *manager) job(name string, timer unit, wanted bool) Job {
	j := Job{Kind: Timer, Place: name, File: timer.folder.files.home + timer.path, User: cmp.Or(m.user, "root"),
		When: whenOf(timer)}
	state := m.said[name]
	switch {
	case timer.masked:
		j.setOff("masked")
	case !m.systemd:
		j.setOff("systemd does not run")
	case wanted && len(m.said) > 0 && !state.active: // a condition of it may be unmet
		j.setOff("not started")
	case !wanted && !state.active:
		j.setOff("not enabled")
	}
	if timer.masked {
		return j
	}
	m.setService(&j, timer)
	j.SetLast(state.last, "systemd")
	if m.stamps.files != nil && len(m.said) == 0 { // systemd makes one, too, when it starts the timer
		stamp, err := m.stamps.files.look(path.Join(m.stamps.path, "stamp-"+name))
		if err == nil {
			j.SetLast(stamp.changed, "systemd")
		}
	}
	calendar, last := m.calendarOf(j, timer), time.Time{}
	if j.Last != nil {
		last = j.Last.Time
	}
	j.next = func(after time.Time) time.Time {
		if state.next.After(after) { // with its random delay
			return state.next
		}
		return m.nextOf(calendar, timer, last, after)
	}
	if j.When == "" {
		m.odd(name, j.User, "", "it has no time: systemd refuses it")
	}
	if m.only != "" && j.Off == "" && !m.files.has("/var/lib/systemd/linger/"+m.user) {
		m.odd(name, m.user, "loginctl enable-linger "+m.user, "it runs only while %s is logged in", m.user)
	}
	return j
}

// setService sets who runs the service of a timer, and its commands.
func (m *manager) setService(j *Job, timer unit) {
	name := serviceOf(j.Place, timer)
	service := m.units.load(name)
	if service.path == "" || service.masked {
		why := "there is no " + name
		if service.masked {
			why = name + " is masked"
		}
		if j.Off == "" {
			m.odd(j.Place, j.User, "", "it has nothing to start: %s", why)
		}
		j.setOff(why)
		return
	}
	for _, command := range service.values["Service.ExecStart"] {
		command = strings.Join(strings.Fields(strings.TrimLeft(command, "-@:+!|")), " ")
		j.Command = strings.TrimPrefix(j.Command+"; "+command, "; ")
	}
	j.Command = cmp.Or(j.Command, name)
	if user := service.last("Service.User"); m.user == "" && user != "" {
		j.User = user
		if !service.isTrue("Service.DynamicUser") && j.Off == "" && !m.users.has(m.ctx, m.Ask, user) {
			m.odd(j.Place, user, "", "there is no user %s", user)
		}
	}
}

// serviceOf returns the name of the unit that a timer starts.
func serviceOf(name string, timer unit) string {
	return cmp.Or(timer.last("Timer.Unit"), strings.TrimSuffix(name, ".timer")+".service")
}

// calendarOf reads the calendar expressions of a timer, and notes those that systemd ignores.
func (m *manager) calendarOf(j Job, timer unit) (all []oncalendar.Spec) {
	for _, text := range timer.values["Timer.OnCalendar"] {
		spec, err := oncalendar.Parse(text, m.Zone)
		if err != nil {
			m.odd(j.Place, j.User, "`systemd-analyze calendar` reads such expressions", "%v", err)
			continue
		}
		all = append(all, spec)
	}
	return all
}

// nextOf returns when a timer is due after a time, before its random delay; the zero time if nobody
// knows.
func (m *manager) nextOf(calendar []oncalendar.Spec, timer unit, last, after time.Time) (next time.Time) {
	earlier := func(at time.Time) {
		if at.After(after) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for _, spec := range calendar {
		earlier(spec.Next(after))
	}
	for key, from := range map[string]time.Time{"OnBootSec": m.bootTime(), "OnUnitActiveSec": last} {
		for _, text := range timer.values["Timer."+key] {
			if span, ok := oncalendar.ParseSpan(text); ok && !from.IsZero() {
				earlier(from.Add(span))
			}
		}
	}
	return next
}

// monotonic are the times that count from an event.
var monotonic = []struct{ key, words string }{
	{"OnActiveSec", "after the start of the timer"},
	{"OnBootSec", "after the boot"},
	{"OnStartupSec", "after the start of systemd"},
	{"OnUnitActiveSec", "after its last start"},
	{"OnUnitInactiveSec", "after its last end"},
}

// whenOf says when a timer starts its service, in words.
func whenOf(timer unit) string {
	when := slices.Clone(timer.values["Timer.OnCalendar"])
	for _, one := range monotonic {
		for _, text := range timer.values["Timer."+one.key] {
			if span, ok := oncalendar.ParseSpan(text); ok && span == 0 {
				when = append(when, strings.Replace(one.words, "after", "at", 1))
			} else {
				when = append(when, text+" "+one.words)
			}
		}
	}
	if timer.isTrue("Timer.OnClockChange") {
		when = append(when, "when the clock is set")
	}
	if timer.isTrue("Timer.OnTimezoneChange") {
		when = append(when, "when the time zone changes")
	}
	words := strings.Join(when, "; ")
	if delay, ok := oncalendar.ParseSpan(timer.last("Timer.RandomizedDelaySec")); ok && delay > 0 && words != "" {
		words += ", up to " + humanize.Setting(delay) + " later"
	}
	return words
}

// askSystemd asks systemd for the timers of the machine that it has loaded.
func askSystemd(s *survey) map[string]timerState {
	said := map[string]timerState{}
	if !s.systemd || s.Ask == nil {
		return said
	}
	text, err := s.Ask(s.ctx, "systemctl", "show", "*.timer", "--all",
		"--property=Id,ActiveState,LastTriggerUSec,NextElapseUSecRealtime")
	if err != nil {
		s.odd("", "", "", "systemctl does not answer, so nothing of the last starts of timers is known: %v",
			humanize.WithoutPath(err))
	}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		values := map[string]string{}
		for line := range strings.Lines(block) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			values[key] = value
		}
		said[values["Id"]] = timerState{values["ActiveState"] == "active", systemdTime(values["LastTriggerUSec"]),
			systemdTime(values["NextElapseUSecRealtime"])}
	}
	return said
}

// systemdTime reads a time that systemctl prints with TZ=UTC. A text such as n/a is no time.
func systemdTime(text string) time.Time {
	at, _ := time.Parse("Mon 2006-01-02 15:04:05 MST", text)
	return at
}
