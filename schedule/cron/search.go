package cron

// This file searches the wall clock. Its seconds, here called wall seconds, are counted as if the
// wall clock were UTC, so a search meets neither gaps nor repeated hours. wallclock.go maps wall
// seconds to instants.

// next returns the first wall second of [from, to) at which c is due.
func (c *Expression) next(from, to int64) (int64, bool) {
	for from < to {
		day, ok := c.nextDay(dayOf(from), dayOf(to-1))
		if !ok {
			break
		}
		midnight := day * daySeconds
		if second, ok := c.times.next(max(from-midnight, 0)); ok {
			return midnight + second, midnight+second < to
		}
		from = midnight + daySeconds
	}
	return 0, false
}

// nextDay returns the first due day from one day through another.
func (c *Expression) nextDay(day, last int64) (int64, bool) {
	if c.cycle.days > 0 {
		return c.cycle.next(day, last)
	}
	return c.dates.next(day, last)
}
