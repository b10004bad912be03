// Package cron says when a task is due. It reads cron expressions (Parse), finds due instants in
// a time zone (When), and explains them (Explanation).
//
// # Promises
//
//   - It is pure: time and zone are arguments, and it reads no clock and no file.
//   - Slots, Next, Previous, Backward, Count and Explain agree about every instant.
//   - Daylight saving has one rule, the rule of cron(8), which is written in when.go.
//   - Every value may be used by several goroutines at once.
//   - Every error of Parse is an *Error, with a hint if there is something to write instead.
//
// Tasks, conditions and what becomes of a slot are for other packages.
//
// # Where to find what
//
// Text becomes an Expression in expression.go and field.go (the grammar of a field); package every
// reads the words of every:. expression.go searches the wall clock, by
// days.go; when.go joins the expressions of a task, and maps wall times to instants.
package cron

import (
	"iter"
	"slices"
	"strings"
	"time"

	"sched/schedule/calendar"
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
	Rule     *calendar.Rule // of all Crons (By); nil: none
}

// By returns w with working days. Slots on other days are skipped: see Skips.
func (w When) By(rule *calendar.Rule) When {
	w.Crons, w.Rule = On(rule, w.Crons), rule
	return w
}

// On returns the expressions with working days.
func On(rule *calendar.Rule, crons []Expression) []Expression {
	crons = slices.Clone(crons)
	for i := range crons {
		crons[i].rule = rule
	}
	return crons
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
		to = max(to, w.Crons[i].cycle.first*daySeconds+horizon, w.Crons[i].interval.from+horizon)
	}
	t, ok := w.next(from, to)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(t, 0).UTC(), true
}

// Previous returns the last instant before before at which w was due, in UTC. It returns false if w
// was not due within 41 years of before, or of Until if that is earlier.
func (w When) Previous(before time.Time) (previous time.Time, ok bool) {
	if !w.Until.IsZero() && w.Until.Before(before) {
		before = w.Until
	}
	for at := range w.Backward(before.Add(-horizon*time.Second), before) {
		return at, true
	}
	return time.Time{}, false
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

// IsByHand reports whether the task has no times on purpose.
func (w When) IsByHand() bool { return w.Every == ByHand }

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

// day returns the day of the wall clock that a slot is of, without Shift.
func (w When) day(at time.Time) int64 { return calendar.DayOf(at.Add(-w.Shift).In(w.zone())) }

// Skips says why a slot is skipped, because its day is no working day; "" if it is not.
func (w When) Skips(at time.Time) string {
	if w.Rule == nil {
		return ""
	}
	return w.Rule.Skips(w.day(at))
}

// Meaning returns the day for which a slot was meant. It is zero without a Rule.
func (w When) Meaning(at time.Time) calendar.Meaning {
	if w.Rule == nil {
		return calendar.Meaning{}
	}
	day, from := w.day(at), at.Add(-w.Shift).Unix()
	meant := day
	for i := range w.Crons {
		c := When{Crons: w.Crons[i : i+1], Location: w.Location}
		if _, isDue := c.next(from, from+1); isDue {
			if meant = w.Rule.For(day, w.Crons[i].meant); meant == day {
				break
			}
		}
	}
	return w.Rule.Meaning(meant, day)
}

// InBounds reports whether at is neither before From nor at or after Until.
func (w When) InBounds(at time.Time) bool {
	return !at.Before(w.From) && (w.Until.IsZero() || at.Before(w.Until))
}

// bounded returns the part of [from, to) in which From and Until let w be due, so much earlier as
// Shift says. That is the part to search without a shift.
func (w When) bounded(from, to int64) (first, end, shift int64) {
	if !w.From.IsZero() {
		from = max(from, ceilSecond(w.From))
	}
	if !w.Until.IsZero() {
		to = min(to, ceilSecond(w.Until))
	}
	shift = int64(w.Shift / time.Second)
	return from - shift, to - shift, shift
}

// forward returns an iterator over the seconds of [from, to) at which w is due.
func (w When) forward(from, to int64) iter.Seq[int64] {
	from, to, shift := w.bounded(from, to)
	return func(yield func(int64) bool) {
		for from := from; from < to; {
			p := periodAt(w.zone(), from)
			end := min(p.end, to)
			for from < end {
				t := w.first(p, from, end)
				if t < end && !yield(t+shift) {
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

// ceilSecond returns the first second that is not before t.
func ceilSecond(t time.Time) int64 { return t.Add(time.Second - time.Nanosecond).Unix() }

// Count returns how many instants Forward yields.
func (w When) Count(from, to time.Time) (n int) {
	for range w.Forward(from, to) {
		n++
	}
	return n
}

// The rest of this file maps the times of the wall clock to instants.
//
// Jobs follow the wall clock of their zone. When the clocks change, the rules of cron(8) hold:
//
//   - A job with a fixed time runs at the first instant at which the wall clock shows that time or
//     a later one: right after a gap, and in the first pass of an hour that comes twice.
//   - Any other job is due whenever the wall clock shows a due time: in both passes, not in a gap.

// An offsetPeriod is a time in which a zone keeps one offset from UTC. All numbers are seconds. A
// wall second is an instant plus offset.
type offsetPeriod struct {
	start, end int64 // instants; end is the start of the next period
	offset     int64
	firstNew   int64 // the first wall second that the clock had not shown before start
}

// maxRepeat is longer than any repeated time after a change of the clocks: at most a day.
const maxRepeat = 2 * daySeconds

// Instants before and after all others, small enough to be added to.
const (
	firstInstant = -1 << 61
	lastInstant  = 1 << 61
)

// periodAt returns the period that holds the instant u.
func periodAt(zone *time.Location, u int64) offsetPeriod {
	p := boundsAt(zone, u)
	p.firstNew = firstInstant
	if u-p.start >= maxRepeat {
		return p
	}
	for before := p; before.start > firstInstant && p.start-before.start < maxRepeat; {
		change := before.start
		before = boundsAt(zone, change-1)
		p.firstNew = max(p.firstNew, change+before.offset)
	}
	return p
}

// boundsAt returns the period that holds u, without firstNew. Past the changes that the zone file
// lists, its end can be a day early: ZoneBounds takes every year to have 365 days.
func boundsAt(zone *time.Location, u int64) offsetPeriod {
	t := time.Unix(u, 0).In(zone)
	_, offset := t.Zone()
	p := offsetPeriod{start: firstInstant, end: lastInstant, offset: int64(offset)}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		p.start = start.Unix()
	}
	if !end.IsZero() {
		p.end = end.Unix()
	}
	if p.end <= u {
		p.end = ceil(u+1, daySeconds)
	}
	return p
}

// next returns the first instant of [from, to) at which c is due. Both lie in the period; to may be
// its end.
func (p offsetPeriod) next(c *Expression, from, to int64) (int64, bool) {
	wall := from + p.offset
	if c.fixed {
		if p.gapHas(c, from) {
			return from, true
		}
		wall = max(wall, p.firstNew)
	}
	t, ok := c.next(wall, to+p.offset)
	return t - p.offset, ok
}

// gapHas reports whether c is due in the gap that ends at the instant from.
func (p offsetPeriod) gapHas(c *Expression, from int64) bool {
	if from != p.start {
		return false
	}
	_, isDue := c.next(p.firstNew, from+p.offset)
	return isDue
}

// pass returns 1 or 2, the pass of this period, if the zone shows a wall second twice; else 0.
func (p offsetPeriod) pass(zone *time.Location, wall int64) int {
	if wall < p.firstNew {
		return 2
	}
	if p.end < lastInstant && wall-boundsAt(zone, p.end).offset >= p.end {
		return 1
	}
	return 0
}

// WallClock returns the first instant at which the clock of the zone shows the date and time of
// wall, to the second. The zone of wall does not matter. For a skipped time it returns the end of
// the gap.
func WallClock(wall time.Time, zone *time.Location) (at time.Time, skipped bool) {
	year, month, day := wall.Date()
	shown := time.Date(year, month, day, wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC).Unix()
	period := boundsAt(zone, shown-daySeconds)
	for period.end <= shown-period.offset { // the wall time comes after this period
		next := boundsAt(zone, period.end)
		if shown-next.offset < period.end {
			return time.Unix(period.end, 0).In(zone), true
		}
		period = next
	}
	return time.Unix(shown-period.offset, 0).In(zone), false
}

// Explain says whether w is due in the absolute minute that holds minute, and which fields decide
// it. It leaves seconds out. In a zone that is not whole minutes from UTC, it takes the minute of
// the wall clock that begins in the given one. With a Shift the verdicts are about the minute that
// lies so much earlier, and changes of the clocks are left out.
func (w When) Explain(minute time.Time) Explanation {
	if w.Shift == 0 {
		return w.explain(minute)
	}
	plain := w
	plain.Shift = 0
	e := plain.explain(minute.Add(-w.Shift))
	e.Minute, e.Slots, e.Pass, e.Gap = e.Minute.Add(w.Shift), w.Slots(minute), 0, nil
	return e
}

func (w When) explain(minute time.Time) Explanation {
	from := minute.Unix()
	from -= mod(from, minuteSeconds)
	p := periodAt(w.zone(), from)
	wall := ceil(from+p.offset, minuteSeconds)
	e := Explanation{Minute: time.Unix(from, 0).In(w.zone()), Slots: w.Slots(minute), Pass: p.pass(w.zone(), wall)}
	if from == p.start && p.firstNew < wall {
		e.Gap = &Gap{wallTime(p.firstNew), wallTime(wall)}
	}
	for _, c := range w.Crons {
		_, due := When{Crons: []Expression{c}, Location: w.Location}.next(from, from+minuteSeconds)
		v := Verdict{Cron: c, Due: due, Wall: wallTime(wall)}
		if c.interval.every > 0 {
			v.Fields = c.interval.explain(w.zone(), from, due)
			e.Verdicts = append(e.Verdicts, v)
			continue
		}
		if e.Gap != nil {
			switch t, skipped := c.next(p.firstNew, wall); {
			case skipped && c.fixed:
				v.Wall, v.MadeUp = wallTime(t), true
			case skipped:
				v.SkippedTime = wallTime(t)
			}
		}
		v.Fields = c.compare(v.Wall)
		v.FirstPassOnly = !due && len(v.Mismatches()) == 0
		e.Verdicts = append(e.Verdicts, v)
	}
	return e
}
