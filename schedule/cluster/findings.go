package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/mutex"
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

// findingsOf returns what is wrong with the servers, at the time now of the store.
func findingsOf(self Server, servers map[string]Server, now time.Time) (findings []Finding) {
	affected := affectedBy(self, servers, now)
	// add adds a finding, unless it affects nobody. The names of the affected come first in the
	// text.
	add := func(kind, hint, format string, more ...any) {
		names := slices.Compact(slices.Sorted(slices.Values(affected[kind])))
		if len(names) == 0 {
			return
		}
		names = names[:min(10, len(names))] // others may have written thousands
		text := fmt.Sprintf(format, append([]any{strings.Join(names, ", ")}, more...)...)
		findings = append(findings, Finding{kind, text, hint})
	}
	add(KindName, "name each with `server:` or $SCHED_SERVER", "another machine ticks under the name %s, too")
	add(KindEnvironment, "give each environment a `name` or a store of its own",
		"servers of this schedule tick in another environment: %s (%s is in %s)", self.Name, self.Environment)
	add(KindZone, "write `timezone:` into the schedule: "+
		"without it each server takes its own, and a task runs once in each zone",
		"servers of this schedule are in another time zone: %s (%s is in %s)", self.Name, self.Zone)
	add(KindSilent, "", "nothing was heard for three minutes or more of %s, where tasks were running")
	return findings
}

// affectedBy returns, for each kind of finding, the words that stand in its text: names of servers,
// environments or zones.
func affectedBy(self Server, servers map[string]Server, now time.Time) map[string][]string {
	before, ticked := servers[self.tableKey()]
	differs := func(theirs, ours string) bool { return theirs != "" && ours != "" && theirs != ours }
	affected := map[string][]string{}
	for key, s := range servers {
		silent := now.Sub(s.Seen) >= QuietAfter
		switch {
		case key == self.tableKey(): // this server
		case s.Name == self.Name && s.Machine != self.Machine:
			// A machine that was set up anew finds its own past. A machine that ticked later is
			// another one. A server that does not know its machine says nothing about this.
			if differs(s.Machine, self.Machine) && !silent && ticked && s.Seen.After(before.Seen) {
				affected[KindName] = []string{self.Name}
			}
		case silent && s.Name != self.Name && len(s.Running)+s.More > 0:
			affected[KindSilent] = append(affected[KindSilent], s.Name)
		case !silent:
			if differs(s.Environment, self.Environment) {
				affected[KindEnvironment] = append(affected[KindEnvironment], s.Environment)
			}
			if differs(s.Zone, self.Zone) {
				affected[KindZone] = append(affected[KindZone], s.Zone)
			}
		}
	}
	return affected
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

// Notes are what the last tick of this machine found out about the store and its servers.
type Notes struct {
	Findings []Finding `json:"findings,omitempty"`
	Outage   *Outage   `json:"outage,omitempty"` // nil: the store answered
}

// An Outage is what ticks of this machine found: the store does not answer, or grants nothing.
type Outage struct {
	Since time.Time `json:"since"` // the first tick that found it; zero if none has yet
	Noted time.Time `json:"noted"` // when the end of a tick noted it last
	Why   string    `json:"why"`

	Silent bool   `json:"silent,omitempty"` // the store did not answer; else it answered, and could not be used
	Store  string `json:"store,omitempty"`  // which store the ticks asked: see storeID
	Digest string `json:"digest,omitempty"` // of the text of the schedule
}

// IsOver reports whether the outage is over, for a store that answers and has these servers. Either
// a tick of the server could use the store since the outage was noted, or the store is the one that
// did not answer the ticks. That another store answers does not suffice: the ticks may have another
// URL. Nor does it suffice if the store had answered: the ticks may not write.
func (o *Outage) IsOver(servers []Server, name string, s *schedule.Schedule) bool {
	return o.Silent && o.Store == storeID(s) || slices.ContainsFunc(servers, func(server Server) bool {
		return server.Name == name && server.File == s.File && clock.Now().Add(-server.Age).After(o.Noted)
	})
}

// OfOld reports whether the outage is of a store that the schedule named before its text was
// changed, and names no more.
func (o *Outage) OfOld(s *schedule.Schedule) bool {
	return o.Store != "" && o.Store != storeID(s) && o.Digest != s.Digest
}

// storeID tells apart the stores that a schedule may name. Nobody can read a password in it.
func storeID(s *schedule.Schedule) string {
	hash := sha256.Sum256([]byte(strings.Join(s.Store.Servers, "\x00")))
	return hex.EncodeToString(hash[:4])
}

// NotesIn returns the notes in a state folder. If the file cannot be read, the notes are empty.
func NotesIn(dir string) (n Notes) {
	text, _ := statedir.ReadFile(notesPath(dir))
	_ = json.Unmarshal(text, &n)
	return n
}

// Note notes what a tick of the schedule found. The tick began in the given minute. An error means
// that the store was of no use to the tick; then the findings of the last tick stay.
func Note(dir string, minute time.Time, s *schedule.Schedule, findings []Finding, err error) {
	before := NotesIn(dir)
	after := Notes{Findings: findings}
	if err != nil {
		after = Notes{before.Findings, &Outage{
			Since: minute.UTC(), Noted: clock.Now().UTC(), Why: err.Error(), Store: storeID(s), Digest: s.Digest,
		}}
		if refusal, ok := errors.AsType[*mutex.StoreError](err); ok {
			after.Outage.Silent = refusal.Silent
		}
		if before.Outage != nil && before.Outage.Store == after.Outage.Store {
			after.Outage.Since = before.Outage.Since
		}
	}
	if text := encode(after); !bytes.Equal(text, encode(before)) {
		_ = statedir.Replace(notesPath(dir), append(text, '\n')) // the tick prints what it found, too
	}
}

func notesPath(dir string) string { return filepath.Join(dir, "store.json") }
