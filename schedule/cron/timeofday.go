package cron

import (
	"fmt"
	"strings"
)

const (
	minuteSeconds = 60
	hourSeconds   = 60 * minuteSeconds
	daySeconds    = 24 * hourSeconds
)

// times are the times of day, in seconds, that match the fields for second, minute and hour.
type times struct{ seconds, minutes, hours set }

// next returns the first due time of day from second on.
func (t times) next(second int64) (int64, bool) {
	h, m, s := hourMinuteSecond(second)
	if t.hours.has(h) {
		if t.minutes.has(m) {
			if s, ok := t.seconds.from(s); ok {
				return secondOfDay(h, m, s), true
			}
		}
		if m, ok := t.minutes.from(m + 1); ok {
			return secondOfDay(h, m, t.seconds.first()), true
		}
	}
	h, ok := t.hours.from(h + 1)
	return secondOfDay(h, t.minutes.first(), t.seconds.first()), ok
}

// before returns the number of due times of day before second, which may be daySeconds.
func (t times) before(second int64) int {
	h, m, s := hourMinuteSecond(second)
	n := t.hours.below(h).len() * t.minutes.len() * t.seconds.len()
	if !t.hours.has(h) {
		return n
	}
	n += t.minutes.below(m).len() * t.seconds.len()
	if !t.minutes.has(m) {
		return n
	}
	return n + t.seconds.below(s).len()
}

func hourMinuteSecond(second int64) (h, m, s int) {
	return int(second / hourSeconds), int(second / minuteSeconds % 60), int(second % 60)
}

func secondOfDay(h, m, s int) int64 {
	return int64(h)*hourSeconds + int64(m)*minuteSeconds + int64(s)
}

// ceil returns the smallest multiple of unit that is t or larger.
func ceil(t, unit int64) int64 { return t + mod(-t, unit) }

// mod returns the remainder of t by unit. It is never negative, even for times before 1970.
func mod(t, unit int64) int64 { return (t%unit + unit) % unit }

// atTimes returns the times of day, to the minute, in words: " at 8:00, 9:00"; "" for midnight
// alone.
func (t times) atTimes() string {
	var words []string
	for hour, ok := t.hours.from(0); ok; hour, ok = t.hours.from(hour + 1) {
		words = append(words, fmt.Sprintf("%d:%02d", hour, t.minutes.first()))
	}
	if len(words) == 1 && words[0] == "0:00" {
		return ""
	}
	return " at " + strings.Join(words, ", ")
}
