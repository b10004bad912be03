package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Why says in words why the expression is due in the minute, or why it is not.
func (v Verdict) Why() string {
	if v.FirstPassOnly {
		return fmt.Sprintf("%s comes twice on this day, and a job with a fixed time is due the first time only", v.Wall.Format("15:04"))
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
		reasons = append(reasons, v.SkippedTime.Format("15:04")+" did not exist on this day, and a job with a * in its minute or hour is not made up for")
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
	if f.said != "" {
		return f.said
	}
	if f.cycle.days > 0 {
		return f.cycle.why(int64(f.Value))
	}
	is := "is"
	if !f.Matches {
		is = "is not"
	}
	meaning := f.meaning()
	if meaning != "" {
		meaning = ", " + meaning
	}
	return fmt.Sprintf("%s %s in %s%s", f.value(), is, f.Text, meaning)
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
		n, err := cronFields[weekdayField].value(text, text)
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
