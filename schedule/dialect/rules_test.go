package dialect_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sched/schedule/cron"
	"sched/schedule/dialect"
)

// Each fact is one that people guess wrong; the first two are next times, in the zone.
func TestFactsOfDialects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, expr, zone, from, want string }{
		{"vixie", "*-5 * * * *", "UTC", "2026-11-28 00:00", "11-28 00:01, 11-28 00:02"},
		{"vixie", "5/15 * * * *", "UTC", "2026-11-28 00:00", "refused: a step needs a range or *, as in 5-59/15"},
		{"cronie", "5-1 * * * *", "UTC", "2026-11-28 00:00", "refused: minute 5-1 runs backwards"},
		{"busybox", "0 0 */2 * *", "UTC", "2026-11-28 00:00", "11-30 00:00, 12-02 00:00"},
		{"busybox", "0 0 * * 7", "UTC", "2026-11-28 00:00", "refused: weekday 7 is not in 0-6"},
		{"robfig", "0 0 * * 7", "UTC", "2026-11-28 00:00", "refused: weekday 7 is not in 0-6"},
		{"robfig", "0 0 29 2 1", "UTC", "2026-11-28 00:00", "02-01 00:00, 02-08 00:00"},
		{"supercronic", "0 9 1 1 * 2029", "UTC", "2026-11-28 00:00", "01-01 09:00, never"},
		{"github-actions", "@daily", "UTC", "2026-11-28 00:00", "refused: it knows no macros such as @daily"},
		{"spring", "0 0 0 13 * FRI", "UTC", "2026-11-28 00:00", "08-13 00:00, 10-13 00:00"},
		{"spring", "0 0 0 * * 1", "UTC", "2026-11-28 00:00", "11-30 00:00, 12-07 00:00"},
		{"quartz", "0 0 0 1 * 1", "UTC", "2026-11-28 00:00", "refused: one of day and weekday must be ?, and the other not"},
		{"quartz", "0 0 22-2 * * ?", "UTC", "2026-11-28 00:00", "11-28 01:00, 11-28 02:00"},
		{"quartz", "0 */90 * * * ?", "UTC", "2026-11-28 00:00", "refused: minute: a step of 90 is not in 1-59"},
		{"eventbridge", "cron(0 9 ? * 1 *)", "UTC", "2026-11-28 00:00", "11-29 09:00, 12-06 09:00"},
		{"eventbridge", "rate(90 minutes)", "UTC", "2026-11-28 00:00", "11-28 01:30, 11-28 03:00"},
		{"eventbridge", "0 9 * * ? *", "UTC", "2026-11-28 00:00", "refused: it must be cron(…), rate(…) or at(…)"},
		{"jenkins", "0 0 13 * 5", "UTC", "2026-11-28 00:00", "08-13 00:00, 10-13 00:00"},
		{"jenkins", "H H(2-4) * * *", "UTC", "2026-11-28 00:00", "11-28 02:00, 11-29 02:00"},
		{"laravel", "*/90 * * * *", "UTC", "2026-11-28 00:00", "11-28 00:30, 11-28 01:30"},
		{"croner", "*/90 * * * *", "UTC", "2026-11-28 00:00", "refused: minute: a step of 90 is not in 1-60"},
		{"node-cron", "0 0 13 * 5", "UTC", "2026-11-28 00:00", "08-13 00:00, 10-13 00:00"},
		{"apscheduler", "0 0 * * 0", "UTC", "2026-11-28 00:00", "11-30 00:00, 12-07 00:00"},
		{"pg_cron", "0 0 * * 1 2027", "UTC", "2026-11-28 00:00", "11-30 00:00, 12-07 00:00"},
		{"fugit", "0 9 * * * Asia/Tokyo", "UTC", "2026-11-28 00:00", "11-29 09:00, 11-30 09:00"},
		{"systemd", "Mon *-*-* 10:00", "UTC", "2026-11-28 00:00", "11-30 10:00, 12-07 10:00"},
		{"sched", "0 0 13 * +5", "UTC", "2026-11-28 00:00", "08-13 00:00, 10-13 00:00"},
		// gaps
		{"quartz", "0 30 2 * * ?", "Europe/Berlin", "2027-03-27 12:00", "03-29 02:30, 03-30 02:30"},
		{"sched", "30 2 * * *", "Europe/Berlin", "2027-03-27 12:00", "03-28 03:00, 03-29 02:30"},
		{"sched", "*/30 2 * * *", "Europe/Berlin", "2027-03-27 12:00", "03-29 02:00, 03-29 02:30"},
		{"supercronic", "30 2 * * *", "America/New_York", "2027-03-13 12:00", "03-14 01:30, 03-15 02:30"},
		{"robfig", "25 6 * * *", "Australia/Lord_Howe", "2027-04-03 12:00", "04-05 06:25, 04-06 06:25"},
		{"vixie", "30 0 * * *", "Africa/Cairo", "2027-04-29 12:00", "04-30 01:00, 05-01 00:30"},
		{"robfig", "0 12 5 9 *", "America/Santiago", "2027-08-01 00:00", "09-05 12:00, 09-05 12:00"},
		{"vixie", "15 2 3 10 *", "Australia/Lord_Howe", "2027-08-01 00:00", "10-03 02:30, 10-03 02:15"},
		// overlaps
		{"vixie", "30 2 * * *", "Europe/Berlin", "2027-10-30 12:00", "10-31 02:30, 11-01 02:30"},
		{"robfig", "30 2 * * *", "Europe/Berlin", "2027-10-30 12:00", "10-31 02:30, 10-31 02:30"},
		{"node-cron", "*/30 1-3 * * *", "Europe/Berlin", "2027-10-31 01:15", "10-31 01:30, 10-31 02:00"},
		// leap days
		{"vixie", "0 0 29 2 *", "UTC", "2026-11-28 00:00", "02-29 00:00, 02-29 00:00"},
		{"vixie", "0 0 30 2 *", "UTC", "2026-11-28 00:00", "never"},
		{"quartz", "0 0 0 LW 2 ?", "UTC", "2026-11-28 00:00", "02-26 00:00, 02-29 00:00"},
	} {
		if got := nextOf(t, c.name, c.expr, c.zone, c.from, 2); got != c.want {
			t.Errorf("%s, %q in %s: %s, not %s", c.name, c.expr, c.zone, got, c.want)
		}
	}
}

// The dialect sched is what schedule/cron does.
func TestSchedIsPackageCron(t *testing.T) {
	t.Parallel()
	d, _ := dialect.Find("sched")
	random := rand.New(rand.NewPCG(61, 1))
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	for range 300 {
		expr := strings.Join([]string{
			pick("*", "0", "30", "*/15", "5/20", "1-50/7", "0-59", "*/7,3"), pick("*", "2", "1-3", "*/2", "0,12", "2/5"),
			pick("*", "?", "*/2", "1-7", "29", "31", "L", "LW", "L-3", "15W", "1,15", "*/2,6"), pick("*", "*", "2", "3-10", "JAN", "*/3"),
			pick("*", "?", "1", "5-7", "MON-FRI", "FRI-SUN", "FRIL", "TUE#2", "+5", "*/2", "0"),
		}, " ")
		c, err := cron.Parse(expr, "")
		for _, name := range []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago"} {
			zone, zoneErr := time.LoadLocation(name)
			if zoneErr != nil {
				t.Fatal(zoneErr)
			}
			r, ourErr := d.Parse(expr, zone)
			if (err == nil) != (ourErr == nil) {
				t.Fatalf("%q: %v, and package cron %v", expr, ourErr, err)
			}
			if err != nil {
				break
			}
			at := time.Date(2026, time.Month(1+random.IntN(12)), 1+random.IntN(28), random.IntN(24), random.IntN(60), 0, 0, zone)
			for range 40 {
				got, ok := r.Next(at)
				want, wantOK := cron.When{Crons: []cron.Expression{c}, Location: zone}.Next(at)
				if ok != wantOK || ok && !got.Equal(want) {
					t.Fatalf("%q in %s after %s: %s, and package cron %s", expr, name, at, got, want)
				}
				if !ok {
					break
				}
				at = got
			}
		}
	}
}

// Differ finds what a comparison instant by instant finds.
func TestDifferIsTheFirstDifference(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2027, 3, 1, 0, 0, 0, 0, zone)
	until := from.AddDate(0, 9, 0)
	for _, expr := range []string{"0 0 */2 * 1", "30 2 * * *", "*/30 2 * * *", "0 12 * * *", "0 0 13 * 5", "15 1-3 * * 0"} {
		var readings []*dialect.Reading
		for _, d := range dialect.All() {
			if r, err := d.Parse(expr, zone); err == nil {
				readings = append(readings, r)
			}
		}
		for i, a := range readings {
			for _, b := range readings[i+1:] {
				var want time.Time
				x, y := from.Add(-1), from.Add(-1)
				for want.IsZero() {
					nextX, okX := a.Next(x)
					nextY, okY := b.Next(y)
					switch {
					case (!okX || !nextX.Before(until)) && (!okY || !nextY.Before(until)):
						want = until
					case okX && okY && nextX.Equal(nextY):
						x, y = nextX, nextY
					case okX && (!okY || nextX.Before(nextY)):
						want = nextX
					default:
						want = nextY
					}
				}
				got := dialect.Differ(a, b, from, until).First
				if got.IsZero() {
					got = until
				}
				if !got.Equal(want) {
					t.Errorf("%q: %s, not %s", expr, got, want)
				}
			}
		}
	}
}

// A line means the same as its reading, in UTC, where no clock changes.
func TestLinesMeanTheSame(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, expr := range []string{
		"0 0 */2 * 1", "0 0 */2,6 * 5", "*/90 * * * *", "5/15 * * * *", "0 0 12 ? * 6L", "0 0 12 ? * 2#1", "0 0 12 LW * ?",
		"0 0 22-2 * * ?", "0 30 9 1 6 *", "0 0 * * 5-7", "0 0 L * *", "@weekly", "* * * * *", "0 9 15W * *", "10-50/20 * * * *",
	} {
		for _, d := range dialect.All() {
			r, err := d.Parse(expr, time.UTC)
			if err != nil {
				continue
			}
			line, err := r.Line()
			if err != nil && err.Error() == "it is never due" {
				continue
			}
			if err != nil {
				t.Errorf("%s, %q: %v", d.Name, expr, err)
				continue
			}
			if line.Notes != nil {
				continue // they say what differs
			}
			mine, err := dialect.ReadLine(line, time.UTC)
			if err != nil {
				t.Errorf("%s, %q: %s: %v", d.Name, expr, line, err)
				continue
			}
			if found := dialect.Differ(r, mine, from, from.AddDate(28, 0, 0)); !found.First.IsZero() {
				t.Errorf("%s, %q: %s differs on %s", d.Name, expr, line, found.First)
			}
		}
	}
}

func TestHStaysH(t *testing.T) {
	t.Parallel()
	d, _ := dialect.Find("jenkins")
	r, err := d.Parse("@midnight", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := r.Line(); err != nil || line.String() != `cron: "H H(0-2) * * *"` {
		t.Errorf("%s, %v", line, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, expr := range []string{
		"0 0 */2 * 1", "0 0 12 ? * 6L 2027", "@every 90m", "CRON_TZ=Europe/Berlin 0 9 * * MON-FRI", "cron(0 9 ? * 2 *)",
		"rate(5 minutes)", "H H(2-4) * * *", "0 0 -1 * 1#-1", "Mon *-*-* 10:00", "*/90,5-1 1/2 L-3W JAN-DEC/3 5#2,7L",
		"0 0 * * 1/9223372036854775807",
	} {
		f.Add(expr)
	}
	zones := []*time.Location{time.UTC}
	for _, name := range []string{"Australia/Lord_Howe", "America/Santiago"} {
		if zone, err := time.LoadLocation(name); err == nil {
			zones = append(zones, zone)
		}
	}
	at := time.Date(2027, 3, 27, 23, 59, 59, 0, time.UTC)
	f.Fuzz(func(t *testing.T, expr string) {
		for _, d := range dialect.All() {
			for _, zone := range zones {
				r, err := d.Parse(expr, zone)
				if err != nil {
					continue
				}
				if next, ok := r.Next(at); ok && !next.After(at) {
					t.Errorf("%s, %q after %s: %s", d.Name, expr, at, next)
				}
				if line, err := r.Line(); err == nil && line.Cron != "" {
					if _, err := cron.Parse(line.Cron, ""); err != nil {
						t.Errorf("%s, %q: %s: %v", d.Name, expr, line, err)
					}
				}
				_ = dialect.Words(r)
			}
		}
	})
}

func TestWhatIsPrintedHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{"@a\x1b[2Jb", "0 0 * *\n*", "Mon\u009b *-*-*", "0 0 * * \x9b", "0 0 * * \u202e1"} {
		for _, d := range dialect.All() {
			if _, err := d.Parse(expr, nil); err == nil || err.Error() != "it has control characters" {
				t.Errorf("%s, %q: %v", d.Name, expr, err)
			}
		}
	}
	long := strings.Repeat(" ", 2000)
	for _, d := range dialect.All() {
		if _, err := d.Parse("@"+long+"1", nil); err == nil || err.Error() != "it is too long" {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
	if got := nextOf(t, "vixie", " 0\t0 * * *\n", "UTC", "2026-11-28 00:00", 1); got != "11-29 00:00" {
		t.Error(got)
	}
}

func TestDifferSaysHowFarItLooked(t *testing.T) {
	t.Parallel()
	read := func(name, expr string, zone *time.Location) *dialect.Reading {
		d, _ := dialect.Find(name)
		r, err := d.Parse(expr, zone)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	until := from.AddDate(1, 0, 0)
	found := dialect.Differ(read("vixie", "* * * * *", zone), read("systemd", "*:*", zone), from, until)
	if want := from.Add(100_000 * time.Minute); found.Same() || !found.First.IsZero() || !found.GaveUp.Equal(want) {
		t.Errorf("%+v, and it must have given up at %s", found, want)
	}
	every := read("systemd", "0:0", zone)
	if found = dialect.CountDays(every, read("vixie", "0 0 * * *", zone), from, until); !found.Same() {
		t.Errorf("midnight differs: %+v", found)
	}
	// In zones of whole hours, one hour says what each minute of years is.
	if found = dialect.Differ(read("vixie", "*/5 * * * *", zone), read("pg_cron", "*/5 * * * *", zone), from, until); !found.Same() {
		t.Errorf("each five minutes differ in UTC: %+v", found)
	}
	lordHowe, err := time.LoadLocation("Australia/Lord_Howe")
	if err != nil {
		t.Fatal(err)
	}
	if found = dialect.Differ(read("vixie", "5 * * * *", lordHowe), read("pg_cron", "5 * * * *", nil), from, until); found.First.IsZero() {
		t.Error("half an hour makes no difference")
	}
}

func TestRefusalsAndWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, expr, words, line string }{
		{"jenkins", "H(10-5) * * * *", "refused: minute H(10-5) runs backwards", ""},
		{"jenkins", "H(0-70) * * * *", "refused: minute 70 is not in 0-59", ""},
		{"jenkins", "H/61 * * * *", "refused: minute H/61: the step is not in 1-60", ""},
		{"jenkins", "h * * * *", `refused: minute "h" is not known`, ""},
		{"jenkins", "H/1 * * * *", "minute 0 every day", `cron: "H/1 * * * *"`},
		{"eventbridge", "cron(@every 5m)", "refused: it knows no macros such as @every 5m", ""},
		{"eventbridge", "rate(5 minutes foo)", `refused: "5 minutes foo" is no rate`, ""},
		{"eventbridge", "cron(0 9 ? * 2 2027-2150)", "at 09:00 on MON of 2027-2150", `cron: "0 9 * * MON", timezone: UTC, from: 2027-01-01, until: 2151-01-01`},
		{"eventbridge", "cron(0 9 ? * 2 2027,2029,2030,2033)", "at 09:00 on MON of 2027,2029-2030,2033", "its years are not in a row"},
		{"eventbridge", "cron(0 9 ? * 2 *)", "at 09:00 on MON", `cron: "0 9 * * MON", timezone: UTC`},
		{"robfig", "@every 100000h", "every 100000 hours from the start of the program on", "sched has no span of 100000h0m0s: it is longer than a year"},
		{"robfig", "@every 90s", "every 90 seconds from the start of the program on", "sched has no span of 1m30s: only minutes, and parts of one such as 20 seconds"},
		{"vixie", "*/0 * * * *", "refused: minute: a step of 0 is no step", ""},
		{"mcron", "0 22-2 * * *", "never: no hour is left", "it is never due"},
	} {
		d, _ := dialect.Find(c.name)
		words, line := "", ""
		if r, err := d.Parse(c.expr, nil); err != nil {
			words = "refused: " + err.Error()
		} else {
			l, err := r.Line()
			words, line = dialect.Words(r), strings.Replace(l.String(), `, timezone: UTC"`, `"`, 1)
			if err != nil {
				line = err.Error()
			}
		}
		if words != c.words || line != c.line {
			t.Errorf("%s, %q: %s: %s", c.name, c.expr, words, line)
		}
	}
	d, _ := dialect.Find("jenkins")
	r, err := d.Parse("0 0 H * H", nil)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := r.Line(); err != nil || len(l.Notes) != 1 {
		t.Errorf("a line with the first numbers of H has no note: %s, %v", l, err)
	}
}
