package cron

import (
	"fmt"
	"time"
)

// A cycle is every so many days of the calendar, counted from one of them: what "2 weeks from 2026-01-05" says, and no
// field of a cron expression can, since months and years are not made of whole cycles. The zero cycle is none.
type cycle struct {
	days int64 // from one due day to the next; more than 0 but in the zero cycle
	from int64 // the first due day
}

// next returns the first due day from one day through another.
func (c cycle) next(day, last int64) (int64, bool) {
	due := c.from + max(0, ceil(day-c.from, c.days))
	return due, due <= last
}

// due reports whether a day is one of the cycle's.
func (c cycle) due(day int64) bool {
	next, ok := c.next(day, day)
	return ok && next == day
}

// start returns the first due day as people write it.
func (c cycle) start() string { return date(c.from) }

// why says of a day, which comes so many after the first one, whether it is one of the cycle's.
func (c cycle) why(since int64) string {
	day := date(c.from + since)
	switch {
	case since < 0:
		return fmt.Sprintf("%s is before %s", day, c.start())
	case since%c.days == 0:
		return fmt.Sprintf("%s is %d days after %s, a multiple of %d", day, since, c.start(), c.days)
	}
	return fmt.Sprintf("%s is %d days after %s, not a multiple of %d", day, since, c.start(), c.days)
}

func date(day int64) string { return time.Unix(day*daySeconds, 0).UTC().Format(time.DateOnly) }
