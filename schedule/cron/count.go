package cron

import "time"

// Count returns how many instants of [from, to) w is due at. It looks at each day once, not at each instant: a month of
// minutes costs no more than a month of midnights. It is as many as Backward yields.
func (w When) Count(from, to time.Time) (n int) {
	for t, end := ceilSecond(from), ceilSecond(to); t < end; {
		p := periodAt(w.zone(), t)
		until := min(p.end, end)
		n += p.count(w.Crons, t, until)
		t = until
	}
	return n
}

// count returns at how many instants of [from, to), which lie in the period, any of the expressions is due.
func (p offsetPeriod) count(expressions []Expression, from, to int64) (n int) {
	counters := make([]counter, len(expressions))
	madeUp := false
	for i := range expressions {
		c := &expressions[i]
		counters[i] = counter{c, from + p.offset}
		if c.fixed {
			_, skipped := p.skipped(c, from)
			madeUp = madeUp || skipped
			counters[i].from = max(counters[i].from, p.newFrom)
		}
	}
	if madeUp { // all jobs of the gap run at the first instant, which counts once
		n++
		for i := range counters {
			counters[i].from = max(counters[i].from, from+p.offset+1)
		}
	}
	if len(counters) == 1 {
		return n + counters[0].count(to+p.offset)
	}
	return n + countUnion(counters, from+p.offset, to+p.offset)
}

// A counter counts the wall seconds at which an expression is due, beginning with from.
type counter struct {
	*Expression
	from int64
}

// count returns the number of due wall seconds before to.
func (c *counter) count(to int64) (n int) {
	for from := c.from; from < to; {
		day, ok := c.nextDay(dayOf(from), dayOf(to-1))
		if !ok {
			break
		}
		midnight := day * daySeconds
		n += c.times.before(min(to-midnight, daySeconds)) - c.times.before(max(from-midnight, 0))
		from = midnight + daySeconds
	}
	return n
}

// A markedDay has a set of seconds for each minute of a day.
type markedDay [daySeconds / minuteSeconds]set

// countUnion returns the number of wall seconds of [from, to) at which any of the expressions is due. It marks the due
// seconds of each day, so that one that several have counts once.
func countUnion(counters []counter, from, to int64) (n int) {
	for day := dayOf(from); day*daySeconds < to; day++ {
		var marked markedDay
		midnight := day * daySeconds
		for i := range counters {
			if _, due := counters[i].nextDay(day, day); due {
				marked.add(counters[i].times, counters[i].from-midnight, to-midnight)
			}
		}
		for _, seconds := range marked {
			n += seconds.len()
		}
	}
	return n
}

// add marks the due seconds of [from, to). Both may lie outside the day.
func (marked *markedDay) add(due times, from, to int64) {
	for minute := range int64(len(marked)) {
		if !due.hours.has(int(minute/60)) || !due.minutes.has(int(minute%60)) {
			continue
		}
		start := minute * minuteSeconds
		first, end := min(max(from-start, 0), minuteSeconds), min(max(to-start, 0), minuteSeconds)
		seconds := due.seconds.below(int(end))
		marked[minute] |= seconds &^ seconds.below(int(first))
	}
}
