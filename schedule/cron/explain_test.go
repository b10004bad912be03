package cron

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// clockChanges are instants at which the clocks of one of bruteZones change, and some at which none
// does.
var clockChanges = []string{"2026-03-08 07:00", "2026-11-01 06:00", "2026-03-29 01:00",
	"2026-10-25 01:00", "2026-10-03 15:30",
	"2026-04-04 15:00", "2011-12-30 10:00", "2040-12-31 12:00", "2026-06-15 12:00", "2026-09-06 04:00"}

// randomWhen returns one or two expressions of a random zone, and a time that is often near a
// change.
func randomWhen(t *testing.T, random *rand.Rand) (When, time.Time) {
	var w When
	for len(w.Crons) == 0 || random.IntN(3) == 0 {
		if c, err := Parse(randomCron(random), "task"); err == nil { // else it can never be due
			w.Crons = append(w.Crons, c)
		}
	}
	w.Location = zone(t, bruteZones[random.IntN(len(bruteZones))])
	_, change := instant(t, "2026-01-01 00:00").AddDate(0, 0, random.IntN(300)).In(w.Location).ZoneBounds()
	if random.IntN(2) == 0 && !change.IsZero() { // a fixed time that was skipped or comes twice, or nearly so
		fixed := change.Add(-time.Second).Add(time.Duration(random.IntN(120)-60) * time.Minute)
		_, offset := change.Add(-time.Second).Zone()
		wall := fixed.UTC().Add(time.Duration(offset) * time.Second)
		w.Crons = append(w.Crons, mustParse(t, wall.Format("4 15 * * *")))
		return w, change.Add(time.Duration(random.IntN(3)*random.IntN(60)) * time.Minute)
	}
	return w, instant(t, clockChanges[random.IntN(len(clockChanges))]).Add(time.Duration(random.IntN(14400)-7200) * time.Second)
}

// Explain finds each expression due exactly when Slots does. Its fields match exactly when the
// fields of the brute force do (when_brute_test.go).
func TestExplainAgreesWithSlots(t *testing.T) {
	const seed = 20261121
	random := rand.New(rand.NewPCG(seed, seed))
	due, past, madeUp := 0, 0, 0
	for range 4000 {
		w, at := randomWhen(t, random)
		if random.IntN(2) == 0 { // a minute that is due: few of the others are
			if next, ok := w.Next(at); ok && next.Sub(at) < 48*time.Hour {
				at = next.Add(time.Duration(random.IntN(2)*random.IntN(180)) * time.Minute)
			}
		}
		e := w.Explain(at)
		if !sameTimes(e.Slots, w.Slots(at)) {
			t.Fatalf("%v in %s at %v: slots %v, want %v", w, w.Location, at, e.Slots, w.Slots(at))
		}
		anyDue := false
		for _, v := range e.Verdicts {
			anyDue = anyDue || v.Due
			if alone := (When{Crons: []Expression{v.Cron}, Location: w.Location}).Slots(at); v.Due != (len(alone) > 0) {
				t.Fatalf("%v in %s at %v: due %v, but its slots are %v", v.Cron, w.Location, at, v.Due, alone)
			}
			switch {
			case v.Due && len(v.Mismatches()) > 0:
				t.Fatalf("%v in %s at %v is due, though %v", v.Cron, w.Location, at, v.Mismatches())
			case !v.Due && !v.FirstPassOnly && len(v.Mismatches()) == 0:
				t.Fatalf("%v in %s at %v is not due, and no field says why", v.Cron, w.Location, at)
			case v.FirstPassOnly && (e.Pass != 2 || !v.Cron.fixed):
				t.Fatalf("%v in %s at %v: past, in pass %d", v.Cron, w.Location, at, e.Pass)
			case v.MadeUp && (!v.Due || e.Gap == nil):
				t.Fatalf("%v in %s at %v: made up, though not due or without a gap", v.Cron, w.Location, at)
			}
			checkFields(t, v)
			past, madeUp = past+count(v.FirstPassOnly), madeUp+count(v.MadeUp)
		}
		if anyDue != (len(e.Slots) > 0) {
			t.Fatalf("%v in %s at %v: due %v, but the slots are %v", w, w.Location, at, anyDue, e.Slots)
		}
		due += count(anyDue)
	}
	if due < 500 || past == 0 || madeUp == 0 {
		t.Errorf("too little was tried: %d due, %d past, %d made up", due, past, madeUp)
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// checkFields compares each field with the brute force.
func checkFields(t *testing.T, v Verdict) {
	t.Helper()
	words := strings.Fields(v.Cron.String())
	b := newBrute(strings.Join(words[len(words)-5:], " "))
	day, weekday := false, false
	for _, element := range strings.Split(b.days, ",") {
		day = day || bruteDay(element, v.Wall)
	}
	for _, element := range strings.Split(b.weekdays, ",") {
		weekday = weekday || bruteWeekday(element, v.Wall)
	}
	want := []bool{b.minutes[v.Wall.Minute()], b.hours[v.Wall.Hour()], day, b.months[int(v.Wall.Month())], weekday}
	for i, f := range v.Fields {
		if f.Matches != want[i] {
			t.Fatalf("%v at %v: %v, want %v", v.Cron, v.Wall, f, want[i])
		}
	}
}

func TestWhy(t *testing.T) {
	for _, tt := range []struct {
		cron, at string // of New York's clock
		want     string
	}{
		{"*/10 * * * *", "2026-01-05 00:05 EST", "minute 5 is not in */10"},
		{"*/10 * * * *", "2026-01-05 00:10 EST", "every field matches"},
		{"0 9 * * MON-FRI", "2026-01-03 09:00 EST", "Saturday is not in MON-FRI"},
		{"0 9 * * 1-5", "2026-01-03 09:30 EST", "minute 30 is not in 0; Saturday is not in 1-5, Monday to Friday"},
		{"@yearly", "2026-03-02 00:00 EST", "day 2 is not in 1; March is not in 1"},
		{"0 0 L * *", "2026-01-30 00:00 EST", "day 30 is not in L, the last day of the month"},
		{"0 0 15W * *", "2026-02-15 00:00 EST", "day 15 is not in 15W, the working day nearest to day 15"},
		{"0 0 LW * *", "2026-01-31 00:00 EST", "day 31 is not in LW, the last working day of the month"},
		{"0 0 * * 5L", "2026-01-23 00:00 EST", "Friday is not in 5L, the last Friday of the month"},
		{"0 0 * * mon#2", "2026-01-05 00:00 EST", "Monday is not in mon#2, Monday number 2 of the month"},
		{"30 0 0 * * 7", "2026-01-05 00:00 EST", "Monday is not in 7, Sunday"},
		// both day fields: either is enough, unless one starts with *
		{"0 0 13 * FRI", "2026-01-14 00:00 EST",
			"day 14 is not in 13 and Wednesday is not in FRI (one of the two would be enough)"},
		{"0 0 13 * FRI", "2026-01-13 00:00 EST",
			"day 13 is in 13 and Tuesday is not in FRI: with both restricted, one is enough"},
		{"0 0 13 * FRI", "2026-01-13 00:01 EST", "minute 1 is not in 0"},
		{"0 0 */2 * MON", "2026-01-06 00:00 EST", "day 6 is not in */2; Tuesday is not in MON"},
		// the night in which 2:00 to 2:59 did not exist
		{"30 2 * * *", "2026-03-08 03:00 EDT",
			"02:30 did not exist on this day; a job with a fixed time runs right after the gap"},
		{"30 2 * * *", "2026-03-08 03:30 EDT", "hour 3 is not in 2"},
		{"*/30 2 * * *", "2026-03-08 03:00 EDT", "hour 3 is not in 2; 02:00 did not exist on this day, and a job with a * in its minute or hour is not made up for"},
		// the night in which 1:00 to 1:59 came twice
		{"30 1 * * *", "2026-11-01 01:30 EDT", "every field matches"},
		{"30 1 * * *", "2026-11-01 01:30 EST",
			"01:30 comes twice on this day, and a job with a fixed time is due the first time only"},
		{"30 1 * * *", "2026-11-01 01:31 EST", "minute 31 is not in 30"},
		{"30 * * * *", "2026-11-01 01:30 EST", "every field matches"},
	} {
		at, err := time.ParseInLocation("2006-01-02 15:04 MST", tt.at, zone(t, "America/New_York"))
		if err != nil {
			t.Fatal(err)
		}
		w := When{Crons: []Expression{mustParse(t, tt.cron)}, Location: zone(t, "America/New_York")}
		if got := w.Explain(at).Verdicts[0].Why(); got != tt.want {
			t.Errorf("%s at %s: got %q, want %q", tt.cron, tt.at, got, tt.want)
		}
	}
}

func TestExplainChangesOfTheClock(t *testing.T) {
	for _, tt := range []struct {
		zone, at string // in UTC
		pass     int
		gap      string
	}{
		{"America/New_York", "2026-03-08 06:59", 0, ""},
		{"America/New_York", "2026-03-08 07:00", 0, "02:00-03:00"},
		{"America/New_York", "2026-03-08 07:01", 0, ""},
		{"America/New_York", "2026-11-01 04:59", 0, ""},
		{"America/New_York", "2026-11-01 05:00", 1, ""},
		{"America/New_York", "2026-11-01 05:59", 1, ""},
		{"America/New_York", "2026-11-01 06:00", 2, ""},
		{"America/New_York", "2026-11-01 06:59", 2, ""},
		{"America/New_York", "2026-11-01 07:00", 0, ""},
		{"Australia/Lord_Howe", "2026-04-04 14:29", 0, ""},
		{"Australia/Lord_Howe", "2026-04-04 14:30", 1, ""},
		{"Australia/Lord_Howe", "2026-04-04 15:29", 2, ""},
		{"Australia/Lord_Howe", "2026-10-03 15:30", 0, "02:00-02:30"},
		{"UTC", "2026-03-08 07:00", 0, ""},
	} {
		e := When{Location: zone(t, tt.zone)}.Explain(instant(t, tt.at))
		gap := ""
		if e.Gap != nil {
			gap = e.Gap.From.Format("15:04") + "-" + e.Gap.To.Format("15:04")
		}
		if e.Pass != tt.pass || gap != tt.gap {
			t.Errorf("%s at %s: got pass %d, gap %q; want %d, %q", tt.zone, tt.at, e.Pass, gap, tt.pass, tt.gap)
		}
	}
}
