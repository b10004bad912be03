package dialect

import "time"

// A unit is what a program adds to a time until one field matches.
type unit struct {
	matches func(time.Time) bool
	begin   func(time.Time) time.Time // the time with all smaller units at their beginning
	add     func(time.Time) time.Time
	wraps   func(time.Time) bool // the unit has begun anew, so the larger ones are to be looked at
}

// stepFrom returns the next time of a program that adds units to a time until all fields match. In
// hours that clocks skip or repeat, and in zones whose clocks change by half an hour, that passes
// over times that a search of the wall clock finds.
func stepFrom(t *times, after time.Time, years int, aligned bool) (time.Time, bool) {
	at := after.Truncate(time.Second).Add(time.Second)
	last, begun := at.Year()+years, false
	units := unitsOf(t, at.Location())
	if aligned {
		align(units, at.Location())
	}
again:
	for at.Year() <= last {
		for _, u := range units {
			for !u.matches(at) {
				if !begun {
					at, begun = u.begin(at), true
				}
				if at = u.add(at); u.wraps(at) {
					continue again
				}
			}
		}
		_, before := after.Zone()
		_, now := at.Zone()
		if aligned && now != before && at.Unix()+int64(now) == after.Unix()+int64(before) {
			at = at.Add(time.Second)
			continue
		}
		return at, true
	}
	return time.Time{}, false
}

// align makes units go on to the beginning of the next one, and begin with the largest after each
// step.
func align(units []unit, zone *time.Location) {
	for i := range units {
		units[i].begin = func(at time.Time) time.Time { return at }
		units[i].wraps = func(time.Time) bool { return true }
	}
	units[0].add = func(at time.Time) time.Time { return time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, zone) }
	units[1].add = func(at time.Time) time.Time {
		at = at.Add(time.Duration(24*60-at.Hour()*60-at.Minute())*time.Minute - time.Duration(at.Second())*time.Second)
		midnight := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, zone)
		switch hour := at.Hour(); {
		case hour >= 12:
			return at.Add(time.Duration(24-hour) * time.Hour)
		case hour > 0 && midnight.Hour() == 0:
			return midnight
		}
		return at
	}
	units[2].add = func(at time.Time) time.Time {
		return at.Add(time.Duration(60-at.Minute())*time.Minute - time.Duration(at.Second())*time.Second)
	}
	units[3].add = func(at time.Time) time.Time { return at.Add(time.Duration(60-at.Second()) * time.Second) }
}

// unitsOf returns the units from month to second.
func unitsOf(t *times, zone *time.Location) []unit {
	has := func(letter byte, n int) bool { return t.of(letter).values>>n&1 == 1 }
	plus := func(d time.Duration) func(time.Time) time.Time {
		return func(at time.Time) time.Time { return at.Add(d) }
	}
	truncate := func(d time.Duration) func(time.Time) time.Time {
		return func(at time.Time) time.Time { return at.Truncate(d) }
	}
	return []unit{
		{
			func(at time.Time) bool { return has('M', int(at.Month())) },
			func(at time.Time) time.Time { return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, zone) },
			func(at time.Time) time.Time { return at.AddDate(0, 1, 0) },
			func(at time.Time) bool { return at.Month() == time.January },
		},
		{
			func(at time.Time) bool { return t.daysIn(at.Year(), int(at.Month()))>>at.Day()&1 == 1 },
			func(at time.Time) time.Time { return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, zone) },
			nextDay,
			func(at time.Time) bool { return at.Day() == 1 },
		},
		{
			func(at time.Time) bool { return has('h', at.Hour()) },
			func(at time.Time) time.Time {
				return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), 0, 0, 0, zone)
			},
			plus(time.Hour),
			func(at time.Time) bool { return at.Hour() == 0 },
		},
		{
			func(at time.Time) bool { return has('m', at.Minute()) },
			truncate(time.Minute), plus(time.Minute),
			func(at time.Time) bool { return at.Minute() == 0 },
		},
		{
			func(at time.Time) bool { return has('s', at.Second()) },
			truncate(time.Second), plus(time.Second),
			func(at time.Time) bool { return at.Second() == 0 },
		},
	}
}

// nextDay adds a day. If there is no midnight, whole hours take it back to midnight, or forward.
func nextDay(at time.Time) time.Time {
	at = at.AddDate(0, 0, 1)
	switch hour := time.Duration(at.Hour()); {
	case hour > 12:
		return at.Add((24 - hour) * time.Hour)
	case hour > 0:
		return at.Add(-hour * time.Hour)
	}
	return at
}
