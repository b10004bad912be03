package cron

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// bruteCycle returns a brute force that is due at one time of day, on the days that AddDate
// reaches.
func bruteCycle(at, from string, days, until int) brute {
	clock, _ := time.Parse("15:04", at)
	due := map[time.Time]bool{}
	for day, _ := time.Parse(time.DateOnly, from); day.Year() <= until+1; day = day.AddDate(0, 0, days) {
		due[day] = true
	}
	return brute{
		minutes: map[int]bool{clock.Minute(): true}, hours: map[int]bool{clock.Hour(): true},
		dates: func(date time.Time) bool { return due[date] }, fixed: true,
	}
}

// Cycles are compared with the brute force on every minute of a year. Their days are also days on
// which clocks change. Apia had no 30 December 2011, a Friday.
func TestCyclesAgainstBruteForce(t *testing.T) {
	for _, place := range []struct {
		year  int
		zones []string
		words []string // and the same, once more, for the brute force
		brute [][]brute
	}{
		{2026, bruteZones, []string{
			"2 weeks from 2025-12-28 at 2:30",
			"week from 2026-03-08 at 1:15",
			"day from 2026-03-29",
			"3 days from 2026-01-02 at 2:00, 23:59",
		}, [][]brute{
			{bruteCycle("2:30", "2025-12-28", 14, 2026)},
			{bruteCycle("1:15", "2026-03-08", 7, 2026)},
			{bruteCycle("0:00", "2026-03-29", 1, 2026)},
			{bruteCycle("2:00", "2026-01-02", 3, 2026), bruteCycle("23:59", "2026-01-02", 3, 2026)},
		}},
		{2011, []string{"Pacific/Apia"}, []string{"week from 2011-12-09 at 9:00"},
			[][]brute{{bruteCycle("9:00", "2011-12-09", 7, 2011)}}},
		{2040, []string{"Europe/Berlin"}, []string{"5 days from 1969-07-20 at 0:30"},
			[][]brute{{bruteCycle("0:30", "1969-07-20", 5, 2040)}}},
	} {
		for _, name := range place.zones {
			t.Run(fmt.Sprint(place.year, " ", name), func(t *testing.T) {
				t.Parallel()
				start, walls := bruteWalls(place.year, zone(t, name))
				for i, words := range place.words {
					var want []int64
					for _, b := range place.brute[i] {
						want = append(want, b.instants(start, walls)...)
					}
					slices.Sort(want)
					w := When{Crons: mustCount(t, words), Location: zone(t, name)}
					compareWhen(t, w, start, slices.Compact(want), len(walls))
				}
			})
		}
	}
}

// Slots, Previous, Backward, Count and Explain agree with Next about cycles.
func TestCyclesAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		w, change := randomCycle(t, random)
		from := change.Add(-time.Duration(random.IntN(20*24*60)) * time.Minute)
		to := from.Add(time.Duration(random.IntN(40*24*60)) * time.Minute)
		ahead := walk(w, from, to)
		back := slices.Collect(w.Backward(from, to))
		slices.Reverse(back)
		if !sameTimes(back, ahead) || w.Count(from, to) != len(ahead) {
			t.Fatalf("%v in %s from %v to %v: back %v, counted %d, ahead %v",
				w, w.Location, from, to, back, w.Count(from, to), ahead)
		}
		previous, ok := w.Previous(to)
		if len(ahead) > 0 && (!ok || !previous.Equal(ahead[len(ahead)-1])) {
			t.Fatalf("%v in %s before %v: %v, want %v", w, w.Location, to, previous, ahead)
		}
		for _, at := range append(ahead, from, change) {
			e := w.Explain(at)
			if !sameTimes(e.Slots, w.Slots(at)) {
				t.Fatalf("%v in %s at %v: explains %v, the slots are %v", w, w.Location, at, e.Slots, w.Slots(at))
			}
			for _, v := range e.Verdicts {
				if v.Due == (len(v.Mismatches()) > 0 || v.FirstPassOnly) {
					t.Fatalf("%v in %s at %v: due %t, since %s", w, w.Location, at, v.Due, v.Why())
				}
			}
		}
	}
}

// randomCycle returns a cycle whose days often include one on which the clocks change, and the
// instant of that change.
func randomCycle(t *testing.T, random *rand.Rand) (When, time.Time) {
	z := zone(t, bruteZones[random.IntN(len(bruteZones))])
	_, change := instant(t, "2010-01-01 00:00").AddDate(0, 0, random.IntN(6000)).In(z).ZoneBounds()
	if change.IsZero() {
		change = instant(t, "2026-03-08 10:00")
	}
	days := 1 + random.IntN(20)
	start := change.In(z).AddDate(0, 0, -days*(random.IntN(5)-1)).Format(time.DateOnly)
	words := fmt.Sprintf("%d days from %s at %d:%02d, %d:%02d",
		days, start, random.IntN(4), random.IntN(60), random.IntN(24), random.IntN(60))
	return When{Crons: mustCount(t, words), Location: z}, change
}

func TestCyclesBeginWithTheirDate(t *testing.T) {
	w := When{Crons: mustCount(t, "2 weeks from 2126-01-05 at 8:00"), Location: time.UTC}
	if next, ok := w.Next(instant(t, "2026-01-05 08:00")); !ok || !next.Equal(instant(t, "2126-01-05 08:00")) {
		t.Errorf("a date in a hundred years: %v, %t", next, ok)
	}
	if before, ok := w.Previous(instant(t, "2126-01-05 08:00")); ok {
		t.Errorf("due before its date, at %v", before)
	}
	if n := w.Count(instant(t, "2125-12-01 00:00"), instant(t, "2126-02-03 00:00")); n != 3 {
		t.Errorf("%d in January, want 3", n)
	}
}

func TestWhyOfACycle(t *testing.T) {
	for _, tt := range []struct{ words, at, want string }{
		{"2 weeks from 2026-01-05 at 8:00", "2026-01-19 08:00 EST", "every field matches"},
		{"2 weeks from 2026-01-05 at 8:00", "2026-01-12 08:00 EST",
			"2026-01-12 is 7 days after 2026-01-05, not a multiple of 14"},
		{"2 weeks from 2026-01-05 at 8:00", "2025-12-22 08:00 EST", "2025-12-22 is before 2026-01-05"},
		{"2 weeks from 2026-01-05 at 8:00", "2026-01-19 09:30 EST", "minute 30 is not in 0; hour 9 is not in 8"},
		{"week from 2026-03-01 at 2:30", "2026-03-08 03:00 EDT",
			"02:30 did not exist on this day; a job with a fixed time runs right after the gap"},
		{"week from 2026-10-25 at 1:30", "2026-11-01 01:30 EST",
			"01:30 comes twice on this day, and a job with a fixed time is due the first time only"},
	} {
		at, err := time.ParseInLocation("2006-01-02 15:04 MST", tt.at, zone(t, "America/New_York"))
		if err != nil {
			t.Fatal(err)
		}
		w := When{Crons: mustCount(t, tt.words), Location: zone(t, "America/New_York")}
		if got := w.Explain(at).Verdicts[0].Why(); got != tt.want {
			t.Errorf("%s at %s: got %q, want %q", tt.words, tt.at, got, tt.want)
		}
	}
}
