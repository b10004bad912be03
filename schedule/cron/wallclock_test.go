package cron

import (
	"testing"
	"time"
)

// The rows have the instants, in UTC, at which a job runs around a change of the clocks.
func TestDaylightSaving(t *testing.T) {
	tests := []struct {
		zone, cron, from, to string
		want                 []string
	}{
		// New York, 2026-03-08: 02:00 EST becomes 03:00 EDT (07:00 UTC)
		// a fixed job in the gap runs once, right after it
		{"America/New_York", "30 2 * * *", "2026-03-08 00:00", "2026-03-09 12:00", []string{
			"2026-03-08 07:00:00", // 03:00 EDT
			"2026-03-09 06:30:00"}},
		// so do several, and one that is due at 03:00 anyway
		{"America/New_York", "0,15,30 2,3 * * *", "2026-03-08 06:00", "2026-03-08 08:00", []string{
			"2026-03-08 07:00:00", "2026-03-08 07:15:00", "2026-03-08 07:30:00"}},
		// a fixed job before and after the gap does not notice
		{"America/New_York", "59 1 * * *", "2026-03-08 00:00", "2026-03-09 00:00", []string{"2026-03-08 06:59:00"}},
		{"America/New_York", "0 3 * * *", "2026-03-08 00:00", "2026-03-09 00:00", []string{"2026-03-08 07:00:00"}},
		{"America/New_York", "1 3 * * *", "2026-03-08 00:00", "2026-03-09 00:00", []string{"2026-03-08 07:01:00"}},
		// the day must fit: this one runs on Mondays, and the gap is on a Sunday
		{"America/New_York", "30 2 * * MON", "2026-03-08 00:00", "2026-03-09 12:00", []string{"2026-03-09 06:30:00"}},
		// a date that exists only in the gap
		{"America/New_York", "30 2 8 3 *", "2026-01-01 00:00", "2026-12-31 00:00", []string{"2026-03-08 07:00:00"}},
		// a fixed job with seconds runs at second 0 of the minute after the gap
		{"America/New_York", "45 30 2 * * *", "2026-03-08 00:00", "2026-03-09 00:00", []string{"2026-03-08 07:00:00"}},
		{"America/New_York", "*/20 30 2 * * *", "2026-03-08 00:00", "2026-03-09 00:00",
			[]string{"2026-03-08 07:00:00"}},
		// steps that do not start with * are fixed as well
		{"America/New_York", "5/20 2 * * *", "2026-03-08 00:00", "2026-03-09 00:00", []string{"2026-03-08 07:00:00"}},
		// wildcard jobs follow the wall clock: nothing of 02:00 to 02:59 happens
		{"America/New_York", "*/30 * * * *", "2026-03-08 06:00", "2026-03-08 08:00", []string{
			"2026-03-08 06:00:00", "2026-03-08 06:30:00", "2026-03-08 07:00:00", "2026-03-08 07:30:00"}},
		{"America/New_York", "*/30 2 * * *", "2026-03-08 00:00", "2026-03-09 00:00", nil},
		{"America/New_York", "30 */2 * * *", "2026-03-08 04:00", "2026-03-08 10:00", []string{
			"2026-03-08 05:30:00", // 00:30 EST, then 02:30 is missing
			"2026-03-08 08:30:00"}},

		// a job in the gap of every year is never due, and Next says so in finite time
		{"America/New_York", "*/5 2 * MAR SUN#2", "2026-01-01 00:00", "2080-01-01 00:00", nil},

		// New York, 2026-11-01: 02:00 EDT becomes 01:00 EST (06:00 UTC)
		// a fixed job in the repeated hour runs in its first pass
		{"America/New_York", "30 1 * * *", "2026-11-01 00:00", "2026-11-02 12:00", []string{
			"2026-11-01 05:30:00", "2026-11-02 06:30:00"}},
		{"America/New_York", "0 1 * * *", "2026-11-01 00:00", "2026-11-02 00:00", []string{"2026-11-01 05:00:00"}},
		{"America/New_York", "0 2 * * *", "2026-11-01 00:00", "2026-11-02 00:00", []string{"2026-11-01 07:00:00"}},
		{"America/New_York", "*/30 15 1 * * *", "2026-11-01 00:00", "2026-11-02 00:00", []string{
			"2026-11-01 05:15:00", "2026-11-01 05:15:30"}},
		// wildcard jobs run in both
		{"America/New_York", "30 * * * *", "2026-11-01 05:00", "2026-11-01 08:00", []string{
			"2026-11-01 05:30:00", "2026-11-01 06:30:00", "2026-11-01 07:30:00"}},
		{"America/New_York", "*/30 1 * * *", "2026-11-01 00:00", "2026-11-02 00:00", []string{
			"2026-11-01 05:00:00", "2026-11-01 05:30:00", "2026-11-01 06:00:00", "2026-11-01 06:30:00"}},

		// Berlin, 2026-03-29: 02:00 CET becomes 03:00 CEST (01:00 UTC)
		{"Europe/Berlin", "30 2 * * *", "2026-03-28 12:00", "2026-03-30 12:00", []string{
			"2026-03-29 01:00:00", "2026-03-30 00:30:00"}},
		{"Europe/Berlin", "*/15 2 * * *", "2026-03-28 12:00", "2026-03-29 12:00", nil},
		// Berlin, 2026-10-25: 03:00 CEST becomes 02:00 CET (01:00 UTC)
		{"Europe/Berlin", "30 2 * * *", "2026-10-24 12:00", "2026-10-25 12:00", []string{"2026-10-25 00:30:00"}},
		{"Europe/Berlin", "30 * * * *", "2026-10-25 00:00", "2026-10-25 02:00", []string{
			"2026-10-25 00:30:00", "2026-10-25 01:30:00"}},

		// Lord Howe, 2026-10-04: 02:00 becomes 02:30, half an hour (2026-10-03 15:30 UTC)
		{"Australia/Lord_Howe", "15 2 * * *", "2026-10-03 00:00", "2026-10-04 12:00", []string{"2026-10-03 15:30:00"}},
		{"Australia/Lord_Howe", "45 2 * * *", "2026-10-03 00:00", "2026-10-04 12:00", []string{"2026-10-03 15:45:00"}},
		{"Australia/Lord_Howe", "*/15 * * * *", "2026-10-03 15:00", "2026-10-03 16:00", []string{
			"2026-10-03 15:00:00", "2026-10-03 15:15:00", "2026-10-03 15:30:00", "2026-10-03 15:45:00"}},
		{"Australia/Lord_Howe", "0 */2 * * *", "2026-10-03 13:00", "2026-10-03 18:00", []string{
			"2026-10-03 13:30:00", // 00:00; 02:00 is missing
			"2026-10-03 17:00:00"}},
		// Lord Howe, 2026-04-05: 02:00 becomes 01:30 (2026-04-04 15:00 UTC)
		{"Australia/Lord_Howe", "45 1 * * *", "2026-04-04 00:00", "2026-04-05 12:00", []string{"2026-04-04 14:45:00"}},
		{"Australia/Lord_Howe", "15 1 * * *", "2026-04-04 00:00", "2026-04-05 12:00", []string{"2026-04-04 14:15:00"}},
		{"Australia/Lord_Howe", "45 * * * *", "2026-04-04 14:00", "2026-04-04 16:00", []string{
			"2026-04-04 14:45:00", "2026-04-04 15:15:00"}},

		// Santiago, 2026-09-06: midnight becomes 01:00, so the day has no 00:00 (04:00 UTC)
		{"America/Santiago", "0 0 * * *", "2026-09-05 12:00", "2026-09-06 12:00", []string{"2026-09-06 04:00:00"}},
		// Santiago, 2026-04-05: midnight becomes 23:00 of the day before (03:00 UTC)
		{"America/Santiago", "30 23 * * *", "2026-04-05 00:00", "2026-04-05 12:00", []string{"2026-04-05 02:30:00"}},
		{"America/Santiago", "0 0 * * *", "2026-04-05 00:00", "2026-04-05 12:00", []string{"2026-04-05 04:00:00"}},

		// Apia skipped the whole of 2011-12-30 (10:00 UTC): its fixed jobs run once, on the 31st
		{"Pacific/Apia", "0 8,20 30 12 *", "2011-12-01 00:00", "2012-01-31 00:00", []string{"2011-12-30 10:00:00"}},
		{"Pacific/Apia", "0 12 * * *", "2011-12-29 00:00", "2011-12-31 12:00", []string{
			"2011-12-29 22:00:00", "2011-12-30 10:00:00", "2011-12-30 22:00:00"}},
		{"Pacific/Apia", "0 * 30 12 *", "2011-12-01 00:00", "2012-01-31 00:00", nil},

		// Go's ZoneBounds takes years past the zone file's table to have 365 days: 2040-12-31 is
		// the 366th
		{"Europe/Berlin", "0 */12 31 12 *", "2040-12-30 00:00", "2041-01-02 00:00", []string{
			"2040-12-30 23:00:00", "2040-12-31 11:00:00"}},
		{"Europe/Berlin", "30 2 * * *", "2040-03-24 12:00", "2040-03-25 12:00", []string{"2040-03-25 01:00:00"}},

		// an offset with seconds, as of old: Amsterdam was 00:19:32 ahead; a minute of the wall
		// clock starts at its :28
		{"Europe/Amsterdam", "0 12 * * *", "1936-01-01 00:00", "1936-01-02 00:00", []string{"1936-01-01 11:40:28"}},
	}
	for _, tt := range tests {
		w := When{Crons: []Expression{mustParse(t, tt.cron)}, Location: zone(t, tt.zone)}
		from, to := instant(t, tt.from), instant(t, tt.to)
		var want []time.Time
		for _, text := range tt.want {
			want = append(want, instant(t, text))
		}
		if got := walk(w, from, to); !sameTimes(got, want) {
			t.Errorf("%s %q, by Next:\n got %v\nwant %v", tt.zone, tt.cron, got, want)
		}
		if to.Sub(from) > 7*24*time.Hour {
			continue
		}
		var got []time.Time
		for m := from; m.Before(to); m = m.Add(time.Minute) {
			got = append(got, w.Slots(m)...)
		}
		if !sameTimes(got, want) {
			t.Errorf("%s %q, by Slots:\n got %v\nwant %v", tt.zone, tt.cron, got, want)
		}
	}
}

// WallClock returns the first instant that shows a time, or the end of the gap if no instant shows
// it. The test compares it with a search through all minutes around changes of the clocks.
func TestWallClock(t *testing.T) {
	for _, name := range bruteZones {
		z := zone(t, name)
		for at := instant(t, "2011-12-01 00:00"); at.Year() < 2013; {
			_, change := at.In(z).ZoneBounds()
			if change.IsZero() {
				break
			}
			at = change.Add(time.Hour)
			checkWallClock(t, z, change)
		}
	}
	for _, text := range clockChanges {
		for _, name := range bruteZones {
			checkWallClock(t, zone(t, name), instant(t, text))
		}
	}
}

func checkWallClock(t *testing.T, z *time.Location, change time.Time) {
	t.Helper()
	first := map[string]time.Time{}
	const layout = "2006-01-02 15:04"
	from, to := change.Add(-50*time.Hour), change.Add(50*time.Hour)
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		text := at.In(z).Format(layout)
		if _, known := first[text]; !known {
			first[text] = at
		}
	}
	_, offset := change.In(z).Zone()
	wall := change.Add(time.Duration(offset) * time.Second).UTC()
	for w := wall.Add(-24 * time.Hour); w.Before(wall.Add(24 * time.Hour)); w = w.Add(time.Minute) {
		want, exists := first[w.Format(layout)]
		if !exists {
			want = change
		}
		if got, skipped := WallClock(w, z); !got.Equal(want) || skipped == exists {
			t.Fatalf("%s in %s: got %v, skipped %t; want %v, skipped %t",
				w.Format(layout), z, got, skipped, want.In(z), !exists)
		}
	}
}
