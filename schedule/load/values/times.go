package values

import (
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/yamldoc"
)

// Zone reads the name of a time zone. known are those that were read before, by name; it adds to them.
func Zone(r *yamldoc.Reader, n *yamldoc.Node, known map[string]*time.Location) (*time.Location, bool) {
	name, ok := r.NonEmptyExpanded(n)
	if !ok {
		return nil, false
	}
	if zone := known[name]; zone != nil {
		return zone, true
	}
	zone, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") {
		r.Problemf(n, zoneHint(name), "%s %s is not a known time zone", r.Key, yamldoc.Quote(name))
		return nil, false
	}
	known[name] = zone
	return zone, true
}

// zoneHint proposes the zone of a city, or one that differs from the name in its case or in spaces.
func zoneHint(name string) string {
	if strings.EqualFold(name, "local") {
		return "leave the key out for the zone of the machine"
	}
	parts := strings.Split(strings.ReplaceAll(strings.ToLower(name), " ", "_"), "/")
	for i, part := range parts {
		words := strings.Split(part, "_")
		for j, w := range words {
			if w != "" {
				words[j] = strings.ToUpper(w[:1]) + w[1:]
			}
		}
		parts[i] = strings.Join(words, "_")
	}
	tries := []string{strings.Join(parts, "/"), strings.ToUpper(name)}
	if len(parts) == 1 {
		for _, region := range []string{"Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian"} {
			tries = append(tries, region+"/"+parts[0])
		}
	}
	for _, try := range tries {
		if _, err := time.LoadLocation(try); err == nil && try != "" && try != name {
			return yamldoc.DidYouMean(try)
		}
	}
	return `time zones are called as in "Europe/Berlin", "America/New_York" or "UTC"`
}

// MissedWithin reads how old a missed slot may be.
func MissedWithin(r *yamldoc.Reader, n *yamldoc.Node) (time.Duration, bool) {
	d, ok := r.Duration(n, time.Minute)
	if ok && d > schedule.LookBack {
		r.Problemf(n, "", "missed_within %s is longer than the 31 days that sched looks back", n.Value)
	}
	return d, ok
}

// StartDeadline reads a duration, or none, an older word for false, against that of a group or of defaults.
func StartDeadline(r *yamldoc.Reader, n *yamldoc.Node) (time.Duration, bool) {
	if n.IsScalar() && n.Value == "none" {
		return 0, true
	}
	d, ok := r.Duration(n, 0)
	if ok && d < time.Second {
		r.Problemf(n, "write false for a task that may start at any time", "start_deadline %s would skip every run", n.Value)
	}
	return d, ok
}

// The bounds of spread. Less than two minutes has one minute to choose from.
const (
	shortestSpread = 2 * time.Minute
	longestSpread  = 24 * time.Hour
)

// Spread reads the time over which due times are spread.
func Spread(r *yamldoc.Reader, n *yamldoc.Node) (time.Duration, bool) {
	d, ok := r.Duration(n, shortestSpread)
	if ok && d > longestSpread {
		r.Problemf(n, "", "spread %s is longer than a day", n.Value)
		return 0, false
	}
	return d, ok
}

// WaitAtMost reads how long a run waits. false takes an inherited time away.
func WaitAtMost(r *yamldoc.Reader, n *yamldoc.Node) (time.Duration, bool) {
	d, ok := time.Duration(0), n.IsScalar() && n.Value == "0"
	if !ok {
		d, ok = r.Duration(n, 0)
	}
	if ok && d == 0 {
		r.Problemf(n, "write `without_overlapping: true` for a task that does not wait", "wait_at_most %s would skip every run that has to wait", n.Value)
	}
	return d, ok
}
