package cron

import (
	"iter"
	"math/bits"
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
		parts[i] = part{question{cron: c}, c.times(), from + s.offset}
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
	question
	times
	from int64
}

// count returns how many wall seconds before to the cron is due at.
func (p *part) count(to int64) (n int) {
	for from := p.from; from < to; {
		if from = p.day(from, to); from >= to {
			break
		}
		midnight := from - mod(from, daySeconds) + daySeconds
		n += p.before(min(to, midnight)-midnight+daySeconds) - p.before(mod(from, daySeconds))
		from = midnight
	}
	return n
}

// countAny counts what is due at the same second once: it marks the seconds of each day.
func countAny(parts []part, from, to int64) (n int) {
	for midnight := from - mod(from, daySeconds); midnight < to; midnight += daySeconds {
		var marked [daySeconds / minuteSeconds]uint64 // a bit a second
		for i := range parts {
			p := &parts[i]
			if w := p.at(midnight); p.due(monthField) && p.dayDue(w) {
				p.mark(&marked, p.from-midnight, to-midnight)
			}
		}
		for _, minute := range marked {
			n += bits.OnesCount64(minute)
		}
	}
	return n
}

// mark marks the due seconds of [from, to), on a due day.
func (p *part) mark(marked *[daySeconds / minuteSeconds]uint64, from, to int64) {
	for minute := range int64(len(marked)) {
		if p.hours&(1<<(minute/60)) == 0 || p.minutes&(1<<(minute%60)) == 0 {
			continue
		}
		seconds := p.seconds
		if early := from - minute*minuteSeconds; early > 0 {
			seconds &^= 1<<min(early, minuteSeconds) - 1
		}
		if left := to - minute*minuteSeconds; left < minuteSeconds {
			seconds &= 1<<max(left, 0) - 1
		}
		marked[minute] |= seconds
	}
}

// times are the times of day at which a cron is due, on a due day: a bit for each value of a field.
type times struct{ seconds, minutes, hours uint64 }

func (c *Expression) times() (all times) {
	q := question{cron: c}
	field := func(pos int, values, unit int64) (set uint64) {
		for v := range values {
			if q.at(v * unit); q.due(pos) {
				set |= 1 << v
			}
		}
		return set
	}
	all.minutes, all.hours = field(minuteField, 60, minuteSeconds), field(hourField, 24, hourSeconds)
	if all.seconds = 1; c.seconds {
		all.seconds = field(secondField, 60, 1)
	}
	return all
}

// before returns how many of the times come before a second of the day, from 0 through 86,400.
func (t times) before(second int64) int {
	count, below := bits.OnesCount64, func(set uint64, v int64) uint64 { return set & (1<<v - 1) }
	hour, minute := second/hourSeconds, second/minuteSeconds%60
	n := count(below(t.hours, hour)) * count(t.minutes) * count(t.seconds)
	if t.hours&(1<<hour) == 0 {
		return n
	}
	n += count(below(t.minutes, minute)) * count(t.seconds)
	if t.minutes&(1<<minute) == 0 {
		return n
	}
	return n + count(below(t.seconds, second%60))
}
