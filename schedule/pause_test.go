package schedule

import (
	"math/rand/v2"
	"testing"
	"time"

	"sched/schedule/cron"
	"sched/schedule/every"
)

// At says the same in whatever order it is asked, and agrees with the beginnings that Next names.
func TestAPauseThatComesAgainIsFoundInAnyOrder(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		every string
		lasts time.Duration
	}{{"sunday at 2:30", 4 * time.Hour}, {"day at 0:00", 24 * time.Hour}, {"hour", 90 * time.Minute},
		{"5 minutes", time.Minute}, {"3 days from 2026-03-27 at 1:00", 26 * time.Hour}} {
		crons, err := every.Parse(row.every)
		if err != nil {
			t.Fatal(err)
		}
		p := &Pause{Every: row.every, Zone: zone.String(), For: row.lasts,
			When: cron.When{Crons: crons, Location: zone}}
		begin := time.Date(2026, 3, 27, 0, 0, 0, 0, zone) // the clocks change on the 29th
		var starts [][2]time.Time
		for at := begin.Add(-48 * time.Hour); at.Before(begin.Add(96 * time.Hour)); {
			from, until, ok := p.Next(at)
			if !ok {
				t.Fatalf("%s: none after %s", row.every, at)
			}
			starts, at = append(starts, [2]time.Time{from, until}), from
		}
		for range 2000 {
			at := begin.Add(time.Duration(rand.Int64N(int64(72 * time.Hour)))).Truncate(time.Second)
			var want [2]time.Time
			for _, s := range starts {
				if !at.Before(s[0]) && at.Before(s[1]) {
					if want[0].IsZero() {
						want[0] = s[0]
					}
					want[1] = s[1]
				}
			}
			from, until, ok := p.At(at)
			snapshot := &Pause{Every: p.Every, Zone: p.Zone, For: p.For}
			if _, again, is := snapshot.At(at); is != ok || !again.Equal(until) {
				t.Fatalf("%s at %s: until %s, in a snapshot until %s", row.every, at, until, again)
			}
			if ok != !want[0].IsZero() || !from.Equal(want[0]) || !until.Equal(want[1]) {
				t.Fatalf("%s at %s: from %s until %s, %t, not %s", row.every, at, from, until, ok, want)
			}
		}
	}
}
