package dialect

import (
	"math/bits"
	"time"
)

// realFields are the fields of a date, the largest first.
const realFields = "yMdhms"

// A walker is at a date, as APScheduler has it: wall is what it shows, and offset is from UTC. In a
// gap the offset is the one before the gap.
type walker struct {
	wall, offset int64
	zone         *time.Location
}

// walkFrom returns the next time of APScheduler. It goes from the year to the second:
//
//  1. If the date has a value that the field allows, it goes on with the next smaller field.
//  2. If a higher value is allowed, the clock on the wall is set to it, and in a repeated hour to
//     the second pass.
//  3. If none is, the next larger field is raised by one. The difference of the two times of the wall
//     clock is added as time that has passed. If clocks change in between, that leads beside the
//     time that was meant, so that a whole day or year can be passed over.
func walkFrom(t *times, after time.Time, years int) (time.Time, bool) {
	at := after.Truncate(time.Second).Add(time.Second)
	_, offset := at.Zone()
	w := walker{at.Unix() + int64(offset), int64(offset), at.Location()}
	for level := 0; level < len(realFields); {
		date := w.date()
		if date.Year() > after.Year()+years {
			return time.Time{}, false
		}
		value := valueOf(date, level)
		higher := allowedOn(t, date, level) &^ (1<<value - 1)
		switch next := bits.TrailingZeros64(higher); {
		case level == 0, next == value && (realFields[level] != 'd' || t.of('w').values>>int(date.Weekday())&1 == 1):
			level++
		case next == value: // the day is allowed, and the weekday is not
			level = w.raise(level)
		case higher == 0:
			level = w.raise(level - 1)
		default:
			w.set(level, next)
		}
	}
	return time.Unix(w.wall-w.offset, 0).In(w.zone), true
}

// allowedOn returns the values of a field, a bit for each, on a date.
func allowedOn(t *times, date time.Time, level int) uint64 {
	f := t.of(realFields[level])
	values := f.values
	if realFields[level] == 'd' {
		m := monthOf(date.Year(), int(date.Month()))
		for _, form := range f.forms {
			values |= form.days(m)
		}
		values &= 1<<(m.length+1) - 1
	}
	return values
}

// set sets a field, and all smaller ones to their lowest values.
func (w *walker) set(level, value int) {
	w.wall = wallOf(w.date(), level, value)
	w.offset = w.wall - instantOf(w.zone, w.wall)
}

// raise raises a field by one, or a larger one, if the field has its highest value. It returns
// which.
func (w *walker) raise(level int) int {
	date := w.date()
	for valueOf(date, level) == highest(date, level) {
		level--
	}
	at := wallOf(date, level, valueOf(date, level)+1) - w.offset
	_, offset := time.Unix(at, 0).In(w.zone).Zone()
	w.wall, w.offset = at+int64(offset), int64(offset)
	return level
}

func (w *walker) date() time.Time { return time.Unix(w.wall, 0).UTC() }

// instantOf returns the instant of a wall second: in a repeated hour of the second pass, and in a
// gap as long after it as the time lies in it.
func instantOf(zone *time.Location, wall int64) int64 {
	at, _ := clockRule{gap: afterGap, overlap: secondPass}.instant(zone, wall)
	return at
}

func valueOf(date time.Time, level int) int {
	return [...]int{date.Year(), int(date.Month()), date.Day(), date.Hour(), date.Minute(), date.Second()}[level]
}

// highest returns the highest value of a field on a date.
func highest(date time.Time, level int) int {
	return [...]int{lastYear, 12, monthOf(date.Year(), int(date.Month())).length, 23, 59, 59}[level]
}

// wallOf returns the wall second of a date with another value in one field, and the lowest values
// in all smaller ones.
func wallOf(date time.Time, level, value int) int64 {
	v := [...]int{date.Year(), 1, 1, 0, 0, 0}
	for i := range level {
		v[i] = valueOf(date, i)
	}
	v[level] = value
	return time.Date(v[0], time.Month(v[1]), v[2], v[3], v[4], v[5], 0, time.UTC).Unix()
}
