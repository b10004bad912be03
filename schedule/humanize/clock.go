package humanize

import (
	"fmt"
	"strings"
	"time"
)

const (
	date   = "2006-01-02"
	minute = "15:04"
	second = "15:04:05"
)

// Minute writes a time to the minute: "2026-03-29 10:00".
func Minute(t time.Time, zone *time.Location) string { return t.In(zone).Format(date + " " + minute) }

// MinuteZone is Minute with the name of the zone, for readers who may think of another zone, or of
// the hour before the clocks changed: "2026-03-29 10:00 CEST".
func MinuteZone(t time.Time, zone *time.Location) string { return Minute(t, zone) + zoneName(t, zone) }

// MinuteNear writes a time to the minute with its zone. It adds the date only if that is not the
// date of near: "10:00 CEST", or "2026-03-28 10:00 CET". For times around now, near is now.
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

// SecondOffset writes a time to the second with the offset of the zone that it carries: "2026-03-29
// 10:00:00 +02:00". The name of the zone may be lost, as after JSON. The zero time is "".
func SecondOffset(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(date + " " + second + " -07:00")
}

// Slot writes the time at which a task is due: to the minute, or to the second if the time is not
// at the start of a minute. "2026-03-29 10:00", "2026-03-29 10:00:30".
func Slot(t time.Time, zone *time.Location) string {
	return t.In(zone).Format(date) + " " + SlotOfDay(t, zone)
}

// SlotZone is Slot with the name of the zone: "2026-03-29 10:00 CEST".
func SlotZone(t time.Time, zone *time.Location) string { return Slot(t, zone) + zoneName(t, zone) }

// SlotNear is Slot, with the date only if that is not the date of near: "10:00", "10:00:30",
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

// Duration writes how long something takes, in the two largest units that matter: "310 ms", "9.5
// s", "42 s", "1 m 15 s", "2 h 0 m", "3 d 4 h". Smaller units are left out. The duration must not
// be negative.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d m %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d m", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// DurationPrecise writes a duration for notifications, which people keep. Below a minute it is
// precise to the tenth of a second, above to the second: "310 ms", "11.5 s", "1m15s", "20m",
// "1h0m". The duration must not be negative.
func DurationPrecise(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}

// Setting writes a duration as a schedule has it: "30d", "1h30m", "90s", "50ms".
func Setting(d time.Duration) string {
	const day = 24 * time.Hour
	days := ""
	if d >= day {
		days, d = fmt.Sprintf("%dd", d/day), d%day
	}
	if d == 0 && days != "" {
		return days
	}
	rest := d.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(rest, none) {
			rest = strings.TrimSuffix(rest, none[1:])
		}
	}
	return days + rest
}
