package schedule

import (
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"sched/schedule/cron"
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

	When  cron.When `json:"-"` // Every, as it was read; empty in a snapshot, where begins reads Every anew
	Tasks []string  `json:"-"` // the names of tasks; with Tags empty: it is for all tasks
	Tags  []string  `json:"-"`
	Place Place     `json:"-"`

	last atomic.Pointer[pauseSpan] // the last answer of At, which is asked for one slot after another
}

// A pauseSpan is the answer of At for all times from begins to before ends. It is the answer for a
// single time if begins and ends are zero.
type pauseSpan struct {
	begins, ends time.Time
	from, until  time.Time
	ok           bool
}

func (s *pauseSpan) holds(at time.Time) bool { return !at.Before(s.begins) && at.Before(s.ends) }

// IsFor reports whether the pause is for the task.
func (p *Pause) IsFor(t *Task) bool {
	if p.Everything {
		return !t.EvenWhenPaused
	}
	hasTag := func(tag string) bool { return slices.Contains(p.Tags, tag) }
	return slices.Contains(p.Tasks, t.Name) || slices.ContainsFunc(t.Tags, hasTag)
}

// begins returns when the pause begins, if it comes again.
func (p *Pause) begins() cron.When {
	if p.When.Crons == nil { // of a snapshot
		when := cron.When{}
		when.Crons, _ = cron.ParseEvery(p.Every) // as it was when the file was read
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
// lasts from the beginning of the first to the end of the last.
func (p *Pause) spanAt(at time.Time) *pauseSpan {
	when := p.begins()
	first, found := when.Next(at.Add(-p.For)) // of the pauses that may cover at
	if !found {
		return &pauseSpan{}
	}
	if first.After(at) {
		return &pauseSpan{begins: at, ends: first}
	}
	newest, _ := when.Previous(at.Add(1))
	span := &pauseSpan{from: first, until: newest.Add(p.For), ok: true}
	if next, again := when.Next(at); again && first.Equal(newest) {
		span.begins, span.ends = at, next
		if span.until.Before(next) {
			span.ends = span.until
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
	from, ok = p.begins().Next(at)
	return from, from.Add(p.For), ok
}

// String returns when the pause is, as people read it: "sunday at 02:00 for 4h".
func (p *Pause) String() string {
	if p.Every != "" {
		return p.Every + " for " + humanize.Duration(p.For)
	}
	return "from " + MomentText(p.From, p.When.Location) + " until " + MomentText(p.Until, p.When.Location)
}

// SettlePauses gives the tasks the pauses of the file that are for them.
func (s *Schedule) SettlePauses() {
	for _, p := range s.Pauses {
		p.Everything = len(p.Tasks)+len(p.Tags) == 0
		p.File = filepath.Base(s.File)
	}
	for _, t := range s.Tasks {
		t.Pauses = nil
		for _, p := range s.Pauses {
			if p.IsFor(t) {
				t.Pauses = append(t.Pauses, p)
			}
		}
	}
}
