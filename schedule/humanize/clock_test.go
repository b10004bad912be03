package humanize

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

var berlin = zone("Europe/Berlin")

func zone(name string) *time.Location {
	location, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return location
}

func at(t *testing.T, text string) time.Time {
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestATimeIsWrittenInTheZoneOfTheReader(t *testing.T) {
	for _, row := range []struct {
		how   string
		write func(time.Time, *time.Location) string
		at    string
		want  string
	}{
		{"to the minute", minute, "2026-03-29T08:00:59Z", "2026-03-29 10:00"},
		{"to the minute, across midnight", minute, "2026-03-28T23:30:00Z", "2026-03-29 00:30"},
		{"with the zone in winter", MinuteZone, "2026-03-29T00:59:00Z", "2026-03-29 01:59 CET"},
		{"with the zone a minute later, in summer", MinuteZone, "2026-03-29T01:00:00Z", "2026-03-29 03:00 CEST"},
		{"to the second", Second, "2026-03-29T08:00:59.9Z", "2026-03-29 10:00:59"},
		{"to the second with the zone", SecondZone, "2026-01-01T08:00:00Z", "2026-01-01 09:00:00 CET"},
		{"a slot at the start of a minute", Slot, "2026-03-29T08:00:00Z", "2026-03-29 10:00"},
		{"a slot within a minute", Slot, "2026-03-29T08:00:30Z", "2026-03-29 10:00:30"},
		{"a slot with the zone", SlotZone, "2026-03-29T08:00:00Z", "2026-03-29 10:00 CEST"},
		{"a slot within a minute with the zone", SlotZone, "2026-03-29T08:00:30Z", "2026-03-29 10:00:30 CEST"},
		{"a slot of today", SlotOfDay, "2026-03-29T08:00:00Z", "10:00"},
		{"a slot of today within a minute", SlotOfDay, "2026-03-29T08:00:30Z", "10:00:30"},
	} {
		if got := row.write(at(t, row.at), berlin); got != row.want {
			t.Errorf("%s: %s is %q, not %q", row.how, row.at, got, row.want)
		}
	}
}

func TestTheDateIsWrittenWhereItIsNotTodays(t *testing.T) {
	const now = "2026-03-29T08:00:00Z"
	for _, row := range []struct {
		how   string
		write func(t, near time.Time, zone *time.Location) string
		at    string
		want  string
	}{
		{"today", MinuteNearZone, "2026-03-29T09:30:15Z", "11:30 CEST"},
		{"the first minute of today there", MinuteNearZone, "2026-03-28T23:00:00Z", "00:00 CET"},
		{"yesterday there, though today in UTC", MinuteNearZone, "2026-03-29T22:00:00Z", "2026-03-30 00:00 CEST"},
		{"the same day of another year", MinuteNearZone, "2025-03-29T08:00:00Z", "2025-03-29 09:00 CET"},
		{"a slot of today", SlotNear, "2026-03-29T09:30:00Z", "11:30"},
		{"a slot of today within a minute", SlotNear, "2026-03-29T09:30:15Z", "11:30:15"},
		{"a slot of tomorrow within a minute", SlotNear, "2026-03-30T09:30:15Z", "2026-03-30 11:30:15"},
	} {
		if got := row.write(at(t, row.at), at(t, now), berlin); got != row.want {
			t.Errorf("%s: %s near %s is %q, not %q", row.how, row.at, now, got, row.want)
		}
	}
}

func TestLater(t *testing.T) {
	first := at(t, "2026-03-29T08:00:00Z")
	second := first.Add(time.Nanosecond)
	if Later(first, second) != second || Later(second, first) != second || Later(first, first) != first {
		t.Error("the earlier one")
	}
}

func TestATimeInJSON(t *testing.T) {
	noon := time.Date(2026, 3, 6, 12, 0, 0, 500, time.FixedZone("", 3600))
	for want, value := range map[string]any{
		`"2026-03-06T12:00:00+01:00"`: JSONTime{noon},
		`"2026-03-06T11:00:00Z"`:      UTCOrNil(noon),
		`""`:                          UTC(time.Time{}),
		`null`:                        UTCOrNil(time.Time{}),
	} {
		if got, err := json.Marshal(value); string(got) != want || err != nil {
			t.Errorf("%s, %v, not %s", got, err, want)
		}
	}
	if text := fmt.Sprint(UTC(noon), "|", UTC(time.Time{})); text != "2026-03-06T11:00:00Z|" { // as a cell of CSV
		t.Error(text)
	}
}
