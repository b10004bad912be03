package cron

import (
	"fmt"
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
	Fields []Field   // minute, hour, day, month, weekday; or minute, hour, date; or interval
	Wall   time.Time // the wall time that the fields were compared with: of the minute, or a skipped one if MadeUp

	MadeUp        bool      // Wall was skipped, and this job with a fixed time runs right after the gap
	FirstPassOnly bool      // all fields match in the second pass, but this job with a fixed time was due in the first
	SkippedTime   time.Time // a due time in the gap that is not made up for, because the job is not fixed; else zero
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

// days returns the two day fields. They are zero if a date or an interval stands in their place.
func (v Verdict) days() (day, weekday Field) {
	if len(v.Fields) < weekdayField {
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
	if v.Cron.interval.every > 0 || len(v.Fields) < weekdayField && v.Cron.cycle.days == 0 {
		return v.Fields[len(v.Fields)-1].String()
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
