package view

import (
	"testing"
	"time"
)

// Every flag that takes a time reads it in this way.
func TestReadTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	// half past midnight of the day on which Berlin's clocks go forward
	now := time.Date(2026, 3, 28, 23, 30, 0, 0, time.UTC)
	for _, row := range []struct{ text, want, skipped string }{
		// exact, whatever the zone
		{"2026-01-05T09:00:00Z", "2026-01-05T09:00:00Z", ""},
		{"2026-10-25T02:30:00+01:00", "2026-10-25T01:30:00Z", ""},
		// on the wall clock of the zone
		{"2026-01-05 09:00", "2026-01-05T08:00:00Z", ""},
		{"2026-01-05 9:00", "2026-01-05T08:00:00Z", ""},
		{"2026-01-05T09:00:30", "2026-01-05T08:00:30Z", ""},
		{"2026-01-05", "2026-01-04T23:00:00Z", ""},
		// of today, which is the 29th in Berlin already
		{"14:30", "2026-03-29T12:30:00Z", ""},
		{"9:00:05", "2026-03-29T07:00:05Z", ""},
		{"today 14:30", "2026-03-29T12:30:00Z", ""},
		{"tomorrow 9:00", "2026-03-30T07:00:00Z", ""},
		{"Tomorrow", "2026-03-29T22:00:00Z", ""},
		{"yesterday 23:00", "2026-03-28T22:00:00Z", ""},
		// a time that the clocks skip stands for the end of the gap
		{"2:30", "2026-03-29T01:00:00Z", "02:30"},
		{"2026-03-29 02:00", "2026-03-29T01:00:00Z", "02:00"},
		// a time that they show twice is the first
		{"2026-10-25 02:30", "2026-10-25T00:30:00Z", ""},
		// from now
		{"now", "2026-03-28T23:30:00Z", ""},
		{"2h ago", "2026-03-28T21:30:00Z", ""},
		{"2 hours ago", "2026-03-28T21:30:00Z", ""},
		{"1 d 3 h ago", "2026-03-27T20:30:00Z", ""},
		{"in 10m", "2026-03-28T23:40:00Z", ""},
		{"in 5 mins", "2026-03-28T23:35:00Z", ""},
		{"1 hr 30 mins ago", "2026-03-28T22:00:00Z", ""},
		{"in 2 hrs 5 min 1 sec", "2026-03-29T01:35:01Z", ""},
		{"90 secs ago", "2026-03-28T23:28:30Z", ""},
		{"0 s ago", "2026-03-28T23:30:00Z", ""},
		// as sched prints times: with the zone, which tells apart what the clocks show twice
		{"2026-01-05 09:00 CET", "2026-01-05T08:00:00Z", ""},
		{"Mon 2026-01-05 09:00:30 UTC", "2026-01-05T09:00:30Z", ""},
		{"2026-01-05 09:00 EST", "2026-01-05T14:00:00Z", ""},
		{"2026-10-25 02:30 CEST", "2026-10-25T00:30:00Z", ""},
		{"2026-10-25 02:30 CET", "2026-10-25T01:30:00Z", ""},
		{"2026-01-05 09:00:00 +02:00", "2026-01-05T07:00:00Z", ""},
		{"2026-01-05 09:00 -03", "2026-01-05T12:00:00Z", ""},
		{"2026-01-05 09:00 Asia/Tokyo", "2026-01-05T00:00:00Z", ""},
		{"23:00 EDT", "2026-03-29T03:00:00Z", ""},
		{"2026-11-24 15:35 PST", "2026-11-24T23:35:00Z", ""}, // no task is in this zone
		{"2026-11-24 15:35 AEDT", "2026-11-24T04:35:00Z", ""},
		// a weekday is the next one, from today on, which is Sunday
		{"Sat 02:30", "2026-04-04T00:30:00Z", ""},
		{"sunday 9:00", "2026-03-29T07:00:00Z", ""},
		{"Mon 15:00 EDT", "2026-03-30T19:00:00Z", ""},
		// and texts that are no time
		{"2026-01-05 09:00 EDT", "", ""}, {"2026-01-05 09:00 XYZ", "", ""}, {"2026-01-05 09:00 Asia/Nowhere", "", ""},
		{"-2h ago", "", ""}, {"in a while", "", ""}, {"ago", "", ""}, {"Mon nine", "", ""},
		{"", "", ""}, {"25:00", "", ""}, {"9", "", ""}, {"tomorrow at nine", "", ""}, {"2026-02-30", "", ""},
		{"2026-01-05 9:00 Z", "", ""}, {"t9:00", "", ""},
		{"in 5ms", "", ""}, {"0.5 s ago", "", ""},
	} {
		at, skipped, ok := ReadTime(row.text, now, berlin, time.UTC, newYork)
		got := ""
		if ok {
			got = at.UTC().Format(time.RFC3339)
		}
		if got != row.want || skipped != row.skipped {
			t.Errorf("%q is %q, skipped %q; want %q, %q", row.text, got, skipped, row.want, row.skipped)
		}
	}
}

// In a time of the past, a weekday is the last such day.
func TestReadPast(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC) // a Tuesday
	for text, want := range map[string]string{
		"Mon 9:00": "2026-03-30T09:00:00Z", "tue 9:00": "2026-03-31T09:00:00Z", "Tue 13:00": "2026-03-24T13:00:00Z",
		"wednesday":            "2026-03-25T00:00:00Z",
		"Wed 2026-04-01 10:00": "2026-04-01T10:00:00Z", "tomorrow": "2026-04-01T00:00:00Z",
	} {
		at, _, ok := ReadPast(text, now, time.UTC)
		if got := at.UTC().Format(time.RFC3339); !ok || got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// If the clocks show a time twice, it is the first one, also in New York. In the zones west of
// Greenwich it once was the second.
func TestATimeThatComesTwiceIsTheFirstInEachZone(t *testing.T) {
	for name, want := range map[string]string{"America/New_York": "2026-11-01T05:30:00Z",
		"Australia/Lord_Howe": "2026-04-04T14:45:00Z"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		text := map[string]string{"America/New_York": "2026-11-01 01:30",
			"Australia/Lord_Howe": "2026-04-05 01:45"}[name]
		if at, _, ok := ReadTime(text, time.Now(), zone); !ok || at.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s in %s is %s, want %s", text, name, at.UTC().Format(time.RFC3339), want)
		}
	}
}
