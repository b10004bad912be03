package dialect

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"
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
	words := []string{timeWords(t), dayWords(t)}
	if months := t.of('M'); months.values != kinds[indexOf('M')].full() {
		words = append(words, "in "+list(months, 'M', asTheyAre))
	}
	if years := t.of('y').years; years != nil {
		var all []string
		for year := firstYear; year <= lastYear; year++ {
			if years[year] && len(all) < 3 {
				all = append(all, fmt.Sprint(year))
			}
		}
		if len(all) < 3 {
			words = append(words, "of "+strings.Join(all, ", "))
		}
	}
	return strings.Join(words, " ")
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
	case t.either:
		return "on " + inMonth + ", and on " + inWeek
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
			return count(int(span/unit.length), unit.name)
		}
	}
	return span.String()
}

// A Change is a change of the clocks that touches times of a reading.
type Change struct {
	At       time.Time // the first instant after it
	From, To string    // what the clocks show without it at that instant, and with it
	Text     string    // what becomes of the times
}

// Changes returns the changes of the clocks in [from, until) that touch times of a reading.
func Changes(r *Reading, from, until time.Time) (changes []Change) {
	if !r.hasFields() {
		return nil
	}
	for at := from; ; {
		_, end := at.In(r.Location).ZoneBounds()
		if end.IsZero() || !end.Before(until) || !end.After(at) {
			return changes
		}
		at = end
		_, before := at.Add(-time.Second).Zone()
		_, after := at.Zone()
		begin, length := at.Unix()+int64(min(before, after)), int64(max(before, after)-min(before, after))
		first, touched := r.times.find(begin, begin+length)
		if !touched {
			continue
		}
		wall := func(offset int) string { return time.Unix(at.Unix()+int64(offset), 0).UTC().Format("15:04") }
		text := time.Unix(first, 0).UTC().Format("15:04") + " comes twice: " + passes(r, at, length)
		if after > before {
			text = time.Unix(first, 0).UTC().Format("15:04") + " does not exist: " + madeUp(r, at, length)
		}
		changes = append(changes, Change{at, wall(before), wall(after), text})
	}
}

// passes says in which of the two passes of a repeated time the program starts the job.
func passes(r *Reading, at time.Time, length int64) string {
	span := time.Duration(length) * time.Second
	inFirst, inSecond := false, false
	next, ok := Within(r, at.Add(-span), at.Add(span))
	for ; ok && next.Before(at.Add(span)); next, ok = r.Next(next) {
		inFirst, inSecond = inFirst || next.Before(at), inSecond || !next.Before(at)
	}
	switch {
	case inFirst && inSecond:
		return "it runs in both passes"
	case inFirst:
		return "it runs in the first pass"
	case inSecond:
		return "it runs in the second pass"
	}
	return "it runs in none"
}

// madeUp says when the program starts the job for a time that the clocks skip.
func madeUp(r *Reading, at time.Time, length int64) string {
	span := time.Duration(length) * time.Second
	for _, from := range []time.Time{at.Add(-span), at} {
		next, ok := Within(r, from, from.Add(span))
		if !ok {
			continue
		}
		_, offset := next.Zone()
		wall := next.Unix() + int64(offset)
		if _, isOwn := r.times.find(wall, wall+1); !isOwn {
			return "it runs at " + next.Format("15:04")
		}
	}
	return "it is left out"
}

// Within returns the first instant of [from, until) at which it is due.
func Within(r *Reading, from, until time.Time) (time.Time, bool) {
	next, ok := r.Next(from.Add(-time.Nanosecond))
	return next, ok && next.Before(until)
}

// A Group is the dialects to which an expression means the same; or one that refuses it.
type Group struct {
	Members []*Dialect
	Reading *Reading  // nil: they refuse it
	Refused string    // why
	First   time.Time // the first instant at which it differs from the first group
	Days    int       // on how many days of a year it does
}

// groupYears is how far ahead readings are compared.
const groupYears = 4

// Groups says who means what by an expression: the largest group first, the refusals last.
func Groups(expr string, zone *time.Location, from time.Time) (groups []*Group) {
	var refused []*Group
next:
	for _, d := range programs() {
		r, err := d.Parse(expr, zone)
		if err != nil {
			i := slices.IndexFunc(refused, func(g *Group) bool { return g.Refused == err.Error() })
			if i < 0 {
				i = len(refused)
				refused = append(refused, &Group{Refused: err.Error()})
			}
			refused[i].Members = append(refused[i].Members, d)
			continue
		}
		for _, g := range groups {
			if _, differ := Differ(g.Reading, r, from, from.AddDate(groupYears, 0, 0)); !differ {
				g.Members = append(g.Members, d)
				continue next
			}
		}
		groups = append(groups, &Group{Members: []*Dialect{d}, Reading: r})
	}
	slices.SortStableFunc(groups, func(a, b *Group) int { return len(b.Members) - len(a.Members) })
	for _, g := range groups[min(1, len(groups)):] {
		g.First, _ = Differ(groups[0].Reading, g.Reading, from, from.AddDate(groupYears, 0, 0))
		g.Days = DaysThatDiffer(groups[0].Reading, g.Reading, from, from.AddDate(1, 0, 0))
	}
	return append(groups, refused...)
}
