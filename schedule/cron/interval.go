package cron

import (
	"fmt"
	"time"
)

// This file holds times that are counted from an instant: "90 minutes from 2026-01-05 06:00".

// An interval is a time that comes every so many seconds of elapsed time from a wall time on,
// whatever the clocks do. The zero interval means that the fields of an expression decide.
type interval struct {
	every int64 // from one due instant to the next, in seconds; 0 only in the zero interval
	from  int64 // the first due time, on the wall clock, in seconds as if that were UTC
}

// start returns the first due instant. If a wall time comes twice, the first time counts. A skipped
// wall time lies the same distance after the gap.
func (v interval) start(zone *time.Location) int64 {
	before, after := v.from-offsetAt(zone, v.from-daySeconds), v.from-offsetAt(zone, v.from+daySeconds)
	if before+offsetAt(zone, before) != v.from && after+offsetAt(zone, after) == v.from {
		return after
	}
	return before
}

// offsetAt is how far the wall clock is ahead of UTC around an instant.
func offsetAt(zone *time.Location, t int64) int64 {
	_, offset := time.Unix(t, 0).In(zone).Zone()
	return int64(offset)
}

// next returns the first due instant that is not before an instant.
func (v interval) next(zone *time.Location, at int64) int64 {
	start := v.start(zone)
	return start + max(0, ceil(at-start, v.every))
}

// String returns the words that ParseEvery reads.
func (v interval) String() string {
	n, unit := v.every/minuteSeconds, "minute"
	if v.every%hourSeconds == 0 {
		n, unit = v.every/hourSeconds, "hour"
	}
	if n > 1 {
		unit = fmt.Sprintf("%d %ss", n, unit)
	}
	return unit + " from " + v.begin()
}

func (v interval) begin() string { return time.Unix(v.from, 0).UTC().Format("2006-01-02 15:04") }

// compare says whether the minute that begins at an instant is due.
func (v interval) compare(zone *time.Location, minute int64, due bool) []Field {
	since := minute + minuteSeconds - 1 - v.start(zone)
	f := Field{Name: "interval", Text: v.String(), Value: int((since - mod(since, minuteSeconds)) / minuteSeconds), Matches: due}
	not := "not "
	if due {
		not = ""
	}
	f.said = fmt.Sprintf("it is %d minutes after %s, %sa multiple of %d", f.Value, v.begin(), not, v.every/minuteSeconds)
	if f.Value < 0 {
		f.said = "it is before " + v.begin()
	}
	return []Field{f}
}
