package view

import (
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// Zones returns the zones in which a schedule's times are printed for somebody in the zone here.
func Zones(s *schedule.Schedule, here *time.Location) []*time.Location {
	zones := []*time.Location{s.Location, time.UTC, here}
	for _, t := range s.Tasks {
		if !slices.ContainsFunc(zones, func(z *time.Location) bool { return z.String() == t.When.Location.String() }) {
			zones = append(zones, t.When.Location)
		}
	}
	return zones
}

// ReadTime reads a time in one of these forms:
//
//   - RFC 3339
//   - "now", "2h ago", "in 2h", "2 days ago", "in 1 d 3 h"
//   - on the wall clock of the zone: 2006-01-02 15:04[:05], with a T for the blank; 15:04[:05] of
//     today; "tomorrow 9:00"; "Sat 9:00", on the first such day from today on; a date alone, or
//     such a word
//   - such a wall clock with a zone behind it, as sched prints times: an abbreviation that one of
//     the zones uses then (else a well-known zone), an offset, or the name of a zone. A weekday
//     before the date is ignored.
//
// If the clocks show a time twice, it is the first one, unless its zone says that it is the second.
// If the clocks skip a time, it stands for the end of the gap, when such jobs are due, and is
// returned in skipped.
func ReadTime(text string, now time.Time, zone *time.Location, others ...*time.Location) (at time.Time, skipped string, ok bool) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, "", true
	}
	words := strings.Fields(text)
	line := strings.ToLower(strings.Join(words, " "))
	if span, isPast := strings.CutSuffix(line, " ago"); isPast {
		ago, ok := readSpan(span)
		return now.Add(-ago), "", ok
	}
	if span, isAhead := strings.CutPrefix(line, "in "); isAhead {
		ahead, ok := readSpan(span)
		return now.Add(ahead), "", ok
	}
	if line == "now" {
		return now, "", true
	}
	if len(words) > 1 && weekday().MatchString(line) {
		words = words[1:]
	}
	if n := len(words) - 1; n > 0 && zoneWord().MatchString(words[n]) {
		return readInZone(strings.Join(words[:n], " "), words[n], now, append([]*time.Location{zone}, others...))
	}
	return readWallClock(strings.ToLower(strings.Join(words, " ")), now, zone)
}

var (
	weekday  = humanize.Pattern(`^(mon|tue|wed|thu|fri|sat|sun) \d{4}-`)
	zoneWord = humanize.Pattern(`^([A-Z]{2,5}|[+-]\d\d(:?\d\d)?|[A-Z][A-Za-z_]+/[A-Za-z_/+-]+)$`)
	units    = strings.NewReplacer("days", "d", "day", "d", "hours", "h", "hour", "h", "minutes", "m", "minute", "m", "min", "m",
		"seconds", "s", "second", "s", " ", "")
)

// readSpan reads a duration that is not negative, also as sched prints it: 2h, "2 h 5 m", "2
// hours".
func readSpan(text string) (time.Duration, bool) {
	d, err := yamldoc.ParseDuration(units.Replace(text))
	return d, err == nil && d >= 0
}

// readInZone reads a wall clock in the zone with that name, offset, or abbreviation. Zones resolves
// abbreviations.
func readInZone(clock, name string, now time.Time, zones []*time.Location) (at time.Time, skipped string, ok bool) {
	if strings.Contains(name, "/") {
		zone, err := time.LoadLocation(name)
		if err != nil {
			return at, "", false
		}
		return ReadTime(clock, now, zone)
	}
	for _, layout := range []string{"-07:00", "-0700", "-07"} {
		if zone, err := time.Parse(layout, name); err == nil {
			_, offset := zone.Zone()
			return ReadTime(clock, now, time.FixedZone(name, offset))
		}
	}
	for _, zone := range append(zones, wellKnown()...) {
		first, skipped, ok := ReadTime(clock, now, zone)
		if !ok || skipped != "" {
			continue
		}
		for _, later := range []time.Duration{0, 30 * time.Minute, time.Hour, 2 * time.Hour} { // the clocks may show it again
			at := first.In(zone).Add(later)
			if abbreviation, _ := at.Zone(); abbreviation == name && at.Format(time.TimeOnly) == first.In(zone).Format(time.TimeOnly) {
				return at, "", true
			}
		}
	}
	return at, "", false
}

// wellKnown returns zones whose abbreviations people use though no task is in them. The first zone
// that has an abbreviation counts.
func wellKnown() (zones []*time.Location) {
	for _, name := range []string{
		"America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "Europe/Berlin", "Europe/London",
		"Europe/Helsinki", "Europe/Moscow", "Asia/Kolkata", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland",
	} {
		if zone, err := time.LoadLocation(name); err == nil {
			zones = append(zones, zone)
		}
	}
	return zones
}

// ReadPast is ReadTime for a time of the past: a weekday is the last such day up to today.
func ReadPast(text string, now time.Time, zone *time.Location, others ...*time.Location) (at time.Time, skipped string, ok bool) {
	at, skipped, ok = ReadTime(text, now, zone, others...)
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
	if _, isDay := weekdays[word]; isDay && at.After(now) && !weekday().MatchString(strings.ToLower(text)) {
		return ReadTime(text, now.In(zone).AddDate(0, 0, -7), zone, others...)
	}
	return at, skipped, ok
}

var weekdays = map[string]time.Weekday{
	"sun": 0, "sunday": 0, "mon": 1, "monday": 1, "tue": 2, "tuesday": 2, "wed": 3, "wednesday": 3, "thu": 4, "thursday": 4,
	"fri": 5, "friday": 5, "sat": 6, "saturday": 6,
}

var days = map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}

// readWallClock reads a time on the wall clock of the zone, in small letters.
func readWallClock(words string, now time.Time, zone *time.Location) (at time.Time, skipped string, ok bool) {
	day, clock, both := strings.Cut(words, " ")
	if offset, isWord := days[day]; isWord {
		day = now.In(zone).AddDate(0, 0, offset).Format(time.DateOnly)
	} else if name, isName := weekdays[day]; isName {
		ahead := (int(name-now.In(zone).Weekday()) + 7) % 7
		day = now.In(zone).AddDate(0, 0, ahead).Format(time.DateOnly)
	} else if !both && strings.Contains(day, ":") && !strings.Contains(day, "t") {
		day, clock, both = now.In(zone).Format(time.DateOnly), day, true
	}
	if !both {
		clock = "0:00"
		if date, time, isTime := strings.Cut(day, "t"); isTime {
			day, clock = date, time
		}
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if wall, err := time.Parse(layout, day+" "+clock); err == nil {
			at, gap := cron.WallClock(wall, zone)
			if gap {
				skipped = wall.Format("15:04")
			}
			return at, skipped, true
		}
	}
	return time.Time{}, "", false
}
