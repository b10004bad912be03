package cmd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/yamldoc"
)

// parseAt reads --at as parseTime does; "" is now.
func (c *console) parseAt(text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return c.now(), nil
	}
	return c.parseTime("at", text, zone)
}

// parseTime reads the time of a flag, see readTime. It prints the time used for a skipped one.
func (c *console) parseTime(flag, text string, zone *time.Location) (time.Time, error) {
	at, skipped, ok := readTime(text, c.now(), zone, c.zones...)
	if !ok {
		return time.Time{}, usage("write it as "+timeForms, "--%s %q is not a time", flag, text)
	}
	if skipped != "" {
		c.problem("the clocks skip %s in %s; it is taken as %s", text, zone, at.Format("15:04"))
	}
	return at, nil
}

// parseMinute is parseAt for `sched why`. Its clock notes a time that the clocks skip.
func (c *console) parseMinute(text string, zone *time.Location) (at time.Time, clock string, err error) {
	if at, skipped, ok := readTime(text, c.now(), zone, c.zones...); ok {
		if skipped != "" {
			clock = fmt.Sprintf("%s did not exist on this day in %s: this is the end of the gap", skipped, zone)
		}
		return at, clock, nil
	}
	at, err = c.parseAt(text, zone)
	return at, "", err
}

// parseSpan reads --since and --until. An empty one is the zero time.
func (c *console) parseSpan(since, until string, zone *time.Location) (from, to time.Time, err error) {
	if from, err = c.parsePast("since", since, zone); err != nil {
		return from, to, err
	}
	if to, err = c.parsePast("until", until, zone); err != nil {
		return from, to, err
	}
	if !to.IsZero() && !from.Before(to) {
		return from, to, usage("", "--until %s is not after --since %s", until, since)
	}
	return from, to, nil
}

// parsePast reads a time, or how long ago it was. It returns the zero time for "".
func (c *console) parsePast(flag, text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := yamldoc.ParseDuration(text); err == nil {
		return c.now().Add(-ago), nil
	}
	if _, _, ok := readTime(text, c.now(), zone, c.zones...); ok {
		return c.parseTime(flag, text, zone)
	}
	return time.Time{}, usage("write it as 90m, 7d, "+timeForms, "--%s %q is neither a time nor a duration", flag, text)
}

// timeForms are how a time is written, for the help.
const timeForms = "14:30, tomorrow 9:00, 2006-01-02 15:04, 2h ago, in 2h, or as sched prints it"

// zonesOf are the zones in which a schedule's times are printed.
func zonesOf(s *schedule.Schedule) []*time.Location {
	zones := []*time.Location{s.Location, time.UTC, localZone()}
	for _, t := range s.Tasks {
		if !slices.ContainsFunc(zones, func(z *time.Location) bool { return z.String() == t.When.Location.String() }) {
			zones = append(zones, t.When.Location)
		}
	}
	return zones
}

// readTime reads a time in one of these forms:
//
//   - RFC 3339
//   - "now", "2h ago", "in 2h", "2 days ago", "in 1 d 3 h"
//   - on the wall clock of the zone: 2006-01-02 15:04[:05], with a T for the blank; 15:04[:05] of
//     today; "tomorrow 9:00"; a date or such a word alone
//   - such a wall clock with a zone behind it, as sched prints times: an abbreviation that one of
//     the zones uses then, an offset, or the name of a zone. A weekday before the date counts for
//     nothing.
//
// A time that the clocks show twice is the first one, unless its zone says that it is the second. A
// time that they skip stands for the end of the gap, when such jobs are due, and is returned in
// skipped.
func readTime(text string, now time.Time, zone *time.Location, others ...*time.Location) (at time.Time, skipped string, ok bool) {
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
	if len(words) > 1 && weekday.MatchString(line) {
		words = words[1:]
	}
	if n := len(words) - 1; n > 0 && zoneWord.MatchString(words[n]) {
		return readInZone(strings.Join(words[:n], " "), words[n], now, append([]*time.Location{zone}, others...))
	}
	return readWallClock(strings.ToLower(strings.Join(words, " ")), now, zone)
}

var (
	weekday  = regexp.MustCompile(`^(mon|tue|wed|thu|fri|sat|sun) \d{4}-`)
	zoneWord = regexp.MustCompile(`^([A-Z]{2,5}|[+-]\d\d(:?\d\d)?|[A-Z][A-Za-z_]+/[A-Za-z_/+-]+)$`)
	units    = strings.NewReplacer("days", "d", "day", "d", "hours", "h", "hour", "h", "minutes", "m", "minute", "m", "min", "m",
		"seconds", "s", "second", "s", " ", "")
)

// readSpan reads a duration that is not negative, also as sched prints it: 2h, "2 h 5 m", "2
// hours".
func readSpan(text string) (time.Duration, bool) {
	d, err := yamldoc.ParseDuration(units.Replace(text))
	return d, err == nil && d >= 0
}

// readInZone reads a wall clock in the zone with that name, offset, or abbreviation; the zones say
// what an abbreviation is.
func readInZone(clock, name string, now time.Time, zones []*time.Location) (at time.Time, skipped string, ok bool) {
	if strings.Contains(name, "/") {
		zone, err := time.LoadLocation(name)
		if err != nil {
			return at, "", false
		}
		return readTime(clock, now, zone)
	}
	for _, layout := range []string{"-07:00", "-0700", "-07"} {
		if zone, err := time.Parse(layout, name); err == nil {
			_, offset := zone.Zone()
			return readTime(clock, now, time.FixedZone(name, offset))
		}
	}
	for _, zone := range zones {
		first, skipped, ok := readTime(clock, now, zone)
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

var days = map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}

// readWallClock reads a time on the wall clock of the zone, in small letters.
func readWallClock(words string, now time.Time, zone *time.Location) (at time.Time, skipped string, ok bool) {
	day, clock, both := strings.Cut(words, " ")
	if offset, isWord := days[day]; isWord {
		day = now.In(zone).AddDate(0, 0, offset).Format(time.DateOnly)
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
