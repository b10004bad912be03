package preflight

import (
	"fmt"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/process"
)

// ZoneProblem says that tasks of the schedule go by a variable TZ that names no time zone, and so
// are due in UTC. It returns "" if TZ is well, or is not set, or if each task has a zone of its
// own. zone is the zone of the machine, as this process sees it.
func ZoneProblem(s *schedule.Schedule, environ []string, zone string) (text, hint string) {
	name, isSet := process.Lookup(environ)("TZ")
	_, err := time.LoadLocation(strings.TrimPrefix(name, ":"))
	if !isSet || err == nil && name != "" || name == "UTC0" || zone != "UTC" || !usesMachineZone(s) {
		return "", ""
	}
	why := "which names no time zone"
	switch {
	case name == "":
		return "TZ is set and empty: times are in UTC", ZoneHint
	case strings.ContainsAny(name, `"'`):
		why = "with quotes, which belong to no time zone"
	case posixRule().MatchString(name):
		why = "a rule of POSIX, which sched does not read"
	}
	return fmt.Sprintf("TZ is %s, %s: times are in UTC", humanize.Line(name), why), ZoneHint
}

// usesMachineZone reports whether a task that runs here is due by the zone of the machine.
func usesMachineZone(s *schedule.Schedule) bool {
	if s.Location == time.Local {
		return true
	}
	for t := range s.ActiveTasks() {
		if t.When.Location == time.Local {
			return true
		}
	}
	return false
}

// posixRule matches a zone that is written out, as CET-1CEST,M3.5.0,M10.5.0/3 (tzset(3)).
var posixRule = humanize.Pattern(`^([A-Za-z]{3,}|<[A-Za-z0-9+-]+>)[+-]?\d`)

const ZoneHint = "name it in the schedule: timezone: Europe/Berlin"
