package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestZoneDataAreOldAfterAYearAndAHalf(t *testing.T) {
	for _, test := range []struct {
		now  string
		old  bool
		what string
	}{
		{"2025-04-01", false, "new"}, {"2026-06-30", false, "perhaps of December"}, {"2026-07-01", true, "not of this year"},
	} {
		if now, _ := time.Parse(time.DateOnly, test.now); zoneDataAreOld(2025, now) != test.old {
			t.Errorf("on %s zone data of 2025 are %s: old is %t", test.now, test.what, !test.old)
		}
	}
}

func TestZonesThatCommandsDoNotKnow(t *testing.T) {
	const noZone = "tasks: [{name: a, every: day, command: date}]"
	for _, test := range []struct {
		says, yaml, machine, version string
		want                         string // empty for nothing
	}{
		{"the zone has its file", noZone, "Europe/Berlin", "2026a", ""},
		{"UTC needs none", noZone, "UTC", "2026a", ""},
		{"the machine has none of its own zone", noZone, "Asia/Tokyo", "2026a",
			"no zone data for Asia/Tokyo (the machine)"},
		{"a command is told of a misspelt one",
			"tasks: [{name: a, every: day, command: date, env: {TZ: Europe/Berln}}]", "UTC", "2026a",
			"no zone data for Europe/Berln (a)"},
		{"a command is told the rule itself",
			"tasks: [{name: a, every: day, command: date, env: {TZ: CET-1CEST}}]", "UTC", "2026a", ""},
		{"a task that is off", "tasks: [{name: a, every: day, command: date, env: {TZ: Mars/X}, enabled: false}]",
			"UTC", "2026a", ""},
		{"a machine that nobody has brought up to date", noZone, "UTC", "2021a",
			"are of 2021a: clock changes that were decided since"},
		{"a machine that does not tell", noZone, "UTC", "", ""},
		{"a zone without a name", noZone, "Local", "2026a",
			"the name of the machine's time zone is not known (TZ is Nowhere)"},
		{"a zone that TZ names wrongly", noZone, "wrong TZ", "2026a", "TZ is Nowhere, which names no time zone: times are in UTC"},
		{"a schedule that names its own", "{timezone: UTC, tasks: []}", "Local", "2026a", ""},
	} {
		folder, before := t.TempDir(), zoneFolder
		zoneFolder = folder
		if err := os.MkdirAll(filepath.Join(folder, "Europe/Berlin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if test.version != "" {
			if err := os.WriteFile(filepath.Join(folder, "tzdata.zi"), []byte("# version "+test.version+"\nR A 1\n"),
				0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := subjectIn(t, test.yaml)
		s.Now, s.Zone = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), test.machine
		switch test.machine {
		case "Local":
			s.Environ = append(s.Environ, "TZ=Nowhere")
			if !strings.Contains(test.yaml, "timezone") {
				s.Schedule.Location = time.FixedZone("Local", 0) // as time.Local is, unless the tests have a TZ
			}
		case "wrong TZ": // package time takes it for UTC
			s.Environ, s.Zone, s.Schedule.Location = append(s.Environ, "TZ=Nowhere"), "UTC", time.Local
		}
		found := checkZoneData(context.Background(), s)
		if len(found) != 1 || (found[0].Level == OK) != (test.want == "") ||
			!strings.Contains(found[0].Text, test.want) {
			t.Errorf("%s: %v", test.says, found)
		}
		zoneFolder = before
	}
}

func TestZonesThatNewerZoneDataMove(t *testing.T) {
	for _, test := range []struct {
		says, zone string
		offset     int
		want       string // empty for nothing
	}{
		{"data before the change", "America/Vancouver", -8 * 3600,
			"the clocks in America/Vancouver show UTC-07:00 at 2026-11-01 09:00 UTC, and UTC-08:00 by the zone data of " +
				"sched itself, " + ownZones() + ": from then on it moves pension"},
		{"data with it", "America/Vancouver", -7 * 3600, ""},
		{"an alias", "Canada/Central", -6 * 3600, "the clocks in Canada/Central show UTC-05:00"},
		{"a zone without a change", "Europe/Berlin", 3600, ""},
	} {
		s := subjectIn(t, "tasks: [{name: pension, every: day, command: date}, {name: off, every: day, command: date, enabled: false}]")
		for _, task := range s.Schedule.Tasks {
			task.When.Location = time.FixedZone(test.zone, test.offset)
		}
		before := zoneFolder
		zoneFolder = t.TempDir()
		found := movedZones(s, "2025b")
		zoneFolder = before
		if text := strings.Join(texts(found), "\n"); !strings.HasPrefix(text, test.want) || (text == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", test.says, text, test.want)
		}
	}
}

func texts(found findings) (all []string) {
	for _, f := range found {
		all = append(all, f.Text)
	}
	return all
}

func TestTheZoneChangesAreInZoneDataThatAreNewEnough(t *testing.T) {
	version, _ := zoneVersion()
	if version == "" {
		t.Skip("the machine does not tell which zone data it has")
	}
	if version > newestZones {
		t.Skipf("the zone data are of %s, which sched does not know yet", version)
	}
	compared := 0
	for _, change := range zoneChanges {
		for _, name := range strings.Fields(change.zones) {
			text, err := os.ReadFile(filepath.Join(zoneFolder, name))
			if err != nil {
				continue // Debian has old names in a package of their own
			}
			zone, err := time.LoadLocationFromTZData(name, text)
			if err != nil {
				t.Fatal(err)
			}
			compared++
			if isOld := version < change.release; change.isMissing(zone) != isOld {
				t.Errorf("%s lacks the change of %s: %t, and the zone data are of %s", name, change.release, !isOld, version)
			}
		}
	}
	if compared == 0 {
		t.Error("no zone was compared")
	}
}
