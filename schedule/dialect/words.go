package dialect

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"sched/schedule/humanize"
)

// Words says when it is due: "at 09:00 on MON-FRI".
func Words(r *Reading) string {
	switch {
	case r.spec != nil:
		return "at " + r.spec.String()
	case r.every > 0:
		return "every " + spanText(r.every) + " from the start of the program on"
	}
	t := &r.times
	for _, letter := range []byte("smhM") {
		if t.of(letter).values == 0 {
			return "never: no " + kinds[indexOf(letter)].name + " is left"
		}
	}
	words := []string{timeWords(t), dayWords(t)}
	if months := t.of('M'); months.values != kinds[indexOf('M')].full() {
		words = append(words, "in "+list(months, 'M', asTheyAre))
	}
	if years := yearWords(t.of('y')); years != "" {
		words = append(words, "of "+years)
	}
	return strings.Join(words, " ")
}

// yearWords says the years; "" for all of them.
func yearWords(f *field) string {
	var parts []string
	for year := firstYear; year <= lastYear && f.years != nil; year++ {
		if !f.years[year] {
			continue
		}
		first := year
		for f.years[year+1] {
			year++
		}
		switch {
		case first == firstYear && year >= lastYear:
			return ""
		case first == year:
			parts = append(parts, fmt.Sprint(year))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", first, year))
		}
	}
	if f.years != nil && parts == nil {
		return "no year"
	}
	return strings.Join(parts, ",")
}

// timeWords says the times of the day.
func timeWords(t *times) string {
	seconds, minutes, hours := t.of('s'), t.of('m'), t.of('h')
	full := func(letter byte) bool { return t.of(letter).values == kinds[indexOf(letter)].full() }
	if seconds.values == 1 && bits.OnesCount64(minutes.values)*bits.OnesCount64(hours.values) <= 4 {
		var all []string
		for hour := range 24 {
			for minute := range 60 {
				if hours.values>>hour&1 == 1 && minutes.values>>minute&1 == 1 {
					all = append(all, fmt.Sprintf("%02d:%02d", hour, minute))
				}
			}
		}
		return "at " + strings.Join(all, ", ")
	}
	var words []string
	switch {
	case full('s'):
		words = append(words, "every second")
	case seconds.values != 1:
		words = append(words, "second "+list(seconds, 's', likeFixed))
	}
	switch {
	case !full('m'):
		words = append(words, "minute "+list(minutes, 'm', likeFixed))
	case !full('s'):
		words = append(words, "every minute")
	}
	if !full('h') {
		words = append(words, "hour "+list(hours, 'h', likeFixed))
	}
	return strings.Join(words, " of ")
}

// dayWords says the days.
func dayWords(t *times) string {
	day, weekday := t.of('d'), t.of('w')
	allDays := day.values&(1<<32-2) == kinds[indexOf('d')].full()
	allWeekdays := weekday.values == kinds[indexOf('w')].full()
	inMonth, inWeek := fieldWords(day, 'd', "day "), fieldWords(weekday, 'w', "")
	switch {
	case day.values|weekday.values == 0 && len(day.forms)+len(weekday.forms) == 0:
		return "on no day"
	case allDays && allWeekdays, t.either && (allDays || allWeekdays):
		return "every day"
	case allWeekdays && !t.either:
		return "on " + inMonth
	case allDays && !t.either:
		return "on " + inWeek
	case t.either && len(weekday.forms) == 0:
		return "on " + inMonth + ", and also on every " + inWeek
	case t.either:
		return "on " + inMonth + ", and also on " + inWeek
	}
	return "on " + inMonth + " if it is " + inWeek
}

// fieldWords says the values of a day field, behind a word, and its forms.
func fieldWords(f *field, letter byte, before string) string {
	plain := field{values: f.values}
	if letter == 'd' {
		plain.values &^= 1 // no month has a day 0
	}
	var words []string
	if plain.values != 0 {
		words = append(words, before+list(&plain, letter, likeFixed))
	}
	for _, form := range f.forms {
		words = append(words, form.words())
	}
	return strings.Join(words, ", ")
}

// spanText says a span of time in the largest unit that it is a number of.
func spanText(span time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if span%unit.length == 0 {
			return humanize.Count(int(span/unit.length), unit.name)
		}
	}
	return span.String()
}
