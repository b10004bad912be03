package cron

import (
	"iter"
	"slices"
	"time"
)

// Backward walks through the instants of [from, to) at which w is due, the newest first. It looks back
// only as far as it is asked for: the newest of a year cost no more than those of a day.
func (w When) Backward(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		first, end := ceilSecond(from), ceilSecond(to)
		var slots []int64
		for span := int64(minuteSeconds); first < end; span *= 2 {
			start := max(first, end-span)
			slots = slots[:0]
			for t, ok := w.next(start, end); ok; t, ok = w.next(t+1, end) {
				slots = append(slots, t)
			}
			for _, t := range slices.Backward(slots) {
				if !yield(time.Unix(t, 0).UTC()) {
					return
				}
			}
			end = start
		}
	}
}

// Count returns how many instants of [from, to) w is due at. It looks at days, not at instants: a month
// of minutes costs no more than a month of midnights.
func (w When) Count(from, to time.Time) (n int) {
	zone := w.Location
	if zone == nil {
		zone = time.UTC
	}
	for t, end := ceilSecond(from), ceilSecond(to); t < end; {
		s := stretchAt(zone, t)
		until := min(s.end, end)
		n += s.count(w.Crons, t, until)
		t = until
	}
	return n
}

// ceilSecond returns the first whole second that is not before t.
func ceilSecond(t time.Time) int64 { return t.Add(time.Second - time.Nanosecond).Unix() }

// count returns at how many instants of [from, to) any of the crons is due. It is what next, below,
// would walk through.
func (s stretch) count(crons []Expression, from, to int64) (n int) {
	parts := make([]part, len(crons))
	swallowed := false
	for i := range crons {
		c := &crons[i]
		parts[i] = part{c, from + s.offset}
		if c.fixed {
			if from == s.start {
				_, lost := c.next(s.shown, from+s.offset)
				swallowed = swallowed || lost
			}
			parts[i].from = max(parts[i].from, s.shown)
		}
	}
	if swallowed { // they all run at the first instant, which is then done with
		n++
		for i := range parts {
			parts[i].from = max(parts[i].from, from+s.offset+1)
		}
	}
	if len(parts) == 1 {
		return n + parts[0].count(to+s.offset)
	}
	return n + countAny(parts, from+s.offset, to+s.offset)
}

// A part is a cron and the wall second from which it counts.
type part struct {
	*Expression
	from int64
}

// count returns how many wall seconds before to the cron is due at.
func (p *part) count(to int64) (n int) {
	for from := p.from; from < to; {
		day, ok := p.nextDay(dayOf(from), dayOf(to-1))
		if !ok {
			break
		}
		midnight := day * daySeconds
		n += p.times.before(min(to-midnight, daySeconds)) - p.times.before(max(from-midnight, 0))
		from = midnight + daySeconds
	}
	return n
}

// countAny counts what is due at the same second once: it marks the seconds of each day.
func countAny(parts []part, from, to int64) (n int) {
	for midnight := from - mod(from, daySeconds); midnight < to; midnight += daySeconds {
		var marked [daySeconds / minuteSeconds]set // of a minute each
		for i := range parts {
			p := &parts[i]
			if _, due := p.nextDay(dayOf(midnight), dayOf(midnight)); due {
				p.times.mark(&marked, p.from-midnight, to-midnight)
			}
		}
		for _, seconds := range marked {
			n += seconds.len()
		}
	}
	return n
}

// mark marks the due seconds of [from, to), on a due day.
func (t times) mark(marked *[daySeconds / minuteSeconds]set, from, to int64) {
	for minute := range int64(len(marked)) {
		if !t.hours.has(int(minute/60)) || !t.minutes.has(int(minute%60)) {
			continue
		}
		early, end := from-minute*minuteSeconds, to-minute*minuteSeconds
		due := t.seconds.below(int(min(max(end, 0), minuteSeconds)))
		marked[minute] |= due &^ due.below(int(min(max(early, 0), minuteSeconds)))
	}
}
