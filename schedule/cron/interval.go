package cron

import (
	"fmt"
	"time"
)

// An interval ("90 minutes from 2026-01-05 06:00") is a time that comes every so many seconds of
// elapsed time from a wall time on, whatever the clocks do. The zero interval means that the fields
// of an expression decide.
type interval struct {
	every int64 // from one due instant to the next, in seconds; 0 only in the zero interval
	from  int64 // the first due time, a wall second
}

// start returns the first due instant. If a wall time comes twice, the first time counts. A wall
// time that the clocks skip counts as so long after the gap as it lies in it: 02:30 as 03:30.
func (v interval) start(zone *time.Location) int64 {
	before, after := v.from-offsetAt(zone, v.from-daySeconds), v.from-offsetAt(zone, v.from+daySeconds)
	if before+offsetAt(zone, before) != v.from && after+offsetAt(zone, after) == v.from {
		return after
	}
	return before
}

func (v interval) next(zone *time.Location, from int64) int64 {
	start := v.start(zone)
	return start + max(0, ceil(from-start, v.every))
}

// String returns the words that every.Parse reads.
func (v interval) String() string {
	n, unit := v.every/minuteSeconds, "minute"
	if v.every%hourSeconds == 0 {
		n, unit = v.every/hourSeconds, "hour"
	}
	if n > 1 {
		unit = fmt.Sprintf("%d %ss", n, unit)
	}
	return unit + " from " + v.startText()
}

// startText returns the first due time as people write it.
func (v interval) startText() string { return time.Unix(v.from, 0).UTC().Format("2006-01-02 15:04") }

// explain returns the field that tells people why the minute at an instant is due, or is not.
func (v interval) explain(zone *time.Location, minute int64, due bool) []Field {
	since := minute + minuteSeconds - 1 - v.start(zone)
	minutes := (since - mod(since, minuteSeconds)) / minuteSeconds
	f := Field{Name: "interval", Text: v.String(), Value: int(minutes), Matches: due}
	not := "not "
	if due {
		not = ""
	}
	f.comparison = fmt.Sprintf("it is %d minutes after %s, %sa multiple of %d",
		f.Value, v.startText(), not, v.every/minuteSeconds)
	if f.Value < 0 {
		f.comparison = "it is before " + v.startText()
	}
	return []Field{f}
}
