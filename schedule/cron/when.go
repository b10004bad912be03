// Package cron says when a task is due. It reads cron expressions (Parse) and words (ParseEvery),
// finds due instants in a time zone (When), and explains them (Explanation).
//
// # Promises
//
//   - It is pure: time and zone are arguments, and it reads no clock and no file.
//   - Slots, Next, Previous, Backward, Count and Explain agree about every instant.
//   - Daylight saving has one rule, the rule of cron(8), which is written in wallclock.go.
//   - Every value may be used by several goroutines at once.
//   - Every error of Parse and ParseEvery is an *Error, with a hint if there is something to
//     write instead.
//
// Tasks, conditions and what becomes of a slot are for other packages.
//
// # Where to find what
//
// Text becomes an Expression in expression.go and field.go (the grammar of a field). Words become
// expressions in every*.go (the grammar of every:). expression.go searches the wall clock, by
// days.go; wallclock.go maps wall times to instants; when.go joins the expressions of a task.
package cron

import (
	"iter"
	"slices"
	"strings"
	"time"
)

// A When is the instants at which any of its expressions is due, on the wall clock of its zone. It
// is safe for concurrent use. The zero When is never due.
type When struct {
	Crons    []Expression
	Every    string         // the text of every:, if the expressions come from it; for people only
	Location *time.Location // nil is UTC
	Boot     bool           // also at the first tick after each boot of the machine, whose instant is unknown
	Shift    time.Duration  // how much later than its expressions say it is due: whole minutes, 0 or more
	From     time.Time      // it is never due before that; zero: no bound
	Until    time.Time      // it is never due from then on; zero: no bound
}

// horizon is how far, in seconds, Next and Previous look. 29 February on a given weekday is 40
// years away at most.
const horizon = 41 * 366 * daySeconds

// Slots returns the instants at which w is due in the minute that holds minute, in UTC and in
// order.
func (w When) Slots(minute time.Time) []time.Time {
	from := minute.Unix()
	from -= mod(from, minuteSeconds)
	var slots []time.Time
	for t := range w.forward(from, from+minuteSeconds) {
		slots = append(slots, time.Unix(t, 0).UTC())
	}
	return slots
}

// Next returns the first instant after after at which w is due, in UTC. It returns false if w is
// not due within 41 years of after, or of a later date that days are counted from, or if From and
// Until leave no time. That happens, too, if its times lie in a gap of the clocks each year, such
// as "*/5 2 * MAR SUN#2" in New York.
func (w When) Next(after time.Time) (next time.Time, ok bool) {
	from := after.Unix() + 1
	to := from + horizon + int64(w.Shift/time.Second)
	if !w.From.IsZero() {
		to = max(to, w.From.Unix()+horizon)
	}
	for i := range w.Crons {
		to = max(to, w.Crons[i].cycle.from*daySeconds+horizon, w.Crons[i].interval.from+horizon)
	}
	t, ok := w.next(from, to)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(t, 0).UTC(), true
}

// Previous returns the last instant before before at which w was due, in UTC. It returns false if w
// was not due within 41 years.
func (w When) Previous(before time.Time) (previous time.Time, ok bool) {
	to := ceilSecond(before)
	if !w.Until.IsZero() {
		to = min(to, ceilSecond(w.Until))
	}
	end := to
	for size := int64(hourSeconds); ; size *= 24 { // slots that come often are near
		from := max(end-size, end-horizon)
		if t, ok := w.next(from, to); ok {
			return time.Unix(w.last(t, to), 0).UTC(), true
		}
		if from == end-horizon {
			return time.Time{}, false
		}
		to = from
	}
}

// Backward yields the instants of [from, to) at which w is due, in UTC, the newest first. It looks
// back only as far as the loop goes.
func (w When) Backward(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		first, end := ceilSecond(from), ceilSecond(to)
		for span := int64(minuteSeconds); first < end; span *= 2 {
			start := max(first, end-span)
			for _, t := range slices.Backward(slices.Collect(w.forward(start, end))) {
				if !yield(time.Unix(t, 0).UTC()) {
					return
				}
			}
			end = start
		}
	}
}

// Forward returns an iterator over the instants of [from, to) at which w is due, in UTC, the oldest
// first.
func (w When) Forward(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for t := range w.forward(ceilSecond(from), ceilSecond(to)) {
			if !yield(time.Unix(t, 0).UTC()) {
				return
			}
		}
	}
}

// String returns the expressions as people read them.
func (w When) String() string {
	return strings.Join(w.Texts(), "; ")
}

// Texts returns the expressions as people read them, each alone.
func (w When) Texts() (texts []string) {
	if w.Boot {
		texts = append(texts, AtBoot)
	}
	for _, c := range w.Crons {
		texts = append(texts, c.String())
	}
	return texts
}

// AtBoot stands for a boot in the place of an expression.
const AtBoot = "@reboot"

func (w When) zone() *time.Location {
	if w.Location == nil {
		return time.UTC
	}
	return w.Location
}

// next returns the first second of [from, to) at which any of the expressions is due.
func (w When) next(from, to int64) (int64, bool) {
	for t := range w.forward(from, to) {
		return t, true
	}
	return 0, false
}

// Bounds reports whether at is neither before From nor at or after Until.
func (w When) Bounds(at time.Time) bool {
	return !at.Before(w.From) && (w.Until.IsZero() || at.Before(w.Until))
}

// forward returns an iterator over the seconds of [from, to) at which w is due.
func (w When) forward(from, to int64) iter.Seq[int64] {
	if !w.From.IsZero() {
		from = max(from, ceilSecond(w.From))
	}
	if !w.Until.IsZero() {
		to = min(to, ceilSecond(w.Until))
	}
	if w.Shift == 0 {
		return w.unshifted(from, to)
	}
	shift := int64(w.Shift / time.Second)
	return func(yield func(int64) bool) {
		for t := range w.unshifted(from-shift, to-shift) {
			if !yield(t + shift) {
				return
			}
		}
	}
}

func (w When) unshifted(from, to int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for from < to {
			p := periodAt(w.zone(), from)
			end := min(p.end, to)
			for from < end {
				t := w.first(p, from, end)
				if t < end && !yield(t) {
					return
				}
				from = t + 1
			}
			from = end
		}
	}
}

// first returns the first second of [from, end) at which any of the expressions is due, or end.
// Both lie in the period.
func (w When) first(p offsetPeriod, from, end int64) int64 {
	for i := range w.Crons {
		if v := w.Crons[i].interval; v.every > 0 {
			end = min(end, v.next(w.zone(), from))
			continue
		}
		if t, ok := p.next(&w.Crons[i], from, end); ok {
			end = t
		}
	}
	return end
}

// last returns the last second before to at which w is due. It is due at t.
func (w When) last(t, to int64) int64 {
	for t+1 < to {
		middle := t + 1 + (to-t-1)/2
		if later, ok := w.next(middle, to); ok {
			t = later
		} else {
			to = middle
		}
	}
	return t
}

func ceilSecond(t time.Time) int64 { return t.Add(time.Second - time.Nanosecond).Unix() }

// Count returns how many instants Forward yields.
func (w When) Count(from, to time.Time) (n int) {
	for range w.Forward(from, to) {
		n++
	}
	return n
}
