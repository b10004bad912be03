package cron

import "time"

// Jobs follow the wall clock of their zone. When the clocks change, the rules of cron(8) hold:
//
//   - A job with a fixed time runs at the first instant at which the wall clock shows that time or
//     a later one: right after a gap, and in the first pass of an hour that comes twice.
//   - Any other job is due whenever the wall clock shows a due time: in both passes, not in a gap.

// An offsetPeriod is a time in which a zone keeps one offset from UTC. All numbers are seconds. A
// wall second is an instant plus offset.
type offsetPeriod struct {
	start, end int64 // instants; end is the start of the next period
	offset     int64
	newFrom    int64 // before start the wall clock has shown all wall seconds before this one, and none from it on
}

// longestRepeat is longer than any repeated time after a change of the clocks: at most a day.
const longestRepeat = 2 * daySeconds

// Instants before and after all others, small enough to be added to.
const (
	firstInstant = -1 << 61
	lastInstant  = 1 << 61
)

// periodAt returns the period that holds the instant u.
func periodAt(zone *time.Location, u int64) offsetPeriod {
	p := boundsAt(zone, u)
	p.newFrom = firstInstant
	if u-p.start >= longestRepeat {
		return p
	}
	for before := p; before.start > firstInstant && p.start-before.start < longestRepeat; {
		change := before.start
		before = boundsAt(zone, change-1)
		p.newFrom = max(p.newFrom, change+before.offset)
	}
	return p
}

// boundsAt returns the period that holds u, without newFrom. Past the changes that the zone file
// lists, its end can be a day early: ZoneBounds takes every year to have 365 days.
func boundsAt(zone *time.Location, u int64) offsetPeriod {
	t := time.Unix(u, 0).In(zone)
	_, offset := t.Zone()
	p := offsetPeriod{start: firstInstant, end: lastInstant, offset: int64(offset)}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		p.start = start.Unix()
	}
	if !end.IsZero() {
		p.end = end.Unix()
	}
	if p.end <= u {
		p.end = ceil(u+1, daySeconds)
	}
	return p
}

// next returns the first instant of [from, to) at which c is due. Both lie in the period; to may be
// its end.
func (p offsetPeriod) next(c *Expression, from, to int64) (int64, bool) {
	wall := from + p.offset
	if c.fixed {
		if _, skipped := p.skipped(c, from); skipped {
			return from, true
		}
		wall = max(wall, p.newFrom)
	}
	t, ok := c.next(wall, to+p.offset)
	return t - p.offset, ok
}

// skipped returns the first wall second of c in the gap that ends at the instant from.
func (p offsetPeriod) skipped(c *Expression, from int64) (int64, bool) {
	if from != p.start {
		return 0, false
	}
	return c.next(p.newFrom, from+p.offset)
}

// pass returns 1 or 2, the pass of this period, if the zone shows a wall second twice; else 0.
func (p offsetPeriod) pass(zone *time.Location, wall int64) int {
	if wall < p.newFrom {
		return 2
	}
	if p.end < lastInstant && wall-boundsAt(zone, p.end).offset >= p.end {
		return 1
	}
	return 0
}

func wallTime(wall int64) time.Time { return time.Unix(wall, 0).UTC() }

// WallClock returns the first instant at which the clock of the zone shows the date and time of
// wall, to the second. The zone of wall does not matter. For a skipped time it returns the end of
// the gap.
func WallClock(wall time.Time, zone *time.Location) (at time.Time, skipped bool) {
	year, month, day := wall.Date()
	shown := time.Date(year, month, day, wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC).Unix()
	period := boundsAt(zone, shown-daySeconds)
	for period.end <= shown-period.offset { // the wall time comes after this period
		next := boundsAt(zone, period.end)
		if shown-next.offset < period.end {
			return time.Unix(period.end, 0).In(zone), true
		}
		period = next
	}
	return time.Unix(shown-period.offset, 0).In(zone), false
}
