package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Explanation says why a task is due in one minute, or why it is not. Its times of the wall
// clock need not exist, and are counted as if they were UTC.
type Explanation struct {
	Minute   time.Time   // its beginning, in the zone of the task
	Slots    []time.Time // what Slots returns
	Verdicts []Verdict   // one for each expression, in order
	Pass     int         // 1 or 2 if the wall clock shows this minute twice, else 0
	Gap      *Gap        // what the clocks skipped right before this minute, or nil
}

// A Gap is the wall times that a change of the clocks skipped: from From to just before To.
type Gap struct{ From, To time.Time }

// A Verdict says whether one expression is due in a minute. If it is not Due, it has Mismatches or
// FirstPassOnly is true.
type Verdict struct {
	Cron   Expression
	Due    bool
	Fields []Field   // minute, hour, day, month, weekday; with a cycle minute, hour, date; with an interval that alone
	Wall   time.Time // the wall time that the fields were compared with: of the minute, or a skipped one if MadeUp

	MadeUp        bool      // Wall was skipped, and this job with a fixed time runs right after the gap
	FirstPassOnly bool      // all fields match in the second pass, but this job with a fixed time was due in the first
	SkippedTime   time.Time // a due time in the gap that is not made up for, because the job is not fixed; else zero
}

// A Field is one field of an expression, compared with the wall clock.
type Field struct {
	Name    string // minute, hour, day, month, weekday, date or interval
	Text    string // of the expression
	Value   int    // of the clock; Sunday is 0; a date in days from the first, an interval in minutes from its start
	Matches bool

	comparison string // in words, for a date or an interval; else ""
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

// compare compares each field but the seconds with a wall time.
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

// compareCycle compares the fields for the time of day, and the date with the cycle.
func (c *Expression) compareCycle(wall time.Time) []Field {
	field := func(pos, value int, due set) Field {
		return Field{Name: cronFields[pos].name, Text: due.String(), Value: value, Matches: due.has(value)}
	}
	words, _, _ := strings.Cut(c.text, " at ")
	since := dayOf(wall.Unix()) - c.cycle.first
	return []Field{
		field(minuteField, wall.Minute(), c.times.minutes),
		field(hourField, wall.Hour(), c.times.hours),
		{
			Name:       "date",
			Text:       words,
			Value:      int(since),
			Matches:    since >= 0 && since%c.cycle.days == 0,
			comparison: c.cycle.why(since),
		},
	}
}

// Mismatches returns the fields that keep the expression from being due. If both day fields are
// restricted, it returns them only when neither matches.
func (v Verdict) Mismatches() []Field {
	var mismatches []Field
	day, weekday := v.days()
	oneIsEnough := v.Cron.dates.either && (day.Matches || weekday.Matches)
	for _, f := range v.Fields {
		if !f.Matches && !(oneIsEnough && (f.Name == day.Name || f.Name == weekday.Name)) {
			mismatches = append(mismatches, f)
		}
	}
	return mismatches
}

// days returns the two day fields. They are zero if days or an interval are counted from a date.
func (v Verdict) days() (day, weekday Field) {
	if v.Cron.cycle.days > 0 || v.Cron.interval.every > 0 {
		return Field{}, Field{}
	}
	return v.Fields[dayField-minuteField], v.Fields[weekdayField-minuteField]
}

// Why says in words why the expression is due in the minute, or why it is not.
func (v Verdict) Why() string {
	if v.FirstPassOnly {
		return fmt.Sprintf("%s comes twice on this day, and a job with a fixed time is due the first time only",
			v.Wall.Format("15:04"))
	}
	mismatches := v.Mismatches()
	if len(mismatches) == 0 {
		return v.whyDue()
	}
	var reasons, days []string
	for _, f := range mismatches {
		if v.Cron.dates.either && (f.Name == "day" || f.Name == "weekday") {
			days = append(days, f.String())
		} else {
			reasons = append(reasons, f.String())
		}
	}
	if len(days) > 0 {
		reasons = append(reasons, strings.Join(days, " and ")+" (one of the two would be enough)")
	}
	if !v.SkippedTime.IsZero() {
		reasons = append(reasons, v.SkippedTime.Format("15:04")+" did not exist on this day, "+
			"and a job with a * in its minute or hour is not made up for")
	}
	return strings.Join(reasons, "; ")
}

func (v Verdict) whyDue() string {
	if v.Cron.interval.every > 0 {
		return v.Fields[0].String()
	}
	if v.MadeUp {
		return v.Wall.Format("15:04") + " did not exist on this day; a job with a fixed time runs right after the gap"
	}
	day, weekday := v.days()
	if v.Cron.dates.either && day.Matches != weekday.Matches {
		return fmt.Sprintf("%s and %s: with both restricted, one is enough", day, weekday)
	}
	return "every field matches"
}

// String compares the field with the clock in words: "minute 5 is not in */10".
func (f Field) String() string {
	if f.comparison != "" {
		return f.comparison
	}
	verb := "is"
	if !f.Matches {
		verb = "is not"
	}
	meaning := f.meaning()
	if meaning != "" {
		meaning = ", " + meaning
	}
	return fmt.Sprintf("%s %s in %s%s", f.value(), verb, f.Text, meaning)
}

// value returns what the clock shows, as people say it: "minute 5", "March", "Saturday".
func (f Field) value() string {
	switch f.Name {
	case "month":
		return time.Month(f.Value).String()
	case "weekday":
		return time.Weekday(f.Value).String()
	}
	return f.Name + " " + strconv.Itoa(f.Value)
}

// meaning explains L, W, # and the numbers of weekdays. It returns "" for a text that needs no
// explanation.
func (f Field) meaning() string {
	text := strings.ToUpper(f.Text)
	switch {
	case f.Name == "day" && text == "L":
		return "the last day of the month"
	case f.Name == "day" && text == "LW":
		return "the last working day of the month"
	case f.Name == "day" && strings.HasSuffix(text, "W") && !strings.Contains(text, ","):
		return "the working day nearest to day " + strings.TrimSuffix(text, "W")
	case f.Name == "weekday":
		return weekdayMeaning(text)
	}
	return ""
}

// weekdayMeaning is meaning for the text of a weekday, in upper case.
func weekdayMeaning(text string) string {
	name := func(text string) string {
		n, err := cronFields[weekdayField].readValue(text, text)
		if err != nil {
			return ""
		}
		return time.Weekday(n % 7).String()
	}
	if day, last := strings.CutSuffix(text, "L"); last && name(day) != "" {
		return "the last " + name(day) + " of the month"
	}
	if day, nth, ok := strings.Cut(text, "#"); ok && name(day) != "" {
		return name(day) + " number " + nth + " of the month"
	}
	if from, to, ok := strings.Cut(text, "-"); ok && len(from) == 1 && len(to) == 1 {
		return name(from) + " to " + name(to)
	}
	if len(text) == 1 && text != "*" {
		return name(text)
	}
	return ""
}
