package cron

import (
	"strings"
	"time"
)

// An Explanation says why a task is due in one minute, or why it is not. Times of the wall clock in it,
// which need not exist, are counted as if they were UTC.
type Explanation struct {
	Minute   time.Time   // its beginning, in the zone of the task
	Slots    []time.Time // what Slots returns
	Verdicts []Verdict   // of the expressions, in order
	Pass     int         // 1 or 2 where the wall clock shows this minute twice, else 0
	Gap      *Gap        // what the clocks skipped right before this minute
}

// A Gap is the wall times that a change of the clocks skipped: from From to just before To.
type Gap struct{ From, To time.Time }

// A Verdict is what one expression says of a minute. Where it is not Due, No is not empty or Past is true.
type Verdict struct {
	Cron   Expression
	Due    bool
	Fields []Field   // minute, hour, day, month and weekday; or minute, hour and date, where days are counted from one
	Read   time.Time // the wall clock that the fields were compared with: of the minute, or the one it makes up for
	MadeUp bool      // Read was skipped, and the minute after the gap stands for it
	Past   bool      // all fields match, and this job with a fixed time was due in the first pass
	Gone   time.Time // a time in the gap that this job, which has no fixed time, will not be made up for; else zero
}

// A Field is one field of an expression, compared with the clock.
type Field struct {
	Name    string // minute, hour, day, month, weekday or date
	Text    string // of the expression
	Value   int    // of the clock; Sunday is 0, and a date is the days since the one that is counted from
	Matches bool

	cycle cycle // of a date
}

// Explain says whether w is due in the absolute minute that holds minute, and which fields of its
// expressions say so. (Seconds never say no: every minute has all of them.)
//
// In a zone that was not whole minutes from UTC, as there were until 1972, the minute of the wall clock
// is the one that begins in the given one.
func (w When) Explain(minute time.Time) Explanation {
	zone := w.Location
	if zone == nil {
		zone = time.UTC
	}
	from := minute.Unix()
	from -= mod(from, minuteSeconds)
	s := stretchAt(zone, from)
	wall := ceil(from+s.offset, minuteSeconds)
	e := Explanation{Minute: time.Unix(from, 0).In(zone), Slots: w.Slots(minute), Pass: s.pass(zone, wall)}
	if from == s.start && s.shown < wall {
		e.Gap = &Gap{wallTime(s.shown), wallTime(wall)}
	}
	for i := range w.Crons {
		c := &w.Crons[i]
		_, due := When{Crons: w.Crons[i : i+1], Location: zone}.next(from, from+minuteSeconds)
		v := Verdict{Cron: *c, Due: due, Read: wallTime(wall)}
		if e.Gap != nil {
			switch t, swallowed := c.next(s.shown, wall); {
			case swallowed && c.fixed:
				v.Read, v.MadeUp = wallTime(t), true
			case swallowed:
				v.Gone = wallTime(t)
			}
		}
		v.Fields = c.compare(v.Read)
		v.Past = !due && len(v.No()) == 0
		e.Verdicts = append(e.Verdicts, v)
	}
	return e
}

// pass tells whether the wall clock shows a time of this stretch twice, and if so which pass this is.
func (s stretch) pass(zone *time.Location, wall int64) int {
	if wall < s.shown {
		return 2
	}
	if s.end < farOff && wall-zoneAt(zone, s.end).offset >= s.end {
		return 1
	}
	return 0
}

func wallTime(wall int64) time.Time { return time.Unix(wall, 0).UTC() }

// compare compares each field but the seconds with a wall clock time.
func (c *Expression) compare(wall time.Time) []Field {
	if c.cycle.days > 0 {
		return c.compareCycle(wall)
	}
	words := strings.Fields(c.text)
	words = words[len(words)-5:]
	field := func(pos, value int, matches bool) Field {
		return Field{Name: cronFields[pos].name, Text: words[pos-minuteField], Value: value, Matches: matches}
	}
	m, day := monthOf(dayOf(wall.Unix()))
	return []Field{
		field(minuteField, wall.Minute(), c.times.minutes.has(wall.Minute())),
		field(hourField, wall.Hour(), c.times.hours.has(wall.Hour())),
		field(dayField, day, c.dates.days.in(m).has(day)),
		field(monthField, m.number, c.dates.months.has(m.number)),
		field(weekdayField, int(wall.Weekday()), c.dates.weekdays.in(m).has(day)),
	}
}

// compareCycle compares the time of day and the date.
func (c *Expression) compareCycle(wall time.Time) []Field {
	field := func(pos, value int, due set) Field {
		return Field{Name: cronFields[pos].name, Text: due.String(), Value: value, Matches: due.has(value)}
	}
	words, _, _ := strings.Cut(c.text, " at ")
	day := dayOf(wall.Unix())
	return []Field{
		field(minuteField, wall.Minute(), c.times.minutes),
		field(hourField, wall.Hour(), c.times.hours),
		{Name: "date", Text: words, Value: int(day - c.cycle.from), Matches: c.cycle.due(day), cycle: c.cycle},
	}
}

// No returns the fields that keep the expression from being due. Where both day fields are restricted
// one of them is enough, so then only both together say no.
func (v Verdict) No() []Field {
	var no []Field
	day, weekday := v.days()
	oneIsEnough := v.Cron.dates.either && (day.Matches || weekday.Matches)
	for _, f := range v.Fields {
		if !f.Matches && !(oneIsEnough && (f.Name == day.Name || f.Name == weekday.Name)) {
			no = append(no, f)
		}
	}
	return no
}

// days returns the two day fields, where the expression has them.
func (v Verdict) days() (day, weekday Field) {
	if v.Cron.cycle.days > 0 {
		return Field{}, Field{}
	}
	return v.Fields[dayField-minuteField], v.Fields[weekdayField-minuteField]
}

// WallClock returns the instant at which the clock of the zone shows the date and time of wall, whatever
// the zone of wall: the first such instant where there are two. A time that the clocks skip stands for the
// first instant after the gap, at which jobs that were fixed to it are due.
func WallClock(wall time.Time, zone *time.Location) (at time.Time, skipped bool) {
	shown := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC).Unix()
	near := zoneAt(zone, shown-daySeconds)
	for near.end <= shown-near.offset { // the wall time is not of this stretch
		after := zoneAt(zone, near.end)
		if shown-after.offset < near.end {
			return time.Unix(near.end, 0).In(zone), true
		}
		near = after
	}
	return time.Unix(shown-near.offset, 0).In(zone), false
}
