package work

import (
	"context"
	"time"

	"sched/schedule/clock"
)

// Bounds for a clock that does not go on evenly.
const (
	// maxLateMinutes is how many minutes get their tick late when `sched work` could not run. After
	// a longer time, as when a laptop slept, only the present minute gets its tick; the other
	// minutes are missed.
	maxLateMinutes = 10

	// maxSetBack is how far a clock may be set back without any minute being ticked twice. A
	// clock that is set back further was wrong, and the minutes that it showed do not count: the
	// rule of cron(8).
	maxSetBack = 3 * time.Hour
)

// minutes decides which minutes get a tick (docs/internals/decisions.md#ten-late-minutes-or-one).
type minutes struct {
	last   time.Time // the minute of the last call of due
	ticked map[time.Time]bool
}

// newMinutes counts the present minute as ticked, because an earlier `sched work` may have ticked
// it.
func newMinutes(now time.Time) *minutes {
	minute := minuteOf(now)
	return &minutes{last: minute, ticked: map[time.Time]bool{minute: true}}
}

// due returns the minutes that have begun and were not ticked yet, oldest first. They then count as
// ticked.
func (m *minutes) due(now time.Time) (due []time.Time) {
	minute := minuteOf(now)
	if minute.Before(m.last) { // the clock was set back
		m.last = minute.Add(-time.Minute)
	}
	next := m.last.Add(time.Minute)
	if minute.Sub(m.last) > maxLateMinutes*time.Minute {
		next = minute
	}
	for ; !next.After(minute); next = next.Add(time.Minute) {
		if !m.ticked[next] {
			m.ticked[next] = true
			due = append(due, next)
		}
	}
	m.last = minute
	for at := range m.ticked {
		if at.Sub(minute).Abs() > maxSetBack {
			delete(m.ticked, at)
		}
	}
	return due
}

// minuteOf cuts a time to its minute, in UTC and without Go's monotonic clock.
func minuteOf(t time.Time) time.Time { return t.UTC().Truncate(time.Minute) }

const (
	// leadTime is how long before its minute a tick starts, so that it can read its schedule.
	leadTime = time.Second

	// staleAfter is the wait after which the schedule is read again, because the clock was set back
	// meanwhile.
	staleAfter = 3 * leadTime
)

// Await waits for the minute of a tick that was started ahead of its minute. reached is false
// if ctx was done first, or if the clock was set back so far that the minute will get another tick.
// stale is true if the wait took so long that the tick must read its schedule again.
func Await(ctx context.Context, minute time.Time) (reached, stale bool) {
	begun := time.Now()
	for ctx.Err() == nil && minute.Sub(clock.Now()) <= maxSetBack {
		left := minute.Sub(clock.Now())
		if left <= 0 {
			return true, time.Since(begun) > staleAfter
		}
		clock.WaitUntil(ctx, minute.Add(-left+min(left, clock.Recheck)))
	}
	return false, false
}
