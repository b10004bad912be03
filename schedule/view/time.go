package view

import (
	"slices"
	"strings"
	"sync"
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
func ReadTime(
	text string, now time.Time, zone *time.Location, others ...*time.Location,
) (at time.Time, skipped string, ok bool) {
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
	if len(words) > 1 && weekdayDate().MatchString(line) {
		words = words[1:]
	}
	if n := len(words) - 1; n > 0 && zoneWord().MatchString(words[n]) {
		return readInZone(strings.Join(words[:n], " "), words[n], now, append([]*time.Location{zone}, others...))
	}
	return readWallClock(strings.ToLower(strings.Join(words, " ")), now, zone)
}

var (
	weekdayDate = humanize.Pattern(`^(mon|tue|wed|thu|fri|sat|sun) \d{4}-`)
	zoneWord    = humanize.Pattern(`^([A-Z]{2,5}|[+-]\d\d(:?\d\d)?|[A-Z][A-Za-z_]+/[A-Za-z_/+-]+)$`)
)

// unitWords replaces the words for units by the units of yamldoc.ParseDuration. The first word that
// fits is replaced: "mins" stands before "min".
var unitWords = strings.NewReplacer(
	"days", "d", "day", "d",
	"hours", "h", "hour", "h", "hrs", "h", "hr", "h",
	"minutes", "m", "minute", "m", "mins", "m", "min", "m",
	"seconds", "s", "second", "s", "secs", "s", "sec", "s",
	" ", "",
)

// readSpan reads a duration of zero, or of a second or more, also as sched prints it: 2h, "2 h 5
// m", "2 hours". Nobody means a part of a second: such a text is a slip of another unit.
func readSpan(text string) (time.Duration, bool) {
	span, err := yamldoc.ParseDuration(unitWords.Replace(text))
	return span, err == nil && (span == 0 || span >= time.Second)
}

// readInZone reads a wall clock in the zone with that name, offset, or abbreviation. For an
// abbreviation the zones are tried in turn.
func readInZone(
	clock, name string, now time.Time, zones []*time.Location,
) (at time.Time, skipped string, ok bool) {
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
		if at, ok := whileCalled(name, first.In(zone)); ok {
			return at, "", true
		}
	}
	return at, "", false
}

// whileCalled returns the time at which a zone has the abbreviation and its clocks show what they
// show at first. The time is first itself, or the second time at which the clocks show that: 30
// minutes later (Lord Howe), 1 hour later, or 2 hours later (Troll).
func whileCalled(abbreviation string, first time.Time) (time.Time, bool) {
	for _, later := range []time.Duration{0, 30 * time.Minute, time.Hour, 2 * time.Hour} {
		at := first.Add(later)
		shownAgain := at.Format(time.TimeOnly) == first.Format(time.TimeOnly)
		if name, _ := at.Zone(); name == abbreviation && shownAgain {
			return at, true
		}
	}
	return time.Time{}, false
}

// wellKnown returns zones whose abbreviations people use though no task is in them. The first zone
// that has an abbreviation counts.
func wellKnown() (zones []*time.Location) {
	for _, name := range []string{
		"America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles",
		"Europe/Berlin", "Europe/London", "Europe/Helsinki", "Europe/Moscow",
		"Asia/Kolkata", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland",
	} {
		if zone, err := time.LoadLocation(name); err == nil {
			zones = append(zones, zone)
		}
	}
	return zones
}

// ReadPast is ReadTime for a time of the past: a weekday is the last such day up to today.
func ReadPast(
	text string, now time.Time, zone *time.Location, others ...*time.Location,
) (at time.Time, skipped string, ok bool) {
	at, skipped, ok = ReadTime(text, now, zone, others...)
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
	if _, isDay := weekdayNames()[word]; isDay && at.After(now) && !weekdayDate().MatchString(strings.ToLower(text)) {
		return ReadTime(text, now.In(zone).AddDate(0, 0, -7), zone, others...)
	}
	return at, skipped, ok
}

var weekdayNames = sync.OnceValue(func() map[string]time.Weekday {
	return map[string]time.Weekday{
		"sun": time.Sunday, "sunday": time.Sunday,
		"mon": time.Monday, "monday": time.Monday,
		"tue": time.Tuesday, "tuesday": time.Tuesday,
		"wed": time.Wednesday, "wednesday": time.Wednesday,
		"thu": time.Thursday, "thursday": time.Thursday,
		"fri": time.Friday, "friday": time.Friday,
		"sat": time.Saturday, "saturday": time.Saturday,
	}
})

// dayWords are the words for days, with their distance from today.
var dayWords = map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}

// readWallClock reads a time on the wall clock of the zone, in small letters.
func readWallClock(words string, now time.Time, zone *time.Location) (at time.Time, skipped string, ok bool) {
	date, clock := splitWallClock(words, now.In(zone))
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if wall, err := time.Parse(layout, date+" "+clock); err == nil {
			at, isSkipped := cron.WallClock(wall, zone)
			if isSkipped {
				skipped = wall.Format("15:04")
			}
			return at, skipped, true
		}
	}
	return time.Time{}, "", false
}

// splitWallClock splits words into a date and a time of day. Without a date it is today, without a
// time of day it is midnight.
func splitWallClock(words string, today time.Time) (date, clock string) {
	date, clock, hasClock := strings.Cut(words, " ")
	weekday, isWeekday := weekdayNames()[date]
	distance, isDayWord := dayWords[date]
	switch {
	case isWeekday:
		ahead := (int(weekday-today.Weekday()) + 7) % 7
		date = today.AddDate(0, 0, ahead).Format(time.DateOnly)
	case isDayWord:
		date = today.AddDate(0, 0, distance).Format(time.DateOnly)
	case !hasClock && strings.Contains(words, ":") && !strings.Contains(words, "t"):
		return today.Format(time.DateOnly), words
	case !hasClock:
		date, clock, hasClock = strings.Cut(words, "t")
	}
	if !hasClock {
		clock = "0:00"
	}
	return date, clock
}
