package cron

import (
	"slices"
	"testing"
	"time"
)

// An interval is elapsed time, by each of the methods of When: a sum from its start, whatever the
// clocks do.
func TestIntervalsAreElapsedTime(t *testing.T) {
	for _, row := range []struct {
		words, zone, start, text string // the start as an instant
		every                    time.Duration
	}{
		{"90 minutes from 2026-01-05 06:00", "Europe/Berlin", "2026-01-05T05:00:00Z",
			"90 minutes from 2026-01-05 06:00", 90 * time.Minute},
		{"7 hours from 2026-03-28 at 1:30", "Europe/Berlin", "2026-03-28T00:30:00Z",
			"7 hours from 2026-03-28 01:30", 7 * time.Hour},
		{"25 minutes from 2026-10-24", "America/New_York", "2026-10-24T04:00:00Z",
			"25 minutes from 2026-10-24 00:00", 25 * time.Minute},
		{"120 minutes from 2026-01-05 6:00", "UTC", "2026-01-05T06:00:00Z",
			"2 hours from 2026-01-05 06:00", 2 * time.Hour},
		// A start that the clocks skip lies the same distance after the gap. For a start that comes
		// twice, the first time counts.
		{"hour from 2026-03-29 02:30", "Europe/Berlin", "2026-03-29T01:30:00Z",
			"hour from 2026-03-29 02:30", time.Hour},
		{"5 hours from 2026-10-25 02:30", "Europe/Berlin", "2026-10-25T00:30:00Z",
			"5 hours from 2026-10-25 02:30", 5 * time.Hour},
	} {
		w := When{Crons: mustCount(t, row.words), Location: zone(t, row.zone)}
		if got := w.Crons[0].String(); got != row.text || mustCount(t, got)[0] != w.Crons[0] {
			t.Errorf("%s reads as %s", row.words, got)
		}
		start, err := time.Parse(time.RFC3339, row.start)
		if err != nil {
			t.Fatal(err)
		}
		if first, ok := w.Next(start.AddDate(-1, 0, 0)); !ok || !first.Equal(start) {
			t.Errorf("%s is first due at %s, not %s", row.words, first, row.start)
		}
		if _, ok := w.Previous(start); ok {
			t.Errorf("%s is due before its start", row.words)
		}
		at := start
		for n := range 3000 {
			if slots := w.Slots(at); !slices.Equal(slots, []time.Time{at}) {
				t.Fatalf("%s, %d intervals later, is due at %v, not %s", row.words, n, slots, at)
			}
			next, ok := w.Next(at)
			if !ok || next.Sub(at) != row.every {
				t.Fatalf("%s is due at %s, and next at %s", row.words, at, next)
			}
			if back, ok := w.Previous(next); !ok || !back.Equal(at) {
				t.Fatalf("%s: Previous(%s) is %s, not %s", row.words, next, back, at)
			}
			if row.every > time.Minute && len(w.Slots(at.Add(time.Minute))) > 0 {
				t.Fatalf("%s is due a minute after %s, too", row.words, at)
			}
			at = next
		}
	}
}

func TestAnIntervalIsExplained(t *testing.T) {
	w := When{Crons: mustCount(t, "90 minutes from 2026-01-05 06:00"), Location: time.UTC}
	for _, row := range []struct{ minute, why string }{
		{"2026-01-05T09:00:00Z", "it is 180 minutes after 2026-01-05 06:00, a multiple of 90"},
		{"2026-01-05T09:01:00Z", "it is 181 minutes after 2026-01-05 06:00, not a multiple of 90"},
		{"2026-01-05T05:59:00Z", "it is before 2026-01-05 06:00"},
	} {
		minute, _ := time.Parse(time.RFC3339, row.minute)
		if v := w.Explain(minute).Verdicts[0]; v.Why() != row.why || v.Due != (len(v.Mismatches()) == 0) {
			t.Errorf("%s: %s, due: %v", row.minute, v.Why(), v.Due)
		}
	}
}
