package cron

import (
	"fmt"
	"time"
)

// A cycle is every so many days of the calendar, counted from one of them: what "2 weeks from 2026-01-05"
// says, and no field of a cron expression can, since months and years are not made of whole cycles. The
// zero cycle is none: every day is as good.
//
// It counts days of the wall clock, so that neither daylight saving nor the zone's history moves it.
type cycle struct {
	days int64 // from one due day to the next
	from int64 // the first due day, in days since 1970
}

// due reports whether the wall second t lies on a day of the cycle.
func (c cycle) due(t int64) bool {
	since := c.since(t)
	return since >= 0 && since%c.days == 0
}

// day returns the first wall second from t on that lies on a day of the cycle.
func (c cycle) day(t int64) int64 {
	first := c.from * daySeconds
	if c.due(t) {
		return t
	}
	return first + max(0, ceil(t-first, c.days*daySeconds))
}

// since returns how many days the day of the wall second t comes after the first one.
func (c cycle) since(t int64) int64 { return (t-mod(t, daySeconds))/daySeconds - c.from }

// start returns the first day as people write it.
func (c cycle) start() string { return date(c.from) }

// why says of the day that comes so many after the first one whether the cycle holds it.
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
