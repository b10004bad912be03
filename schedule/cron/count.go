package cron

import "time"

// Count returns how many instants Backward yields. For one cron expression it looks at each day
// once.
func (w When) Count(from, to time.Time) (n int) {
	from, to, w.Shift = from.Add(-w.Shift), to.Add(-w.Shift), 0
	if len(w.Crons) != 1 || w.Crons[0].interval.every > 0 {
		for range w.Forward(from, to) {
			n++
		}
		return n
	}
	for t, end := ceilSecond(from), ceilSecond(to); t < end; {
		p := periodAt(w.zone(), t)
		until := min(p.end, end)
		n += p.count(&w.Crons[0], t, until)
		t = until
	}
	return n
}

// count returns at how many instants of [from, to), which lie in the period, c is due.
func (p offsetPeriod) count(c *Expression, from, to int64) (n int) {
	wall, end := from+p.offset, to+p.offset
	if c.fixed {
		if _, skipped := p.skipped(c, from); skipped { // all jobs of the gap run at the first instant, which counts once
			n++
			wall++
		}
		wall = max(wall, p.newFrom)
	}
	for wall < end {
		day, ok := c.nextDay(dayOf(wall), dayOf(end-1))
		if !ok {
			break
		}
		midnight := day * daySeconds
		n += c.times.before(min(end-midnight, daySeconds)) - c.times.before(max(wall-midnight, 0))
		wall = midnight + daySeconds
	}
	return n
}
