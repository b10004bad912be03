package cron

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// pastExprs are the expressions of the tests that look back. Joined in twos and threes they share
// instants.
var pastExprs = []string{
	"* * * * *", "*/5 * * * *", "30 2 * * *", "0-59 0-23 * * *", "0 */2 * * *", "15,45 1-3 * * 0", "0 0 1 * *",
	"59 23 L * *", "0 12 15W * *", "30 1,2 * * *", "*/20 * 2 * * *", "0,30 30 2 * * SUN",
	"7-50/7 0 0 13 * FRI", "0 0 29 2 *",
}

// Backward yields the instants that Next finds, and Count counts them, also across changes of the
// clocks.
func TestLookingBackFindsWhatLookingAheadDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 600 {
		zone, err := time.LoadLocation(bruteZones[random.IntN(len(bruteZones))])
		if err != nil {
			t.Fatal(err)
		}
		w := When{Location: zone}
		for range 1 + random.IntN(3) {
			c, err := Parse(pastExprs[random.IntN(len(pastExprs))], "task")
			if err != nil {
				t.Fatal(err)
			}
			w.Crons = append(w.Crons, c)
		}
		from := time.Date(2011+random.IntN(15), time.Month(1+random.IntN(12)), random.IntN(28), random.IntN(24),
			random.IntN(60), 0, 0, time.UTC)
		if _, change := from.In(zone).ZoneBounds(); !change.IsZero() && random.IntN(2) == 0 { // of the clocks
			from = change.Add(-time.Duration(random.IntN(24*60)) * time.Minute)
		}
		to := from.Add(time.Duration(random.IntN(4*24*60)) * time.Minute)
		var ahead []time.Time
		for slot, ok := w.Next(from.Add(-time.Second)); ok && slot.Before(to); slot, ok = w.Next(slot) {
			ahead = append(ahead, slot)
		}
		if n := w.Count(from, to); n != len(ahead) {
			t.Fatalf("%s %s from %s to %s: counted %d, there are %d", w, zone, from, to, n, len(ahead))
		}
		slices.Reverse(ahead)
		if back := slices.Collect(w.Backward(from, to)); !slices.Equal(back, ahead) {
			t.Fatalf("%s %s from %s to %s:\nback  %v\nahead %v", w, zone, from, to, back, ahead)
		}
	}
}

func TestLookingBackOverAnEmptySpan(t *testing.T) {
	w := When{Crons: []Expression{mustParse(t, "* * * * *")}, Location: time.UTC}
	noon := instant(t, "2026-01-01 12:00:00")
	if n := w.Count(noon, noon); n != 0 {
		t.Errorf("%d in no time", n)
	}
	if n := w.Count(noon, noon.Add(-time.Hour)); n != 0 {
		t.Errorf("%d in less than no time", n)
	}
	for slot := range w.Backward(noon, noon) {
		t.Errorf("%s in no time", slot)
	}
}

// BenchmarkPast looks back over a month in which the machine was off.
func BenchmarkPast(b *testing.B) {
	to := instant(b, "2026-04-15 10:30:00") // the clocks changed in between
	from := to.AddDate(0, -1, 0)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		b.Fatal(err)
	}
	for _, text := range []string{"* * * * *", "* * * * * *", "0-59 0-23 * * *", "30 2 * * *", "30 2 L * MON",
		"* 9-17 * * 1-5; 0 * * * *",
		"2 weeks from 2025-12-29 at 2:30"} {
		w := When{Location: berlin}
		for _, one := range strings.Split(text, "; ") {
			if strings.Contains(one, "from") {
				w.Crons = append(w.Crons, mustCount(b, one)...)
			} else {
				w.Crons = append(w.Crons, mustParse(b, one))
			}
		}
		b.Run(fmt.Sprintf("Count/%q", text), func(b *testing.B) {
			for b.Loop() {
				w.Count(from, to)
			}
		})
		b.Run(fmt.Sprintf("Newest/%q", text), func(b *testing.B) {
			for b.Loop() {
				for range w.Backward(from, to) {
					break
				}
			}
		})
	}
}
