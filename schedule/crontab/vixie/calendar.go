package vixie

import (
	"slices"
	"time"
)

// A Calendar is the offsets from UTC that a zone keeps during a span. Minutes are counted from
// 1970, in UTC unless they are called wall minutes.
type Calendar struct {
	from, to int64
	offset   int64    // in minutes, at the beginning
	changes  []change // in order
}

type change struct{ at, offset int64 }

// settled is longer than cron remembers a change of the clocks: after three hours it has caught up.
const settled = 24 * 60

// NewCalendar looks at the clock of each hour of [from, to): it finds changes that last an hour.
func NewCalendar(zone *time.Location, from, to time.Time) *Calendar {
	c := &Calendar{from: floor(from.Unix(), 60), to: floor(to.Unix(), 60)}
	offset := func(minute int64) int64 {
		_, seconds := time.Unix(minute*60, 0).In(zone).Zone()
		return floor(int64(seconds), 60)
	}
	c.offset = offset(c.from - settled)
	current := c.offset
	for end := c.from - settled; end < c.to; {
		begin := end
		end = min(begin+60, c.to)
		for offset(end) != current {
			at := begin
			for at+1 < end { // offset(at) is current's, offset(end) is not
				if middle := (at + end) / 2; offset(middle) == current {
					at = middle
				} else {
					end = middle
				}
			}
			current = offset(end)
			c.changes = append(c.changes, change{end, current})
			begin, end = end, min(begin+60, c.to)
		}
	}
	return c
}

// Minutes returns how many minutes the calendar has.
func (c *Calendar) Minutes() int64 { return c.to - c.from }

// Changes returns how often the clocks change in the calendar.
func (c *Calendar) Changes() (n int) {
	for _, change := range c.changes {
		if change.at >= c.from {
			n++
		}
	}
	return n
}

// ChangeTimes returns the first minutes after the changes of the clocks.
func (c *Calendar) ChangeTimes() (times []time.Time) {
	for _, change := range c.changes {
		if change.at >= c.from {
			times = append(times, time.Unix(change.at*60, 0).UTC())
		}
	}
	return times
}

// at returns the offset in a minute, and the first minute of the next one.
func (c *Calendar) at(minute int64) (offset, until int64) {
	i, exact := slices.BinarySearchFunc(c.changes, minute, func(ch change, m int64) int { return int(ch.at - m) })
	if exact {
		i++
	}
	offset, until = c.offset, 1<<60
	if i > 0 {
		offset = c.changes[i-1].offset
	}
	if i < len(c.changes) {
		until = c.changes[i].at
	}
	return offset, until
}

// floor divides and rounds down, also before 1970.
func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
