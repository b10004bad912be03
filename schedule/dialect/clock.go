package dialect

import "time"

// All times in this file are seconds: instants since 1970, or wall seconds, which are what the
// clock on the wall shows, as if that were UTC.

const daySeconds = 24 * 60 * 60

// A clockRule says what becomes of times that the clocks skip, or show twice.
type clockRule struct {
	gap     gap
	overlap overlap
	byWall  bool // the next time is looked for on the wall clock, so one search sees a time once
}

type gap int

const (
	skipGap  gap = iota
	endOfGap     // at the first instant after it
	afterGap     // as long after it as the time lies in it: 03:30 for 02:30
	goGap        // as long after it east of Greenwich, and before it west of it, as time.Date has it
)

type overlap int

const (
	bothPasses overlap = iota
	firstPass
	secondPass
	goPass // secondPass east of Greenwich, firstPass west of it, as time.Date has it
)

// A period is a time in which a zone keeps one offset from UTC. A wall second is an instant plus
// the offset.
type period struct {
	start, end int64 // instants; end is the start of the next period
	offset     int64
}

// Instants before and after all others, small enough to be added to.
const (
	firstInstant = -1 << 61
	lastInstant  = 1 << 61
)

// periodAt returns the period that holds an instant. Past the changes that the zone file lists, its
// end may be early, with the same offset on both sides.
func periodAt(zone *time.Location, at int64) period {
	t := time.Unix(at, 0).In(zone)
	_, offset := t.Zone()
	p := period{firstInstant, lastInstant, int64(offset)}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		p.start = start.Unix()
	}
	if !end.IsZero() {
		p.end = end.Unix()
	}
	if p.end <= at {
		p.end = at + daySeconds
	}
	return p
}

// before returns the period before p; p itself, if p is the first.
func (p period) before(zone *time.Location) period {
	if p.start == firstInstant {
		return p
	}
	return periodAt(zone, p.start-1)
}

// after returns the period after p; p itself, if p is the last.
func (p period) after(zone *time.Location) period {
	if p.end == lastInstant {
		return p
	}
	return periodAt(zone, p.end)
}

// nearChange is longer than any time that clocks skip or repeat.
const nearChange = 2 * daySeconds

// A search finds wall seconds: the first from one on, up to another.
type search func(from, to int64) (int64, bool)

// next returns the first instant of [from, to) at which the program starts what the search finds.
func (c clockRule) next(find search, zone *time.Location, from, to int64) (int64, bool) {
	if c.byWall {
		return c.nextByWall(find, zone, from, to)
	}
	for at := from; at < to; {
		p := periodAt(zone, at)
		if t, ok := c.nextIn(find, zone, p, at, min(p.end, to)); ok {
			return t, true
		}
		at = p.end
	}
	return 0, false
}

// nextIn returns the first instant of [from, to), which lie in the period p.
func (c clockRule) nextIn(find search, zone *time.Location, p period, from, to int64) (int64, bool) {
	first, end := from+p.offset, to+p.offset
	gapAt, inGap := int64(0), false
	if from-p.start < nearChange {
		earlier := p.before(zone)
		shown := p.start + earlier.offset // the first wall second that the clocks had not shown before
		if c.inFirst(p.offset) {
			first = max(first, shown)
		}
		if p.start+p.offset > shown {
			gapAt, inGap = c.inGap(find, earlier, p, from, to)
		}
	}
	best, found := find(first, end)
	best -= p.offset
	if found && best > p.end-nearChange && c.overlap != bothPasses {
		if later := p.after(zone); !c.inFirst(later.offset) {
			found = best+p.offset < p.end+later.offset
		}
	}
	if inGap && (!found || gapAt < best) {
		return gapAt, true
	}
	return best, found
}

// inFirst reports whether times that come twice are meant the first time, in a zone with this
// offset after the change.
func (c clockRule) inFirst(offset int64) bool {
	return c.overlap == firstPass || c.overlap == goPass && offset <= 0
}

// inGap returns the first instant of [from, to) to which a time of the gap between two periods
// moves.
func (c clockRule) inGap(find search, earlier, p period, from, to int64) (int64, bool) {
	begin, end := p.start+earlier.offset, p.start+p.offset
	switch {
	case c.gap == endOfGap && from == p.start:
		_, skipped := find(begin, end)
		return p.start, skipped
	case c.gap == afterGap, c.gap == goGap && earlier.offset >= 0:
		t, skipped := find(max(begin, from+earlier.offset), min(end, to+earlier.offset))
		return t - earlier.offset, skipped
	}
	return 0, false
}

// nextByWall looks for the next wall second after the one that the clock shows at the instant
// before from, and then for its instant.
func (c clockRule) nextByWall(find search, zone *time.Location, from, to int64) (int64, bool) {
	_, offset := time.Unix(from-1, 0).In(zone).Zone()
	wall := from + int64(offset)
	for range nearChange {
		next, ok := find(wall, to+int64(offset)+daySeconds)
		if !ok {
			return 0, false
		}
		if at, exists := c.instant(zone, next); exists && at >= from {
			return at, at < to
		}
		wall = next + 1
	}
	return 0, false
}

// instant returns the instant that a wall second means to the program.
func (c clockRule) instant(zone *time.Location, wall int64) (at int64, exists bool) {
	before := periodAt(zone, wall-daySeconds)
	for before.end < lastInstant && wall-before.offset >= before.end {
		next := before.after(zone)
		if wall-next.offset < before.end { // in the gap
			switch {
			case c.gap == skipGap:
				return 0, false
			case c.gap == endOfGap:
				return before.end, true
			case c.gap == goGap && before.offset < 0:
				return wall - next.offset, true
			}
			return wall - before.offset, true
		}
		before = next
	}
	at = wall - before.offset
	if next := before.after(zone); wall-next.offset >= before.end && !c.inFirst(next.offset) {
		at = wall - next.offset
	}
	return at, true
}
