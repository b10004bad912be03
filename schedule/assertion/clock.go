package assertion

import (
	"time"

	"sched/schedule/cron"
)

// A wallClock is the clock of a zone. It is fast for instants that come in order.
type wallClock struct {
	zone       *time.Location
	start, end time.Time // the offset holds between them; both zero before the first use
	offset     int64     // in seconds
	fixed      *time.Location
}

// at returns the instant as the clock shows it.
func (c *wallClock) at(instant time.Time) time.Time {
	if c.fixed == nil || instant.Before(c.start) || !instant.Before(c.end) {
		local := instant.In(c.zone)
		name, offset := local.Zone()
		c.offset, c.fixed = int64(offset), time.FixedZone(name, offset)
		c.start = instant
		_, c.end = local.ZoneBounds()
		if c.end.IsZero() {
			c.end = instant.Add(cron.SpanLength)
		}
	}
	return instant.In(c.fixed)
}

// minute returns the number of the minute that the clock shows, which at was called for.
func (c *wallClock) minute(instant time.Time) int64 { return (instant.Unix() + c.offset) / 60 }

const daySeconds = 24 * 60 * 60

// dayNumber returns how many days after 1 January 1970 the day of a local time comes.
func dayNumber(local time.Time) int64 {
	year, month, day := local.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / daySeconds
}

// dateOf returns the day with a number, at midnight in UTC.
func dateOf(day int64) time.Time { return time.Unix(day*daySeconds, 0).UTC() }
