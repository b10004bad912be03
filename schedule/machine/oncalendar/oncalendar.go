// Package oncalendar says when a timer of systemd with OnCalendar= is due (systemd.time(7)). It is
// pure, and imports the standard library alone.
//
// Its results were compared with systemd 252: see testdata.
package oncalendar

import (
	"fmt"
	"strings"
	"time"
)

// A Spec is a calendar expression.
type Spec struct {
	weekdays [7]bool  // from Monday; all false: any
	fields   [6]field // year, month, day, hour, minute, second
	fromEnd  bool     // days count from the end of the month: 1 is the last one
	zone     *time.Location
	named    string // the zone, if the expression names it
}

// The indexes of fields.
const (
	year = iota
	month
	day
	hour
	minute
	second // in microseconds
)

// A field has the values of one field, in order. A nil field has all values.
type field []span

// A span is one value, or values in steps.
type span struct {
	first int
	last  int // -1: up to the highest
	step  int // 0: first alone
}

const perSecond = 1_000_000

// lows and highs are the bounds of the fields.
var (
	lows  = [6]int{1970, 1, 1, 0, 0, 0}
	highs = [6]int{2199, 12, 31, 23, 59, 60*perSecond - 1}
)

// A wall is what clock and calendar show: year, month, day, hour, minute, and microseconds of the
// minute.
type wall [6]int

func wallOf(t time.Time) wall {
	return wall{t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second()*perSecond + t.Nanosecond()/1000}
}

// in returns the instant at which the clocks of a zone show w, after another instant. A time that
// clocks show twice counts once: the first time, unless that has passed. ok is false in a gap.
func (w wall) in(zone *time.Location, after time.Time) (at time.Time, ok bool) {
	at = time.Date(w[year], time.Month(w[month]), w[day], w[hour], w[minute], 0, w[second]*1000, zone)
	for _, other := range []time.Time{at.AddDate(0, 0, -1), at.AddDate(0, 0, 1)} {
		_, offset := at.Zone()
		_, otherOffset := other.Zone()
		moved := at.Add(time.Duration(offset-otherOffset) * time.Second)
		if wallOf(moved) == w && moved.After(after) && (wallOf(at) != w || !at.After(after) || moved.Before(at)) {
			at = moved
		}
	}
	return at, wallOf(at) == w && at.After(after)
}

// Next returns the first instant after another one at which s is due; the zero time if no such
// instant comes before the year 2200.
//
//  1. Begin with what the clocks show a microsecond later.
//  2. Go on to the first time of the calendar that all fields have.
//  3. If the clocks never show that time, begin again after it.
func (s Spec) Next(after time.Time) time.Time {
	w := wallOf(after.In(s.zone).Truncate(time.Microsecond).Add(time.Microsecond))
	for s.advance(&w) {
		if at, ok := w.in(s.zone, after); ok {
			return at
		}
		w[second]++
	}
	return time.Time{}
}

// Zone returns the zone that the expression names; "" if it names none.
func (s Spec) Zone() string { return s.named }

// advance moves w on to the first time, not before w, that all fields have. It does as systemd 252
// does if a step leads beyond the last minute of a day, and its like: it goes on from what is left
// of the step. So with *:0/7 23:56 is followed by 00:07.
func (s Spec) advance(w *wall) bool {
	for index := year; index <= second; {
		value, ok := s.values(index, *w).next(w[index])
		high := highOf(index, *w)
		switch {
		case index == year && (!ok || value > high):
			return false
		case !ok || value > high:
			rest := 0
			if ok && index > month && w[index-1] == highOf(index-1, *w) {
				rest = value - high - 1
			}
			w[index-1]++
			w.reset(index)
			w[index] += rest
			for i := index - 1; i > year && w[i] > highOf(i, *w); i-- {
				w[i] = lows[i]
				w[i-1]++
			}
			index = year
			continue
		case value > w[index]:
			w[index] = value
			w.reset(index + 1)
		}
		if index == day && !s.hasWeekday(*w) {
			w[day]++
			w.reset(hour)
			continue
		}
		index++
	}
	return true
}

// reset sets a field and all after it to their lowest values.
func (w *wall) reset(from int) {
	for i := from; i <= second; i++ {
		w[i] = lows[i]
	}
}

// highOf is the highest value of a field.
func highOf(index int, w wall) int {
	if index == day {
		return daysOf(w)
	}
	return highs[index]
}

func daysOf(w wall) int {
	return time.Date(w[year], time.Month(w[month])+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// values returns the values of a field. Days that count from the end are turned around.
func (s Spec) values(index int, w wall) field {
	if index != day || !s.fromEnd {
		return s.fields[index]
	}
	var turned field
	for _, one := range s.fields[day] {
		one.first = daysOf(w) + 1 - one.first
		if one.last >= 0 {
			one.first, one.last = daysOf(w)+1-one.last, one.first
		}
		turned = append(turned, one)
	}
	return turned
}

func (s Spec) hasWeekday(w wall) bool {
	weekday := time.Date(w[year], time.Month(w[month]), w[day], 0, 0, 0, 0, time.UTC).Weekday()
	return s.weekdays == [7]bool{} || s.weekdays[(weekday+6)%7]
}

// next returns the first value from a number on.
func (f field) next(from int) (value int, ok bool) {
	if f == nil {
		return from, true
	}
	for _, one := range f {
		reached := one.first
		if reached < from {
			if one.step == 0 {
				continue
			}
			reached += (from - reached + one.step - 1) / one.step * one.step
			if one.last >= 0 && reached > one.last {
				continue
			}
		}
		if !ok || reached < value {
			value, ok = reached, true
		}
	}
	return value, ok
}

var days = [7]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}

// String writes the expression in the normal form of systemd: Mon *-*-* 00:00:00.
func (s Spec) String() string {
	dash := "-"
	if s.fromEnd && s.fields[day] != nil {
		dash = "~"
	}
	f := func(index int) string { return s.fields[index].text(index) }
	date, clock := f(year)+"-"+f(month)+dash+f(day), f(hour)+":"+f(minute)+":"+f(second)
	text := s.weekdaysText() + date + " " + clock
	return strings.TrimSuffix(text+" "+s.named, " ")
}

// weekdaysText writes three days or more in a row as a range.
func (s Spec) weekdaysText() string {
	var parts []string
	for i := 0; i < len(days); i++ {
		end := i
		for s.weekdays[i] && end+1 < len(days) && s.weekdays[end+1] {
			end++
		}
		switch {
		case i == 0 && end == len(days)-1:
			return ""
		case end > i+1:
			parts = append(parts, days[i][:3]+".."+days[end][:3])
			i = end
		case s.weekdays[i]:
			parts = append(parts, days[i][:3])
		}
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, ",") + " "
}

func (f field) text(index int) string {
	unit := 1
	if index == second {
		unit = perSecond
	}
	if f == nil || index == second && len(f) == 1 && f[0] == (span{0, -1, perSecond}) {
		return "*"
	}
	value := func(n int, format string) string {
		if index == second && n%perSecond != 0 {
			return fmt.Sprintf(format+".%06d", n/perSecond, n%perSecond)
		}
		return fmt.Sprintf(format, n/unit)
	}
	var parts []string
	for _, one := range f {
		text := value(one.first, "%02d")
		if one.last >= 0 {
			text += ".." + value(one.last, "%02d")
		}
		if one.step > 0 && (one.last < 0 || one.step != unit) {
			text += "/" + value(one.step, "%d")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ",")
}
