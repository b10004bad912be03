package dialect

import (
	"math/bits"
	"strings"
	"time"
)

// times are the fields of an expression: the times of the clock on the wall at which it is due.
type times struct {
	fields [len(kinds)]field // as kinds has them
	either bool              // one of the two day fields is enough
}

// readTimes reads the fields of an expression.
func readTimes(r *rules, layout string, words []string) (times, error) {
	var t times
	*t.of('s'), *t.of('y') = field{text: "0", values: 1}, field{text: "*"}
	both := false
	for i, word := range words {
		if layout[i] == 'w' && r.plus {
			word, both = strings.CutPrefix(word, "+")
		}
		f, err := reader{r, r.kindOf(layout[i])}.read(word)
		if err != nil {
			return t, err
		}
		*t.of(layout[i]) = f
	}
	t.either = r.either && !both && !t.of('d').free && !t.of('w').free
	return t, nil
}

// of returns a field by its letter.
func (t *times) of(letter byte) *field { return &t.fields[indexOf(letter)] }

// starred reports whether the minute or the hour begins with *.
func (t *times) starred() bool {
	return strings.HasPrefix(t.of('m').text, "*") || strings.HasPrefix(t.of('h').text, "*")
}

// single reports whether second, minute and hour have one value each, and no step.
func (t *times) single() bool {
	for _, letter := range []byte("smh") {
		if f := t.of(letter); bits.OnesCount64(f.values) > 1 || strings.ContainsAny(f.text, "*/?") {
			return false
		}
	}
	return true
}

// isDense reports whether it is due so often that what a program makes of one time does not show in
// another.
func (t *times) isDense() bool {
	const often = 48
	return bits.OnesCount64(t.of('m').values)*bits.OnesCount64(t.of('h').values) > often
}

// hasDate reports whether one of the months has one of the days in some year.
func (t *times) hasDate() bool {
	for number := 1; number <= 12; number++ {
		month := monthOf(2000, number) // a leap year
		if t.of('M').values>>number&1 == 1 && (t.of('d').values<<(63-month.length) != 0 || len(t.of('d').forms) > 0) {
			return true
		}
	}
	return false
}

func floorDay(wall int64) int64 { return wall - (wall%daySeconds+daySeconds)%daySeconds }

// find returns the first wall second of [from, to) that all fields allow.
func (t *times) find(from, to int64) (int64, bool) {
	for from < to {
		year, number, today := time.Unix(from, 0).UTC().Date()
		due := t.daysIn(year, int(number)) &^ (1<<today - 1)
		begin := floorDay(from) - int64(today)*daySeconds
		for ; due != 0; due &= due - 1 {
			day := bits.TrailingZeros64(due)
			midnight, second := begin+int64(day)*daySeconds, int64(0)
			if day == today {
				second = from - midnight
			}
			if second, ok := t.timeFrom(second); ok {
				return midnight + second, midnight+second < to
			}
		}
		from = time.Date(year, number+1, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return 0, false
}

// timeFrom returns the first second of a day, from one on, that seconds, minutes and hours allow.
func (t *times) timeFrom(from int64) (int64, bool) {
	seconds, minutes, hours := t.of('s').values, t.of('m').values, t.of('h').values
	if seconds == 0 || minutes == 0 {
		return 0, false
	}
	h, m, s := int(from/3600), int(from/60%60), int(from%60)
	if hours>>h&1 == 1 {
		if rest := seconds &^ (1<<s - 1); minutes>>m&1 == 1 && rest != 0 {
			return from - int64(s) + int64(bits.TrailingZeros64(rest)), true
		}
		if rest := minutes &^ (1<<(m+1) - 1); rest != 0 {
			return int64(h*3600 + bits.TrailingZeros64(rest)*60 + bits.TrailingZeros64(seconds)), true
		}
	}
	rest := hours &^ (1<<(h+1) - 1)
	first := bits.TrailingZeros64(minutes)*60 + bits.TrailingZeros64(seconds)
	return int64(bits.TrailingZeros64(rest)*3600 + first), rest != 0
}

// daysIn returns the days of a month that the fields allow, a bit for each from 1.
func (t *times) daysIn(year, number int) uint64 {
	if years := t.of('y').years; years != nil && !years[year] || t.of('M').values>>number&1 == 0 {
		return 0
	}
	m := monthOf(year, number)
	day, weekday := t.of('d'), t.of('w')
	inMonth, inWeek := day.values, uint64(0)
	for n := range 7 {
		if weekday.values>>n&1 == 1 {
			inWeek |= m.on(n)
		}
	}
	for _, f := range day.forms {
		inMonth |= f.days(m)
	}
	for _, f := range weekday.forms {
		inWeek |= f.days(m)
	}
	all := uint64(1)<<(m.length+1) - 2
	if t.either {
		return (inMonth | inWeek) & all
	}
	return inMonth & inWeek & all
}

// sameTimes reports whether both are due at the same seconds of the day.
func (t *times) sameTimes(other *times) bool {
	for _, letter := range []byte("smh") {
		if t.of(letter).values != other.of(letter).values {
			return false
		}
	}
	return true
}

// sameDays reports whether both are due on the same days of the years from one to another.
func (t *times) sameDays(other *times, first, last int) bool {
	for year := first; year <= last; year++ {
		for number := 1; number <= 12; number++ {
			if t.daysIn(year, number) != other.daysIn(year, number) {
				return false
			}
		}
	}
	return true
}
