// Package vixie says at which minutes Vixie cron, as Debian has it (3.0pl1), starts a line of a
// crontab.
//
// It checks schedule/cron, so it shares neither code nor a library nor the idea with it: it follows
// the main loop of cron(8), with its "virtual time" that never runs twice, minute by minute at
// changes of the clocks. It imports the standard library alone, and is pure.
package vixie

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Times are the five fields of a line, a bit for each value. The zero Times never match.
type Times struct {
	minutes, hours, days, months, weekdays uint64

	followsClock bool // the minute or the hour begins with *: the line follows the wall clock when that is set
	eitherDay    bool // neither day field begins with *: one of them is enough
}

type field struct {
	name      string
	low, high int
	names     []string // of low, low+1, …
}

var fields = [5]field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of the week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun"}},
}

// nicknames are in lower case: cron knows no other.
var nicknames = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Parse reads five fields with blanks between them, or a nickname such as @daily. A text that cron
// refuses is an error. So is a text that cron reads only in part: see ParseStart. @reboot is
// no time.
func Parse(text string) (Times, error) {
	times, read, err := ParseStart(text)
	if err == nil && read != "" {
		err = fmt.Errorf("cron reads %q as %q", text, read)
	}
	return times, err
}

// ParseStart reads as Parse does, but of each field as much as cron does: after a number, a range
// or a step with no comma behind it, cron leaves out the rest of the field (get_list and get_range
// in entry.c). "*-5" and "*5" are "*" to it, "5;" is "5", "1-5-7" is "1-5", and "2#1" is "2". read
// is what cron reads, if that is not the whole text; else "".
func ParseStart(text string) (times Times, read string, err error) {
	if expanded, ok := nicknames[text]; ok {
		text = expanded
	}
	words := strings.Fields(text)
	if len(words) != len(fields) {
		return Times{}, "", fmt.Errorf("%q has %d fields, not 5", text, len(words))
	}
	var sets [len(fields)]uint64
	var starts []string
	for i, word := range words {
		rest, err := fields[i].addAll(&sets[i], word)
		if err != nil {
			return Times{}, "", fmt.Errorf("%s %q: %w", fields[i].name, word, err)
		}
		starts = append(starts, strings.TrimSuffix(word, rest))
	}
	if !slices.Equal(starts, words) {
		read = strings.Join(starts, " ")
	}
	const sunday, alsoSunday = 1 << 0, 1 << 7
	if sets[4]&(sunday|alsoSunday) != 0 {
		sets[4] |= sunday | alsoSunday
	}
	starred := func(i int) bool { return words[i][0] == '*' }
	return Times{
		minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4],
		followsClock: starred(0) || starred(1),
		eitherDay:    !starred(2) && !starred(4),
	}, read, nil
}

// addAll adds a bit for each value of the list with which the text begins, and returns the rest.
func (f field) addAll(bits *uint64, text string) (rest string, err error) {
	for {
		if rest, err = f.add(bits, text); err != nil || !strings.HasPrefix(rest, ",") {
			return rest, err
		}
		text = rest[1:]
	}
}

// add adds *, 5, 1-5, */15 or 1-5/2, with which the text begins, and returns the rest. A range that
// runs backwards is empty to cron, and no error.
func (f field) add(bits *uint64, text string) (rest string, err error) {
	low, high := f.low, f.high
	rest, isStar := strings.CutPrefix(text, "*")
	if !isStar {
		if low, rest, err = f.number(text); err != nil {
			return "", err
		}
		high = low
		if strings.HasPrefix(rest, "-") {
			if high, rest, err = f.number(rest[1:]); err != nil {
				return "", err
			}
		} else if stepText, stepped := strings.CutPrefix(rest, "/"); stepped {
			return "", fmt.Errorf("a step needs a range or *, as in %d-%d/%s", low, f.high, stepText)
		}
	}
	step := 1
	if stepText, stepped := strings.CutPrefix(rest, "/"); stepped {
		word := alphanumerics(stepText)
		if step, err = strconv.Atoi(word); err != nil || step < 1 {
			return "", fmt.Errorf("%q is no step", stepText)
		}
		rest = stepText[len(word):]
	}
	for value := low; value <= high; value += step {
		*bits |= 1 << value
	}
	return rest, nil
}

// alphanumerics returns the letters and digits of ASCII with which the text begins.
func alphanumerics(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool {
		return r > 'z' || !strings.ContainsRune("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", r)
	})
	if end < 0 {
		return text
	}
	return text[:end]
}

// number reads the number or the name with which the text begins, and returns the rest.
func (f field) number(text string) (n int, rest string, err error) {
	word := alphanumerics(text)
	rest = text[len(word):]
	for i, name := range f.names {
		if strings.EqualFold(name, word) {
			return f.low + i, rest, nil
		}
	}
	if n, err = strconv.Atoi(word); err != nil {
		return 0, "", fmt.Errorf("%q is no number", text)
	}
	if n < f.low || n > f.high {
		return 0, "", fmt.Errorf("%s is not in %d-%d", word, f.low, f.high)
	}
	return n, rest, nil
}

// Never reports whether no date has these times, as 31 February, or a field is empty, as 5-1.
func (t Times) Never() bool {
	const days = 28 * 366 // after 28 years the calendar repeats
	if t.minutes == 0 || t.hours == 0 {
		return true
	}
	for date := range int64(days) {
		if t.onDay(date) {
			return false
		}
	}
	return true
}

// String writes five fields of plain numbers, and * for all values.
func (t Times) String() string {
	var words []string
	for i, bits := range []uint64{t.minutes, t.hours, t.days, t.months, t.weekdays} {
		words = append(words, fields[i].list(bits))
	}
	return strings.Join(words, " ")
}

func (f field) list(bits uint64) string {
	high := f.high
	if f.high == 7 { // Sunday is 0
		high = 6
	}
	var parts []string
	for value := f.low; value <= high; value++ {
		if bits>>value&1 == 0 {
			continue
		}
		end := value
		for end < high && bits>>(end+1)&1 == 1 {
			end++
		}
		switch {
		case value == f.low && end == high:
			return "*"
		case end-value > 1:
			parts = append(parts, fmt.Sprintf("%d-%d", value, end))
		case end > value:
			parts = append(parts, strconv.Itoa(value), strconv.Itoa(end))
		default:
			parts = append(parts, strconv.Itoa(value))
		}
		value = end
	}
	return strings.Join(parts, ",")
}

// Key tells times apart: two with the same key come at the same minutes. String leaves out how the
// fields begin.
func (t Times) Key() string { return t.String() + fmt.Sprint(t.followsClock, t.eitherDay) }

const dayMinutes = 24 * 60

// A Calendar is the offsets from UTC that a zone keeps during a span. Minutes are counted from
// 1970, in UTC unless they are called wall minutes.
type Calendar struct {
	from, to int64
	offset   int64    // in minutes, at the beginning
	changes  []change // in order
}

type change struct{ at, offset int64 }

// catchUpMinutes is far longer than cron remembers a change of the clocks: after maxStep it has
// caught up.
const catchUpMinutes = 24 * 60

// NewCalendar looks at the clock of each hour of [from, to), and of each minute of an hour in which
// the clocks change. So it finds changes that last an hour.
func NewCalendar(zone *time.Location, from, to time.Time) *Calendar {
	c := &Calendar{from: floor(from.Unix(), 60), to: floor(to.Unix(), 60)}
	offset := func(minute int64) int64 {
		_, seconds := time.Unix(minute*60, 0).In(zone).Zone()
		return floor(int64(seconds), 60)
	}
	c.offset = offset(c.from - catchUpMinutes)
	current := c.offset
	for begin := c.from - catchUpMinutes; begin < c.to; begin += 60 {
		end := min(begin+60, c.to)
		if offset(end) == current {
			continue
		}
		for minute := begin + 1; minute <= end; minute++ {
			if changed := offset(minute); changed != current {
				c.changes, current = append(c.changes, change{minute, changed}), changed
			}
		}
	}
	return c
}

// ChangeTimes returns the first minutes after the changes of the clocks.
func (c *Calendar) ChangeTimes() (times []time.Time) {
	for _, change := range c.changes {
		if change.at >= c.from {
			times = append(times, time.Unix(change.at*60, 0).UTC())
		}
	}
	return times
}

// offsetAt returns the offset in a minute, and the first minute with the next offset.
func (c *Calendar) offsetAt(minute int64) (offset, until int64) {
	i, exact := slices.BinarySearchFunc(c.changes, minute, func(ch change, m int64) int { return int(ch.at - m) })
	if exact {
		i++
	}
	offset, until = c.offset, 1<<60
	if i > 0 {
		offset = c.changes[i-1].offset
	}
	if i < len(c.changes) {
		until = c.changes[i].at
	}
	return offset, until
}

// maxStep is the largest step of the clock, in minutes, that cron takes for a change of the offset.
// After a larger step it goes on from the new time: it makes up for nothing and holds nothing back.
const maxStep = 3 * 60

// Due returns the minutes of [from, to) in which cron starts the line, in buffer if that is large
// enough; what was in buffer is lost. Both minutes lie in the calendar. If cron starts a line more
// than once in a minute, after a gap that had several of its times, the minute counts once.
func (t Times) Due(c *Calendar, from, to int64, buffer []int64) (due []int64) {
	due, at := buffer[:0], from-catchUpMinutes
	offset, _ := c.offsetAt(at)
	virtual := at + offset - 1 // the wall minute up to which everything has run
	ofDay := t.minutesOfDay()
	for at < to {
		var until int64
		offset, until = c.offsetAt(at)
		until = min(until, to)
		for ; at < until && at+offset != virtual+1; at++ { // the clocks have changed
			var starts bool
			starts, virtual = t.wake(virtual, at+offset)
			if starts && at >= from {
				due = append(due, at)
			}
		}
		if at < until {
			due = t.appendOnClock(due, ofDay, max(at, from), until, offset)
			at, virtual = until, until-1+offset
		}
	}
	return due
}

// wake is the decision of cron's main loop (cron.c, main) when the wall clock shows a minute other
// than the one after virtual.
func (t Times) wake(virtual, now int64) (starts bool, newVirtual int64) {
	switch step := now - virtual; {
	case step > 0 && step <= 5: // it woke up late
		return t.between(virtual, now), now
	case step > 5 && step <= maxStep: // the clocks went forward
		if t.followsClock {
			return t.matches(now), now
		}
		return t.between(virtual, now), now
	case step <= 0 && step > -maxStep: // the clocks went back: a line with a fixed time has run already
		return t.followsClock && t.matches(now), virtual
	}
	return t.matches(now), now
}

// between reports whether a wall minute after the first one, up to the last one, matches.
func (t Times) between(after, last int64) bool {
	for wall := after + 1; wall <= last; wall++ {
		if t.matches(wall) {
			return true
		}
	}
	return false
}

// matches reports whether a wall minute matches all fields.
func (t Times) matches(wall int64) bool {
	date := floor(wall, dayMinutes)
	minute := wall - date*dayMinutes
	return t.minutes>>(minute%60)&1 == 1 && t.hours>>(minute/60)&1 == 1 && t.onDay(date)
}

// onDay reports whether month and days match a date, counted in days from 1970.
func (t Times) onDay(date int64) bool {
	at := time.Unix(date*dayMinutes*60, 0).UTC()
	_, month, dom := at.Date()
	inMonth, inWeek := t.days>>dom&1 == 1, t.weekdays>>int(at.Weekday())&1 == 1
	if t.months>>int(month)&1 == 0 {
		return false
	}
	if t.eitherDay {
		return inMonth || inWeek
	}
	return inMonth && inWeek
}

// minutesOfDay returns the minutes of the day, from midnight, that match minute and hour.
func (t Times) minutesOfDay() (minutes []int64) {
	for minute := range int64(dayMinutes) {
		if t.minutes>>(minute%60)&1 == 1 && t.hours>>(minute/60)&1 == 1 {
			minutes = append(minutes, minute)
		}
	}
	return minutes
}

// appendOnClock appends to due the matches in [from, to) while the offset is the same, by whole
// days.
func (t Times) appendOnClock(due, ofDay []int64, from, to, offset int64) []int64 {
	for date := floor(from+offset, dayMinutes); date*dayMinutes < to+offset; date++ {
		if !t.onDay(date) {
			continue
		}
		midnight := date*dayMinutes - offset
		for _, minute := range ofDay {
			if at := midnight + minute; at >= from && at < to {
				due = append(due, at)
			}
		}
	}
	return due
}

// floor divides and rounds down, also before 1970.
func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
