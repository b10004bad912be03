package cluster

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/statedir"
)

// A Finding is one thing that a tick finds wrong with the servers of a store.
type Finding struct{ Kind, Text, Hint string }

// The kinds of findings.
const (
	KindName        = "name"        // another machine ticks under the name of this one
	KindEnvironment = "environment" // others tick in another environment
	KindZone        = "zone"        // others tick in another time zone (ZoneOf)
	KindSilent      = "silent"      // silent servers (Server.Silent) where something ran
)

// findingsOf finds what is wrong with the servers, at the time now of the store.
func findingsOf(self Server, all map[string]Server, now time.Time) (found []Finding) {
	before, ticked := all[self.place()]
	differs := func(theirs, ours string) bool { return theirs != "" && ours != "" && theirs != ours }
	about := map[string][]string{} // by kind
	for key, s := range all {
		silent := now.Sub(s.Seen) >= quietAfter
		switch {
		case key == self.place():
		case s.Name == self.Name && s.Machine != self.Machine:
			// A machine that was set up anew finds its own past. A machine that ticked later is
			// another one.
			if differs(s.Machine, self.Machine) && !silent && ticked && s.Seen.After(before.Seen) {
				about[KindName] = []string{self.Name}
			}
		case silent && s.Name != self.Name && len(s.Running)+s.More > 0:
			about[KindSilent] = append(about[KindSilent], s.Name)
		case !silent:
			if differs(s.Environment, self.Environment) {
				about[KindEnvironment] = append(about[KindEnvironment], s.Environment)
			}
			if differs(s.Zone, self.Zone) {
				about[KindZone] = append(about[KindZone], s.Zone)
			}
		}
	}
	for _, f := range []Finding{
		{KindName, "another machine ticks under the name …, too", "name each with `server:` or $SCHED_SERVER"},
		{KindEnvironment, "servers of this schedule tick in another environment: … (" + self.Name + " is in " + self.Environment + ")",
			"give each environment a `name` or a store of its own"},
		{KindZone, "servers of this schedule are in another time zone: … (" + self.Name + " is in " + self.Zone + ")",
			"write `timezone:` into the schedule: without it each server takes its own, and a task runs once in each zone"},
		{KindSilent, "nothing was heard for three minutes or more of …, where tasks were running", ""},
	} {
		names := about[f.Kind]
		slices.Sort(names)
		names = slices.Compact(names)
		names = names[:min(10, len(names))] // others may have written thousands
		if f.Text = strings.Replace(f.Text, "…", strings.Join(names, ", "), 1); len(names) > 0 {
			found = append(found, f)
		}
	}
	return found
}

// ZoneOf returns the zone of the one_server tasks that name no zone, as offsets from UTC in January
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

// Machine returns a text that tells machines of one name apart, by state folder and boot; "" if dir
// is not writable.
func Machine(dir string) string {
	path := filepath.Join(dir, "machine")
	id, err := statedir.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		id = []byte(rand.Text() + "\n")
		err = statedir.Replace(path, id)
	}
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id)) + " " + clock.BootID()
}

// Notes are what the last tick of this machine found out about the store and its servers.
type Notes struct {
	Findings []Finding `json:"findings,omitempty"`
	Outage   *Outage   `json:"outage,omitempty"` // nil: the store answered
}

// An Outage is what ticks of this machine found: the store does not answer, or grants nothing.
type Outage struct {
	Since time.Time `json:"since"` // the first tick that found it
	Why   string    `json:"why"`
}

// NotesIn returns the notes in a state folder. If the file cannot be read, the notes are empty.
func NotesIn(dir string) (n Notes) {
	text, _ := statedir.ReadFile(notesPath(dir))
	json.Unmarshal(text, &n) //nolint: see above
	return n
}

// Note notes what a tick found. The tick began in the given minute. An error means that the store
// was of no use to the tick; then the findings of the last tick stay.
func Note(dir string, minute time.Time, found []Finding, err error) {
	before := NotesIn(dir)
	after := Notes{Findings: found}
	if err != nil {
		after = Notes{before.Findings, &Outage{Since: minute.UTC(), Why: err.Error()}}
		if before.Outage != nil {
			after.Outage.Since = before.Outage.Since
		}
	}
	if text := encode(after); !bytes.Equal(text, encode(before)) {
		statedir.Replace(notesPath(dir), append(text, '\n')) //nolint: ticks say it, too
	}
}

func notesPath(dir string) string { return filepath.Join(dir, "store.json") }
