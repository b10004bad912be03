package doctor

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"sched/schedule/cron"
	"sched/schedule/humanize"
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
