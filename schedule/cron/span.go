package cron

import "time"

// SpanLength is the length of the spans that SpanKey compares. It is a day, except that no clock
// changes it.
const SpanLength = 24 * time.Hour

const spanSeconds = int64(SpanLength / time.Second)

// A SpanKey stands for a span of SpanLength. Two spans with the same key have the same instants of
// the same When, counted from the beginning of the span. If the When has no Shift, the wall clock
// of its zone shows the same times of day in them.
type SpanKey struct {
	wall   int32  // the wall second of its day with which the span begins
	change int32  // when the clocks change, in seconds from the beginning; 0: they do not change
	jump   int32  // by how many seconds they change
	due    uint64 // whether an expression is due on the first wall day, on the second or on the third
}

// Spans finds the instants and the keys of spans of a When. Not safe for concurrent use.
type Spans struct {
	when   When
	period offsetPeriod // that holds the instant of
	of     int64
}

// Spans returns the spans of w.
func SpansOf(w When) *Spans { return &Spans{when: w} }

// Next returns the first instant of [from, to) at which the When is due, in UTC.
func (s *Spans) Next(from, to time.Time) (time.Time, bool) {
	first, end, shift := s.when.bounded(ceilSecond(from), ceilSecond(to))
	for first < end {
		p := s.periodAt(first)
		until := min(p.end, end)
		if t := s.when.first(p, first, until); t < until {
			return time.Unix(t+shift, 0).UTC(), true
		}
		first = until
	}
	return time.Time{}, false
}

func (s *Spans) periodAt(u int64) offsetPeriod {
	if u < s.of || u >= s.period.end { // firstNew is right from the instant on
		s.period, s.of = periodAt(s.when.zone(), u), u
	}
	return s.period
}

// maxSpanExpressions is for how many expressions a SpanKey has room.
const maxSpanExpressions = 64 / 3

// maxSpanJump is more than clocks change in a day, but in history.
const maxSpanJump = 3 * hourSeconds

// Key returns the key of the span that begins at from, and its first wall day, at midnight in UTC.
// It returns false if the span has no key: it may be like no other.
func (s *Spans) Key(from time.Time) (key SpanKey, firstDay time.Time, ok bool) {
	w := s.when
	start, end, _ := w.bounded(from.Unix(), from.Unix()+spanSeconds)
	if end-start != spanSeconds || len(w.Crons) > maxSpanExpressions {
		return SpanKey{}, time.Time{}, false
	}
	p := s.periodAt(start)
	wall := start + p.offset
	if start == p.start || wall < p.firstNew {
		return SpanKey{}, time.Time{}, false
	}
	if p.end < end {
		next := periodAt(w.zone(), p.end)
		jump := next.offset - p.offset
		if next.end < end || next.firstNew != p.end+p.offset || max(jump, -jump) > maxSpanJump {
			return SpanKey{}, time.Time{}, false
		}
		key.change, key.jump = int32(p.end-start), int32(jump)
	}
	day := dayOf(wall)
	key.wall = int32(wall - day*daySeconds)
	for i := range w.Crons {
		c := &w.Crons[i]
		if c.interval.every > 0 {
			return SpanKey{}, time.Time{}, false
		}
		for n := range int64(3) {
			if _, isDue := c.nextDay(day+n, day+n); isDue {
				key.due |= 1 << (3*i + int(n))
			}
		}
	}
	return key, wallTime(day * daySeconds), true
}
