package doctor

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/cron"
	"sched/schedule/humanize"
	"sched/schedule/preflight"
	"sched/schedule/process"
)

// checkClock asks the system whether the clock is kept right, if the system can tell.
func checkClock(_ context.Context, s *Subject) findings {
	synchronised, known := clockIsSynchronised()
	return clockFindings(s, synchronised, known)
}

// clockFindings judges what the system says of its clock.
func clockFindings(s *Subject, synchronised, known bool) findings {
	text := "nothing keeps the clock right, as far as the kernel knows"
	switch {
	case known && !synchronised && inContainer(s.Environ):
		found := finding(Warning, "the host of this container keeps it: timedatectl set-ntp true there, or chrony",
			"%s", text)
		found[0].OfHost = true
		return found
	case known && !synchronised:
		return finding(Warning, "timedatectl set-ntp true, or start chrony", "%s", text)
	case !known:
		return fine("it is %s; whether something keeps it right is not known on this system",
			humanize.SecondZone(s.Now, s.Schedule.Location))
	}
	return fine("it is %s, and the clock is synchronised", humanize.SecondZone(s.Now, s.Schedule.Location))
}

// inContainer reports whether the usual signs of a container are there.
func inContainer(environ []string) bool {
	for _, path := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	ownVariable := process.Lookup(environ)
	_, nspawn := ownVariable("container")
	_, pod := ownVariable("KUBERNETES_SERVICE_HOST")
	return nspawn || pod
}

const (
	maxChangeAhead = 30 * 24 * time.Hour // how far ahead clock changes are looked for
	nearChange     = 2 * time.Hour       // how near to a change a task must be due to be named
)

// checkClockChanges names tasks due around the next clock change. They are no problem: the rule for
// clock changes holds.
func checkClockChanges(_ context.Context, s *Subject) (found findings) {
	zones := map[string]*time.Location{}
	for t := range s.Schedule.ActiveTasks() {
		if zone := t.When.Location; zone != nil {
			zones[zone.String()] = zone
		}
	}
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		_, change := s.Now.In(zones[name]).ZoneBounds()
		if change.IsZero() || change.Sub(s.Now) > maxChangeAhead {
			continue
		}
		text := fmt.Sprintf("clocks in %s change at %s, from %s to %s", name, humanize.MinuteZone(change, zones[name]),
			change.Add(-1).In(zones[name]).Format("-07:00"), change.In(zones[name]).Format("-07:00"))
		hint := ""
		if near := dueAround(s, change, name); len(near) > 0 {
			text += "; around it are due " + humanize.Names(near, 3)
			hint = "see what they will do: sched list --next 3 --at " +
				change.Add(-nearChange).UTC().Format(time.RFC3339)
		}
		found.add(OK, hint, "%s", text)
	}
	return found.orFine("none in the next 30 days")
}

// dueAround returns the tasks of a zone that are rarely due, and are due near the change. It leaves
// out tasks of each hour: they go by the clock.
func dueAround(s *Subject, change time.Time, zone string) (names []string) {
	for t := range s.Schedule.ActiveTasks() {
		next, ok := t.When.Next(change.Add(-nearChange))
		if ok && t.When.Location.String() == zone && next.Before(change.Add(nearChange)) && isRare(t.When) {
			names = append(names, t.Name)
		}
	}
	return names
}

// isRare reports whether a task is due at most once in four hours, as far as the next two times
// show.
func isRare(w cron.When) bool {
	first, ok := w.Next(time.Unix(0, 0))
	second, again := w.Next(first)
	return ok && (!again || second.Sub(first) > 2*nearChange)
}

// zoneFolder is the folder of the zone data of the machine. Tests change it.
var zoneFolder = "/usr/share/zoneinfo"

// zoneDataAreOld reports whether zone data of a year are old: each year some governments change
// their clocks, and distributions bring that within months.
func zoneDataAreOld(year int, now time.Time) bool { return year <= now.AddDate(-1, -6, 0).Year() }

// checkZoneData looks for zones that commands need: date(1) silently takes an unknown one for UTC.
func checkZoneData(_ context.Context, s *Subject) (found findings) {
	for _, text := range missingZoneTexts(s) {
		found.add(Warning, "install tzdata, or correct the name: a zone is named as its file below "+zoneFolder,
			"%s: commands take it for UTC", text)
	}
	version, year := zoneVersion()
	if year > 0 && zoneDataAreOld(year, s.Now) {
		found.add(Warning,
			"install the newest tzdata; sched reads the zones of the machine, and its own where a zone is missing",
			"the zone data of this machine are of %s: clock changes that were decided since are not in them", version)
	}
	found = append(found, namelessZone(s)...)
	if version == "" {
		return found.orFine("their version is not known on this system")
	}
	return found.orFine("of %s", version)
}

// namelessZone warns of a machine's zone that has no name, or that TZ names wrongly, unless the
// schedule has its own.
func namelessZone(s *Subject) findings {
	name, _ := process.Lookup(s.Environ)("TZ")
	if text, hint := preflight.ZoneProblem(s.Schedule, s.Environ, s.Zone); text != "" {
		return finding(Warning, hint, "%s", text)
	}
	const hint = preflight.ZoneHint
	switch zone := s.Schedule.Location; {
	case zone.String() == "Local":
		why := "/etc/localtime is no link to it"
		if name != "" {
			why = "TZ is " + name
		}
		return finding(Warning, hint,
			"the name of the machine's time zone is not known (%s): times have its present offset, %s", why,
			s.Now.In(zone).Format("-07:00"))
	}
	return nil
}

// missingZoneTexts says which zones have no zone data, and what needs them.
func missingZoneTexts(s *Subject) (texts []string) {
	users := map[string][]string{} // tasks and other users of a zone that is missing, by its name
	noteIfMissing := func(zone, by string) {
		if zoneIsMissing(s, zone) && !slices.Contains(users[zone], by) {
			users[zone] = append(users[zone], by)
		}
	}
	noteIfMissing(s.Zone, "the machine")
	for t := range s.Schedule.ActiveTasks() {
		if zone, ok := process.Lookup(process.Environ(nil, *t))("TZ"); ok {
			noteIfMissing(strings.TrimPrefix(zone, ":"), t.Name)
		}
	}
	for _, zone := range slices.Sorted(maps.Keys(users)) {
		texts = append(texts, fmt.Sprintf("there are no zone data for %s (%s)", zone, humanize.Names(users[zone], 3)))
	}
	return texts
}

// zoneIsMissing reports whether a name, as in TZ, names a zone that has no file. A zone that is
// written out, as CET-1CEST, needs no file (tzset(3)), and neither does UTC.
func zoneIsMissing(s *Subject, zone string) bool {
	isWrittenOut := !strings.Contains(zone, "/") && strings.ContainsAny(zone, "0123456789,<")
	if zone == "" || zone == "Local" || zone == "UTC" || strings.HasPrefix(zone, "/") || isWrittenOut {
		return false
	}
	_, err := os.Stat(filepath.Join(zoneFolder, zone))
	return err != nil
}

// zoneVersion returns the version of the machine's zone data, as 2025b, and its year; 0 if it is
// not known.
func zoneVersion() (version string, year int) {
	version, ok := strings.CutPrefix(preflight.FirstLine(filepath.Join(zoneFolder, "tzdata.zi")), "# version ")
	if !ok || len(version) < 4 {
		return "", 0
	}
	year, _ = strconv.Atoi(version[:4])
	return version, year
}
