package doctor

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/preflight"
	"sched/schedule/process"
)

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
	found = append(found, movedZones(s, version)...)
	found = append(found, namelessZone(s)...)
	if version == "" {
		return found.orFine("their version is not known on this system")
	}
	return found.orFine("%s", zoneVersions(version))
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

// newestZones is the release of tzdata from which zoneChanges is taken.
const newestZones = "2026f"

// ownZones says which zone data this program has itself: the ones of the Go that built it.
func ownZones() string { return "as in " + strings.Replace(runtime.Version(), "go", "Go ", 1) }

// A zoneChange is a change of the clocks that a release of tzdata brought: from at on the zones
// have the offset, in seconds, and data before that release have another one.
type zoneChange struct {
	release string
	zones   string // their names, with blanks between them
	at      string // the first instant at which data without the change differ
	offset  int
}

var zoneChanges = []zoneChange{
	{"2022e", "Asia/Amman Asia/Damascus", "2022-10-28T00:00:00Z", 3 * 3600},
	{"2022f", "America/Mexico_City America/Merida America/Monterrey Mexico/General", "2023-04-02T08:00:00Z", -6 * 3600},
	{"2022f", "America/Mazatlan Mexico/BajaSur", "2023-04-02T09:00:00Z", -7 * 3600},
	{"2023a", "Africa/Cairo Egypt", "2023-04-27T22:00:00Z", 3 * 3600},
	{"2024a", "Asia/Almaty Asia/Qostanay", "2024-02-29T19:00:00Z", 5 * 3600},
	{"2025a", "America/Asuncion", "2025-03-23T03:00:00Z", -3 * 3600},
	{"2025b", "America/Coyhaique", "2025-04-06T03:00:00Z", -3 * 3600},
	{"2026a", "Europe/Chisinau Europe/Tiraspol", "2025-03-30T00:00:00Z", 2 * 3600},
	{"2026b", "America/Vancouver Canada/Pacific", "2026-11-01T09:00:00Z", -7 * 3600},
	{"2026c", "America/Edmonton Canada/Mountain", "2026-11-01T08:00:00Z", -6 * 3600},
	{"2026c", "Africa/Casablanca Africa/El_Aaiun", "2026-09-20T01:00:00Z", 0},
	{"2026d", "America/Inuvik America/Yellowknife", "2026-11-01T08:00:00Z", -6 * 3600},
	{"2026e", "America/Winnipeg America/Rainy_River Canada/Central", "2026-11-01T07:00:00Z", -5 * 3600},
	{"2026f", "America/Havana Cuba", "2026-11-01T05:00:00Z", -4 * 3600},
}

// start returns the instant of at.
func (c zoneChange) start() time.Time {
	at, _ := time.Parse(time.RFC3339, c.at)
	return at
}

// isMissing reports whether the change is one of the zone, and the zone does not have it.
func (c zoneChange) isMissing(zone *time.Location) bool {
	_, offset := c.start().In(zone).Zone()
	return slices.Contains(strings.Fields(c.zones), zone.String()) && offset != c.offset
}

// movedZones names each zone of the active tasks that newer zone data would move, with the tasks.
func movedZones(s *Subject, version string) (found findings) {
	for _, change := range zoneChanges {
		tasks, zones := map[string][]string{}, map[string]*time.Location{}
		for t := range s.Schedule.ActiveTasks() {
			if zone := t.When.Location; zone != nil && change.isMissing(zone) {
				zones[zone.String()], tasks[zone.String()] = zone, append(tasks[zone.String()], t.Name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(zones)) {
			zone := zones[name]
			_, here := change.start().In(zone).Zone()
			whose := "the machine, of " + version
			if _, err := os.Stat(filepath.Join(zoneFolder, name)); err != nil {
				whose = "sched itself, " + ownZones()
			} else if version == "" {
				whose = "the machine"
			}
			found.add(Warning, "install tzdata "+change.release+" or newer: sched reads the zones of the machine first",
				"the clocks in %s show UTC%s at %s, and UTC%s by the zone data of %s: from then on it moves %s",
				zone, offsetText(change.offset), humanize.MinuteZone(change.start(), time.UTC), offsetText(here), whose,
				humanize.Names(tasks[name], 3))
		}
	}
	return found
}

func offsetText(seconds int) string {
	return time.Unix(0, 0).In(time.FixedZone("", seconds)).Format("-07:00")
}

// zoneVersions says which releases there are, if the machine's version is known.
func zoneVersions(version string) string {
	text := "of " + version
	if version < newestZones {
		text += fmt.Sprintf("; %s, the newest that this sched knows, moves no zone of the schedule", newestZones)
	}
	return text + "; sched's own, for zones that the machine lacks, are " + ownZones()
}
