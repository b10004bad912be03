package schedule

import (
	"strings"
	"sync/atomic"
	"time"

	"sched/schedule/cron"
	"sched/schedule/every"
	"sched/schedule/humanize"
)

// A Pause is an entry of `pauses`: a time in which tasks do not start, once or again and again. The
// fields with a JSON name are in the snapshot of a waiting run.
type Pause struct {
	// A pause that comes once has From and Until. A pause that comes again has Every, Zone and For.
	From  time.Time     `json:"from,omitzero"`
	Until time.Time     `json:"until,omitzero"`
	Every string        `json:"every,omitempty"` // when the pause begins, in words
	Zone  string        `json:"zone,omitempty"`  // of Every
	For   time.Duration `json:"for,omitempty"`   // how long the pause lasts

	Everything bool   `json:"everything,omitempty"` // it is for all tasks but those with even_when_paused
	File       string `json:"file"`                 // the name of the schedule's file
	Stop       bool   `json:"stop,omitempty"`       // ticks stop the runs that had begun before it
	Reason     string `json:"reason,omitempty"`

	// When is Every, as it was read. Its Location is also set for a pause that comes once: String
	// writes From and Until in that zone. A snapshot has no When: beginTimes reads Every anew.
	When  cron.When `json:"-"`
	Tasks []string  `json:"-"` // the names of tasks; with Tags empty: it is for all tasks
	Tags  []string  `json:"-"`
	Place Place     `json:"-"`

	last atomic.Pointer[pauseSpan] // the last answer of At, which is asked for one slot after another
}

// A pauseSpan is an answer of At (from, until, ok) and the times for which it holds: from validFrom
// until before validUntil. If both are zero, it holds only for the time that was asked for.
type pauseSpan struct {
	validFrom, validUntil time.Time
	from, until           time.Time
	ok                    bool
}

func (s *pauseSpan) holds(at time.Time) bool {
	return !at.Before(s.validFrom) && at.Before(s.validUntil)
}

// beginTimes returns the times at which a pause begins that comes again.
func (p *Pause) beginTimes() cron.When {
	if p.When.Crons == nil { // of a snapshot
		when := cron.When{}
		when.Crons, _ = every.Parse(p.Every) // as it was when the file was read
		when.Location, _ = time.LoadLocation(p.Zone)
		return when
	}
	return p.When
}

// At returns when the pause that covers the time at began, and when it ends. ok is false if the
// pause does not cover that time.
func (p *Pause) At(at time.Time) (from, until time.Time, ok bool) {
	if p.Every == "" {
		return p.From, p.Until, !at.Before(p.From) && at.Before(p.Until)
	}
	span := p.last.Load()
	if span == nil || !span.holds(at) {
		span = p.spanAt(at)
		p.last.Store(span)
	}
	return span.from, span.until, span.ok
}

// spanAt returns the answer of At for a pause that comes again. Pauses that overlap are one: it
// lasts from the beginning of the first to the end of the last. If none overlap, the answer holds
// until the next beginning, or until the end of the pause if that is sooner.
func (p *Pause) spanAt(at time.Time) *pauseSpan {
	when := p.beginTimes()
	first, found := when.Next(at.Add(-p.For)) // of the pauses that may cover at
	if !found {
		return &pauseSpan{}
	}
	if first.After(at) {
		return &pauseSpan{validFrom: at, validUntil: first}
	}
	newest, _ := when.Previous(at.Add(1))
	span := &pauseSpan{from: first, until: newest.Add(p.For), ok: true}
	if next, again := when.Next(at); again && first.Equal(newest) {
		span.validFrom, span.validUntil = at, next
		if span.until.Before(next) {
			span.validUntil = span.until
		}
	}
	return span
}

// Next returns when the pause next begins after the time at, and when it ends then. ok is false if
// it does not begin again.
func (p *Pause) Next(at time.Time) (from, until time.Time, ok bool) {
	if p.Every == "" {
		return p.From, p.Until, p.From.After(at)
	}
	from, ok = p.beginTimes().Next(at)
	return from, from.Add(p.For), ok
}

// String returns when the pause is, as people read it: "sunday at 02:00 for 4h". A pause of a
// snapshot that comes once has no zone, and cannot be printed.
func (p *Pause) String() string {
	if p.Every != "" {
		return p.Every + " for " + humanize.Duration(p.For)
	}
	return "from " + MomentText(p.From, p.When.Location) + " until " + MomentText(p.Until, p.When.Location)
}

// MomentText writes a time that the file has, on the wall clock of the zone: a midnight as a date.
func MomentText(at time.Time, zone *time.Location) string {
	local := at.In(zone)
	if local.Format(time.TimeOnly) == "00:00:00" {
		return local.Format(time.DateOnly)
	}
	return strings.TrimSuffix(local.Format(time.DateTime), ":00")
}
