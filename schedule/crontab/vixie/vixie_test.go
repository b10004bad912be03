package vixie

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// due returns the wall times of the zone at which a line starts between two instants.
func due(t *testing.T, line, zone, from, to string) (walls string) {
	t.Helper()
	in, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	times, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	begin, _ := time.Parse("2006-01-02 15:04", from)
	end, _ := time.Parse("2006-01-02 15:04", to)
	calendar := NewCalendar(in, begin, end)
	for _, minute := range times.Due(calendar, begin.Unix()/60, end.Unix()/60, nil) {
		walls += time.Unix(minute*60, 0).In(in).Format("Mon 02 15:04 MST") + "\n"
	}
	return walls
}

// The rows are cron(8)'s rules for changes of the clocks: jobs with a fixed time run once, others
// follow the wall clock.
func TestClockChanges(t *testing.T) {
	for _, row := range []struct{ what, line, zone, from, to, want string }{
		{"in a gap, right after it", "30 2 * * *", "Europe/Berlin", "2026-03-29 00:00",
			"2026-03-29 03:00", "Sun 29 03:00 CEST\n"},
		{"several times in a gap count once", "0,30 2 * * *", "Europe/Berlin", "2026-03-29 00:00",
			"2026-03-29 03:00", "Sun 29 03:00 CEST\n"},
		{"in a gap, with a star", "*/30 2 * * *", "Europe/Berlin", "2026-03-29 00:00", "2026-03-29 03:00", ""},
		{"in an hour that comes twice, once", "30 2 * * *", "Europe/Berlin", "2026-10-25 00:00",
			"2026-10-25 03:00", "Sun 25 02:30 CEST\n"},
		{"in an hour that comes twice, with a star", "30 * * * *", "Europe/Berlin", "2026-10-25 00:00",
			"2026-10-25 02:00", "Sun 25 02:30 CEST\nSun 25 02:30 CET\n"},
		{"half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03 15:00",
			"2026-10-03 17:00", "Sun 04 02:30 +11\n"},
		{"a whole day: cron goes on from the new time", "0 9 * * *", "Pacific/Apia", "2011-12-29 18:00",
			"2011-12-31 00:00", "Thu 29 09:00 -10\nSat 31 09:00 +14\n"},
		{"the span begins in an hour that comes twice", "30 2 * * *", "Europe/Berlin", "2026-10-25 01:15",
			"2026-10-25 03:00", ""},
	} {
		if got := due(t, row.line, row.zone, row.from, row.to); got != row.want {
			t.Errorf("%s:\n%swant\n%s", row.what, got, row.want)
		}
	}
}

func TestDays(t *testing.T) {
	for _, row := range []struct{ line, from, to, want string }{
		{"0 0 1,15 * 5", "2026-05-01 00:00", "2026-05-16 00:00",
			"Fri 01 00:00 UTC\nFri 08 00:00 UTC\nFri 15 00:00 UTC\n"},
		{"0 0 */14 * 5", "2026-05-01 00:00", "2026-05-31 00:00",
			"Fri 01 00:00 UTC\nFri 15 00:00 UTC\nFri 29 00:00 UTC\n"},
		{"0 0 * * SUN", "2026-05-01 00:00", "2026-05-08 00:00", "Sun 03 00:00 UTC\n"},
		{"0 0 * * 7", "2026-05-01 00:00", "2026-05-08 00:00", "Sun 03 00:00 UTC\n"},
		{"@weekly", "2026-05-01 00:00", "2026-05-08 00:00", "Sun 03 00:00 UTC\n"},
		{"0 0 29 feb *", "2026-01-01 00:00", "2029-01-01 00:00", "Tue 29 00:00 UTC\n"},
		{"@yearly", "2026-01-01 00:00", "2026-12-31 00:00", "Thu 01 00:00 UTC\n"},
	} {
		if got := due(t, row.line, "UTC", row.from, row.to); got != row.want {
			t.Errorf("%s:\n%swant\n%s", row.line, got, row.want)
		}
	}
}

// Parse refuses the lines that Debian's crontab(1) refuses, and takes the other lines below.
func TestParse(t *testing.T) {
	for _, line := range []string{
		"60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * * 8", "5/15 * * * *",
		"*/0 * * * *", "? * * * *",
		"* * L * *", "* * * * 5L", "H * * * *", "~ * * * *", "1, * * * *", ",1 * * * *", "1- * * * *", "* * * * monday",
		"* * * *", "* * * * * *", "",
		"@reboot", "@Daily", "+5 * * * *", "*/+5 * * * *", "5-+7 * * * *",
	} {
		if times, err := Parse(line); err == nil {
			t.Errorf("%q is %s", line, times)
		}
	}
	for line, want := range map[string]string{
		"*/90 * * * *": "0 * * * *", "5-1 * * * *": " * * * *", "* * * JAN-mar Sun-tue": "* * * 1-3 0-2",
		"0-59 0-23 1-31 1-12 0-7": "* * * * *",
		"1-9/4,30,31 * * * 5-7":   "1,5,9,30,31 * * * 0,5,6", "@hourly": "0 * * * *", "* * * * 6-0": "* * * * ",
	} {
		times, err := Parse(line)
		if err != nil || times.String() != want {
			t.Errorf("%q is %q (%v), want %q", line, times, err, want)
		}
	}
}

// Cron leaves out what it does not know at the end of a field.
func TestParseStart(t *testing.T) {
	for line, want := range map[string]string{
		"*-5 */2-5 *5 * *x":    "* */2 * * *",
		"5; 1-5-7 2, 3) 4":     "",
		"5; 1-5-7 2.5 3) 4":    "5 1-5 2 3 4",
		"5~10 4 * * 2#1":       "5 4 * * 2",
		"1-9/4/2 * * jan- sun": "",
		"1-9/4/2 * * jan. sun": "1-9/4 * * jan sun",
		"5 4 * * 1-5":          "",
	} {
		_, read, err := ParseStart(line)
		_, whole := Parse(line)
		isRefused := err != nil
		if read != want || !isRefused && (whole != nil) != (want != "") {
			t.Errorf("%q is read as %q (%v, %v), not %q", line, read, err, whole, want)
		}
	}
}

// The crontab(1) of Debian 12 refuses just the lines that ParseStart refuses. Another version may
// read other lines.
func TestDebianRefusesTheSameLines(t *testing.T) {
	version, _ := exec.Command("dpkg-query", "-W", "-f", "${Version}", "cron").Output()
	if string(version) != "3.0pl1-162" {
		t.Skip("this machine does not have the cron of Debian 12")
	}
	const letters = "0011223459**--//,,;#~?LWjanfeb"
	random := rand.New(rand.NewPCG(61, 1))
	file := filepath.Join(t.TempDir(), "crontab")
	for range 200 {
		words := []string{"*", "*", "*", "*", "*"}
		word := []byte{}
		for range 1 + random.IntN(6) {
			word = append(word, letters[random.IntN(len(letters))])
		}
		words[random.IntN(len(words))] = string(word)
		line := strings.Join(words, " ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if err := os.WriteFile(file, []byte(line+" true\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, refusal := ParseStart(line)
		if output, err := exec.Command("crontab", "-n", file).CombinedOutput(); (err == nil) != (refusal == nil) {
			t.Errorf("%q: %v, and crontab says %s", line, refusal, output)
		}
	}
}

func TestNever(t *testing.T) {
	for line, never := range map[string]bool{"0 0 31 2 *": true, "0 0 29 2 *": false, "0 0 30 2 1": false,
		"0 0 30 2 */7": true, "5-1 * * * *": true, "* * * * 6-0": true} {
		if times, err := Parse(line); err != nil || times.Never() != never {
			t.Errorf("%q: never %t", line, !never)
		}
	}
}
