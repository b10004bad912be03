package dialect

import "time"

// A Difference is what a comparison of two readings has found.
type Difference struct {
	First  time.Time // the first instant at which only one starts the job; zero: none was found
	Days   int       // on how many days that is so
	GaveUp time.Time // nothing from here on was compared; zero: all was
}

// Same reports whether all was compared, and nothing differs.
func (d Difference) Same() bool { return d.First.IsZero() && d.GaveUp.IsZero() }

// Differ finds the first instant of [from, until) at which one of two readings starts the job, and
// the other does not. It does not count Days.
//
// Readings of fields in one zone are compared as a whole: the days by the fields, and the changes
// of the clocks one by one; of readings that are due in almost every minute the first maxChanges,
// because the changes of each year are alike. Other readings are compared instant by
// instant, up to maxInstants.
func Differ(a, b *Reading, from, until time.Time) Difference { return compare(a, b, from, until, true) }

// CountDays is Differ, and counts the days of the zone of a that differ, to the end.
func CountDays(a, b *Reading, from, until time.Time) Difference {
	return compare(a, b, from, until, false)
}

const (
	maxChanges  = 6
	maxInstants = 100_000 // more than a day has seconds, so the walk over one day ends
)

// compare walks over the days of the zone. If no clock changes on a day and the day before it, the
// fields alone decide whether it differs. It ends with the first difference if stop is set.
func compare(a, b *Reading, from, until time.Time, stop bool) (d Difference) {
	if !a.hasFields() || !b.hasFields() || a.Location.String() != b.Location.String() {
		return compareInstants(a, b, from, until, stop)
	}
	sameTimes := a.times.sameTimes(&b.times)
	sameClock := a.clock == b.clock && a.rules.bySteps == b.rules.bySteps && a.rules.aligned == b.rules.aligned &&
		a.rules.byFields == b.rules.byFields
	changes := 0
	var month time.Month
	var dueA, dueB uint64
	for day := from.In(a.Location); day.Before(until); day = midnightAfter(day) {
		year, number, n := day.Date()
		if number != month {
			month, dueA, dueB = number, a.times.daysIn(year, int(number)), b.times.daysIn(year, int(number))
		}
		isDueA, isDueB := dueA>>n&1 == 1, dueB>>n&1 == 1
		end := midnightAfter(day)
		if isQuiet(day, end) {
			if isDueA == isDueB && (!isDueA || sameTimes) {
				continue
			}
		} else if sameTimes && sameClock && dueA == dueB {
			continue
		}
		if end.After(until) {
			end = until
		}
		begin := day
		if sameTimes && dueA == dueB && (a.times.isDense() || !a.rules.bySteps && !b.rules.bySteps) {
			if changes++; changes > maxChanges && a.times.isDense() {
				continue
			}
			begin, end = nearTheChange(day, end)
		}
		if at := walk(a, b, begin, end, true).First; !at.IsZero() {
			d.Days++
			if d.First.IsZero() {
				d.First = at
			}
			if stop {
				return d
			}
		}
	}
	return d
}

// compareInstants compares readings whose fields say nothing about each other. If both do in each
// hour what they do in the first one, that hour decides.
func compareInstants(a, b *Reading, from, until time.Time, stop bool) Difference {
	if !a.isHourly(from, until) || !b.isHourly(from, until) {
		return walk(a, b, from, until, stop)
	}
	d := walk(a, b, from, from.Add(time.Hour), true)
	for day := from.In(a.Location); !stop && !d.First.IsZero() && day.Before(until); day = midnightAfter(day) {
		d.Days++
	}
	return d
}

// midnightAfter returns the beginning of the next day.
func midnightAfter(t time.Time) time.Time {
	year, month, day := t.Date()
	next := time.Date(year, month, day+1, 0, 0, 0, 0, t.Location())
	if next.Day() == day { // the clocks have no such midnight, and Go gives a time before it
		_, next = next.ZoneBounds()
	}
	return next
}

// isQuiet reports whether no clock changes in a day or the day before it.
func isQuiet(begin, end time.Time) bool {
	_, offset := begin.AddDate(0, 0, -1).Zone()
	_, middle := begin.Zone()
	_, last := end.Add(time.Second).Zone()
	return offset == middle && middle == last
}

// nearTheChange returns the part of a day in which a change of the clocks can matter. The fields
// are the same; programs differ in what they make of the times around the change.
func nearTheChange(begin, end time.Time) (from, until time.Time) {
	_, before := begin.AddDate(0, 0, -1).Zone()
	_, after := end.Add(time.Second).Zone()
	change, _ := end.Add(time.Second).ZoneBounds()
	length := time.Duration(max(after-before, before-after)+1) * time.Second
	if change.IsZero() || change.Before(begin.AddDate(0, 0, -1)) || !change.Before(end.Add(time.Second)) {
		return begin, end
	}
	if from, until = change.Add(-length), change.Add(length); from.Before(begin) {
		from = begin
	}
	if until.After(end) {
		until = end
	}
	if until.Before(from) {
		until = from
	}
	return from, until
}

// walk compares instant by instant.
func walk(a, b *Reading, from, until time.Time, stop bool) (d Difference) {
	before := from.Add(-time.Nanosecond)
	nextA, okA := a.Next(before)
	nextB, okB := b.Next(before)
	var counted time.Time
	for range maxInstants {
		okA, okB = okA && nextA.Before(until), okB && nextB.Before(until)
		switch {
		case !okA && !okB:
			return d
		case okA && okB && nextA.Equal(nextB):
			nextA, okA = a.Next(nextA)
			nextB, okB = b.Next(nextB)
			continue
		}
		at := nextA
		if !okA || okB && nextB.Before(nextA) {
			at = nextB
		}
		if d.First.IsZero() {
			d.First = at
		}
		if stop {
			return d
		}
		if counted.IsZero() || !at.Before(counted) {
			d.Days++
			counted = midnightAfter(at.In(a.Location))
		}
		if okA && nextA.Equal(at) {
			nextA, okA = a.Next(nextA)
		} else {
			nextB, okB = b.Next(nextB)
		}
	}
	if d.GaveUp = nextA; !okA || okB && nextB.Before(nextA) {
		d.GaveUp = nextB
	}
	if (!okA && !okB) || !d.GaveUp.Before(until) {
		d.GaveUp = time.Time{} // the last instant was the last of all
	}
	return d
}
