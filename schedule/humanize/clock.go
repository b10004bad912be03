package humanize

import "time"

const (
	date   = "2006-01-02"
	minute = "15:04"
	second = "15:04:05"
)

// Minute writes a time to the minute: "2026-03-29 10:00".
func Minute(t time.Time, zone *time.Location) string { return t.In(zone).Format(date + " " + minute) }

// MinuteZone is Minute with the name of the zone, for those who may think of another one, or of the
// hour before the clocks changed: "2026-03-29 10:00 CEST".
func MinuteZone(t time.Time, zone *time.Location) string { return Minute(t, zone) + zoneName(t, zone) }

// MinuteNear writes a time to the minute with its zone, and with the date only when that is not the
// date of near: "10:00 CEST", or "2026-03-28 10:00 CET". For times around now, with now as near.
func MinuteNear(t, near time.Time, zone *time.Location) string {
	if SameDay(t, near, zone) {
		return t.In(zone).Format(minute) + zoneName(t, zone)
	}
	return MinuteZone(t, zone)
}

// Second writes a time to the second: "2026-03-29 10:00:00".
func Second(t time.Time, zone *time.Location) string { return t.In(zone).Format(date + " " + second) }

// SecondZone is Second with the name of the zone: "2026-03-29 10:00:00 CEST".
func SecondZone(t time.Time, zone *time.Location) string { return Second(t, zone) + zoneName(t, zone) }

// SecondOffset writes a time to the second with the offset of the zone that it carries, whose name
// may be lost, as after JSON: "2026-03-29 10:00:00 +02:00". The zero time is "".
func SecondOffset(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(date + " " + second + " -07:00")
}

// Slot writes the time at which a task is due: to the minute, or to the second where it is not at
// the start of a minute. "2026-03-29 10:00", "2026-03-29 10:00:30".
func Slot(t time.Time, zone *time.Location) string {
	return t.In(zone).Format(date) + " " + SlotOfDay(t, zone)
}

// SlotZone is Slot with the name of the zone: "2026-03-29 10:00 CEST".
func SlotZone(t time.Time, zone *time.Location) string { return Slot(t, zone) + zoneName(t, zone) }

// SlotNear is Slot with the date only where that is not the one of near: "10:00", "10:00:30",
// "2026-03-28 10:00".
func SlotNear(t, near time.Time, zone *time.Location) string {
	if SameDay(t, near, zone) {
		return SlotOfDay(t, zone)
	}
	return Slot(t, zone)
}

// SlotNearZone is SlotNear with the name of the zone: "10:00:30 CEST".
func SlotNearZone(t, near time.Time, zone *time.Location) string {
	return SlotNear(t, near, zone) + zoneName(t, zone)
}

// SlotOfDay is Slot without the date: "10:00", "10:00:30".
func SlotOfDay(t time.Time, zone *time.Location) string {
	if t.Second() != 0 {
		return t.In(zone).Format(second)
	}
	return t.In(zone).Format(minute)
}

// SlotOfDayZone is SlotOfDay with the name of the zone: "10:00 CEST".
func SlotOfDayZone(t time.Time, zone *time.Location) string {
	return SlotOfDay(t, zone) + zoneName(t, zone)
}

// SameDay reports whether two times have the same date in the zone.
func SameDay(a, b time.Time, zone *time.Location) bool {
	return a.In(zone).Format(date) == b.In(zone).Format(date)
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func zoneName(t time.Time, zone *time.Location) string { return t.In(zone).Format(" MST") }
