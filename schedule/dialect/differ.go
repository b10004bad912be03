package dialect

import "time"

// Differ returns the first instant of [from, until) at which one of two readings starts the job,
// and the other does not. If they have no fields, or other zones, at most maxInstants instants are
// compared.
func Differ(a, b *Reading, from, until time.Time) (first time.Time, differ bool) {
	first, _ = compare(a, b, from, until, true)
	return first, !first.IsZero()
}

// DaysThatDiffer returns on how many days, from the day of from up to until, Differ would find a
// difference.
func DaysThatDiffer(a, b *Reading, from, until time.Time) (days int) {
	_, days = compare(a, b, from, until, false)
	return days
}

// maxChanges is at how many days with a change of the clocks readings are compared that are due in
// almost every minute.
const maxChanges = 6

// maxInstants is how many instants are compared one by one.
const maxInstants = 50_000

// compare walks over the days of the zone. If no clock changes on a day and the day before it, the
// fields alone decide whether it differs.
func compare(a, b *Reading, from, until time.Time, stop bool) (first time.Time, days int) {
	if !a.hasFields() || !b.hasFields() || a.Location.String() != b.Location.String() {
		return walk(a, b, from, until, stop)
	}
	sameTimes := a.times.sameTimes(&b.times)
	sameClock := a.clock == b.clock && a.rules.bySteps == b.rules.bySteps && a.rules.aligned == b.rules.aligned
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
				continue // a year has the same changes as the next
			}
			begin, end = nearTheChange(day, end)
		}
		if at := firstDifference(a, b, begin, end); !at.IsZero() {
			days++
			if first.IsZero() {
				first = at
			}
			if stop {
				return first, days
			}
		}
	}
	return first, days
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

// firstDifference returns the first instant of [from, until) that only one has.
func firstDifference(a, b *Reading, from, until time.Time) time.Time {
	first, _ := walk(a, b, from, until, true)
	return first
}

// walk compares instant by instant.
func walk(a, b *Reading, from, until time.Time, stop bool) (first time.Time, days int) {
	before := from.Add(-time.Nanosecond)
	nextA, okA := a.Next(before)
	nextB, okB := b.Next(before)
	var counted time.Time
	for range maxInstants {
		okA, okB = okA && nextA.Before(until), okB && nextB.Before(until)
		switch {
		case !okA && !okB:
			return first, days
		case okA && okB && nextA.Equal(nextB):
			nextA, okA = a.Next(nextA)
			nextB, okB = b.Next(nextB)
			continue
		}
		at := nextA
		if !okA || okB && nextB.Before(nextA) {
			at = nextB
		}
		if first.IsZero() {
			first = at
		}
		if stop {
			return first, 1
		}
		if counted.IsZero() || !at.Before(counted) {
			days++
			counted = midnightAfter(at.In(a.Location))
		}
		if okA && nextA.Equal(at) {
			nextA, okA = a.Next(nextA)
		} else {
			nextB, okB = b.Next(nextB)
		}
	}
	return first, days
}
