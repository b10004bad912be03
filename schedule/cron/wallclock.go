package cron

import "time"

// Daylight saving has two rules here, the ones of cron(8):
//
//   - A job with a fixed time runs at the first instant at which the wall clock shows that time or
//     a later one. So it runs right after a gap that swallowed it, and in the first pass of an hour
//     that comes twice.
//   - Any other job is due whenever the wall clock shows a due time: in both passes of an hour that
//     comes twice, and never in a gap.

// A stretch is a time during which nobody sets the zone's wall clock. All times are in seconds;
// a wall time is an instant plus offset.
type stretch struct {
	start, end int64 // instants; end is the first of the next stretch
	offset     int64
	shown      int64 // the first wall time that the clock has not shown before start
}

// settled is how long after a change of the clock an hour may come twice, and more: the largest
// change ever was a whole day, where the date line moved.
const settled = 2 * daySeconds

// Long ago and far off stand in for the ends of time, and may be added to without care.
const (
	longAgo = -1 << 61
	farOff  = 1 << 61
)

// stretchAt returns the stretch that holds the instant u.
func stretchAt(zone *time.Location, u int64) stretch {
	s := zoneAt(zone, u)
	s.shown = longAgo
	if u-s.start >= settled {
		return s
	}
	for before := s; before.start > longAgo && s.start-before.start < settled; {
		turn := before.start
		before = zoneAt(zone, turn-1)
		s.shown = max(s.shown, turn+before.offset)
	}
	return s
}

// zoneAt is stretchAt without shown. The end can be a day early: past the changes that the zone file
// lists, ZoneBounds cuts at the turn of the year, and takes every year to have 365 days.
func zoneAt(zone *time.Location, u int64) stretch {
	t := time.Unix(u, 0).In(zone)
	_, offset := t.Zone()
	s := stretch{start: longAgo, end: farOff, offset: int64(offset)}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		s.start = start.Unix()
	}
	if !end.IsZero() {
		s.end = end.Unix()
	}
	if s.end <= u {
		s.end = ceil(u+1, daySeconds)
	}
	return s
}

// next returns the first instant of [from, to) at which c is due. Both lie in the stretch; to may
// be its end.
func (s stretch) next(c *Expression, from, to int64) (int64, bool) {
	wall := from + s.offset
	if c.fixed {
		if from == s.start {
			if _, swallowed := c.next(s.shown, wall); swallowed {
				return from, true
			}
		}
		wall = max(wall, s.shown)
	}
	t, ok := c.next(wall, to+s.offset)
	return t - s.offset, ok
}
