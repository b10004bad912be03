package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule"
)

// A Mixture is what a tick finds wrong with the servers of a store; the zero value is nothing.
type Mixture struct {
	SharedName   bool     `json:"shared_name,omitempty"`  // another machine ticks under the name of this one
	Environments []string `json:"environments,omitempty"` // that others tick in, and this one does not; sorted
	Zones        []string `json:"zones,omitempty"`        // time zones of others (ZoneOf), and not of this one; sorted
	Silent       []string `json:"silent,omitempty"`       // silent servers (Server.Silent) where something ran; sorted
}

// A Finding is one thing that is wrong.
type Finding struct{ Kind, Text, Hint string }

// The kinds of findings.
const (
	KindName        = "name"
	KindEnvironment = "environment"
	KindZone        = "zone"
	KindSilent      = "silent"
)

// Findings says what is wrong, given the server that found it.
func (m Mixture) Findings(self Server) (all []Finding) {
	add := func(is bool, kind, hint, text string, values ...any) {
		if is {
			all = append(all, Finding{kind, fmt.Sprintf(text, values...), hint})
		}
	}
	add(m.SharedName, KindName, "name each with `server:` or $SCHED_SERVER", "another machine ticks under the name %s, too", self.Name)
	add(len(m.Environments) > 0, KindEnvironment, "give each environment a `name` or a store of its own",
		"servers of this schedule tick in another environment: %s (%s is in %s)", strings.Join(m.Environments, ", "), self.Name, self.Environment)
	add(len(m.Zones) > 0, KindZone, "write `timezone:` into the schedule: without it each server takes its own, and a task runs once in each zone",
		"servers of this schedule are in another time zone: %s (%s is in %s)", strings.Join(m.Zones, ", "), self.Name, self.Zone)
	add(len(m.Silent) > 0, KindSilent, "",
		"nothing was heard for three minutes or more of %s, where tasks were running", strings.Join(m.Silent, ", "))
	return all
}

// ZoneOf returns the zone of the one_server tasks that name none, as offsets from UTC in January
// and July; "" without such tasks. Servers with different zones would each run such a task.
func ZoneOf(s *schedule.Schedule, year int) string {
	depends := func(t *schedule.Task) bool { return t.OneServer && s.InUse(t) && t.When.Location == s.Location }
	if s.Location == nil || !slices.ContainsFunc(s.Tasks, depends) {
		return ""
	}
	offset := func(month time.Month) string {
		return time.Date(year, month, 1, 12, 0, 0, 0, time.UTC).In(s.Location).Format("-07:00")
	}
	if january, july := offset(time.January), offset(time.July); january != july {
		return january + "/" + july
	}
	return offset(time.January)
}

// Unserved returns the tasks in use whose `servers` mean none of the servers.
func Unserved(s *schedule.Schedule, all []Server) (tasks []*schedule.Task) {
	for _, t := range s.Tasks {
		isFor := func(one Server) bool { return one.AsLabelled().IsAny(t.Servers) }
		if len(t.Servers) > 0 && s.InUse(t) && !slices.ContainsFunc(all, isFor) {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// mixtureOf finds what is wrong with the servers, at the time now of the store.
func mixtureOf(self Server, all map[string]Server, now time.Time) (m Mixture) {
	before, ticked := all[self.place()]
	differs := func(theirs, ours string) bool { return theirs != "" && ours != "" && theirs != ours }
	for key, s := range all {
		silent := now.Sub(s.Said) >= quietAfter
		switch {
		case key == self.place():
		case s.Name == self.Name && s.Machine != self.Machine:
			// A machine that was set up anew finds its own past. What ticked after it is another.
			m.SharedName = m.SharedName || differs(s.Machine, self.Machine) && !silent && ticked && s.Seen.After(before.Seen)
		case silent && s.Name != self.Name && len(s.Running)+s.More > 0:
			m.Silent = append(m.Silent, s.Name)
		case !silent:
			if differs(s.Environment, self.Environment) {
				m.Environments = append(m.Environments, s.Environment)
			}
			if differs(s.Zone, self.Zone) {
				m.Zones = append(m.Zones, s.Zone)
			}
		}
	}
	m.Environments, m.Zones, m.Silent = firstTen(m.Environments), firstTen(m.Zones), firstTen(m.Silent)
	return m
}

// firstTen sorts names: others may have written thousands.
func firstTen(names []string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(10, len(names))]
}
