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
func checkClock(_ context.Context, s *Subject) []finding { return s.clock(clockIsSynchronised()) }

func (s *Subject) clock(synchronised, known bool) []finding {
	says := "nothing keeps the clock right, as far as the kernel knows"
	switch {
	case known && !synchronised && inContainer(s.Environ):
		return []finding{{ofHost, says, "the host of this container keeps it: timedatectl set-ntp true there, or chrony"}}
	case known && !synchronised:
		return []finding{{Warning, says, "timedatectl set-ntp true, or start chrony"}}
	case !known:
		return fine("it is %s; whether something keeps it right is not known on this system", humanize.SecondZone(s.Now, s.Schedule.Location))
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
	mine := process.Lookup(environ)
	_, nspawn := mine("container")
	_, pod := mine("KUBERNETES_SERVICE_HOST")
	return nspawn || pod
}

// How far ahead clock changes are looked for, and how near to a change a task must be due to be
// named.
const (
	comingChanges = 30 * 24 * time.Hour
	nearChange    = 2 * time.Hour
)

// checkClockChanges names tasks due around the next clock change. They are no problem: the rule for
// clock changes holds.
func checkClockChanges(_ context.Context, s *Subject) (found []finding) {
	zones := map[string]*time.Location{}
	for _, t := range s.active() {
		if zone := t.When.Location; zone != nil {
			zones[zone.String()] = zone
		}
	}
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		_, change := s.Now.In(zones[name]).ZoneBounds()
		if change.IsZero() || change.Sub(s.Now) > comingChanges {
			continue
		}
		says := fmt.Sprintf("clocks in %s change at %s, from %s to %s", name, humanize.Minute(change, time.UTC)+" UTC",
			change.Add(-1).In(zones[name]).Format("-07:00"), change.In(zones[name]).Format("-07:00"))
		hint := ""
		if near := s.dueAround(change, name); len(near) > 0 {
			says += "; around it are due " + humanize.Names(near, 3)
			hint = "see what they will do: sched list --next 3 --at " + change.Add(-nearChange).UTC().Format(time.RFC3339)
		}
		found = append(found, finding{OK, says, hint})
	}
	if len(found) == 0 {
		return fine("none in the next 30 days")
	}
	return found
}

// dueAround returns the tasks of a zone with a fixed time near the instant. It leaves out tasks of
// each hour: they go by the clock.
func (s *Subject) dueAround(change time.Time, zone string) (names []string) {
	for _, t := range s.active() {
		next, ok := t.When.Next(change.Add(-nearChange))
		if ok && t.When.Location.String() == zone && next.Before(change.Add(nearChange)) && isFixed(t.When) {
			names = append(names, t.Name)
		}
	}
	return names
}

// isFixed reports whether a task is due at most once in four hours, as far as the next two times
// show.
func isFixed(w cron.When) bool {
	first, ok := w.Next(time.Unix(0, 0))
	second, again := w.Next(first)
	return ok && (!again || second.Sub(first) > 2*nearChange)
}
