package every

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sched/schedule/calendar"
	"sched/schedule/cron"
	"sched/schedule/humanize"
)

// This file reads what is in a phrase: first the days of months and quarters, then times, dates and
// weekdays, and lists of them.
//
//	monthday = number ["st" | "nd" | "rd" | "th"]
//	         | "first day" | "last day"
//	         | ordinal weekday                       first monday, last friday; a weekday can serve several ordinals
//	         | "first weekday" | "last weekday"      Monday to Friday, as W in a cron expression
//	ordinal  = "first" | "second" | "third" | "fourth" | "last"

// The two day fields of a cron expression, as indices.
const (
	inDayField = iota
	inWeekdayField
)

// A monthDay is one of the days of a month: 16, its last day, its first Monday.
type monthDay struct {
	words string // in every:
	field int    // inDayField or inWeekdayField
	text  string // the element of that field
	order int    // sorts the elements of that field: firstDay, lastDay, or between them
}

const (
	firstDay = 1
	lastDay  = 100 // more than any day, and any ordinal with its weekday
)

var ordinalWords = []string{"first", "second", "third", "fourth", "last"}

// spreadWeekday gives each ordinal its weekday: it makes "first monday , third monday" of "first ,
// third monday".
func spreadWeekday(words []string) []string {
	var spread []string
	for i, word := range words {
		spread = append(spread, word)
		alone := slices.Contains(ordinalWords, word) &&
			(i == 0 || words[i-1] == ",") && i+1 < len(words) && words[i+1] == ","
		if !alone {
			continue
		}
		for _, day := range words[i+1:] { // the first word that is neither a comma nor an ordinal
			if day != "," && !slices.Contains(ordinalWords, day) {
				spread = append(spread, day)
				break
			}
		}
	}
	return spread
}

// readMonthDay reads one of the days of a month: see the grammar above.
func readMonthDay(element string) (monthDay, error) {
	ordinal, name, hasName := strings.Cut(element, " ")
	weekdays := calendar.WeekdayWords()[name]
	nth := 1 + slices.Index(ordinalWords, ordinal) // 0 for another word
	switch {
	case hasName && weekdays != nil && nth == 0:
		return monthDay{}, unknownOrdinalError(ordinal, name)
	case !hasName && len(calendar.WeekdayWords()[element]) > 0:
		e := cron.NewError("%q is not a day of the month", element)
		return monthDay{}, e.SetHint(`write "first %s of month" or "last %s of month"`, element, element)
	case element == "last day":
		return monthDay{words: element, field: inDayField, text: "L", order: lastDay}, nil
	case element == "first day":
		return monthDay{words: element, field: inDayField, text: "1", order: firstDay}, nil
	case nth == 0 || weekdays == nil:
		n, err := readDay(element)
		return monthDay{words: element, field: inDayField, text: fmt.Sprint(n), order: n}, err
	case len(weekdays) > 1:
		return readSomeWeekday(element, ordinal, weekdays)
	}
	text := fmt.Sprintf("%d#%d", weekdays[0], nth)
	if ordinal == "last" {
		text = fmt.Sprintf("%dL", weekdays[0])
	}
	return monthDay{words: element, field: inWeekdayField, text: text, order: nth*7 + weekdays[0]}, nil
}

// readSomeWeekday reads "first weekday" and "last weekday", and refuses "second weekday" and "first
// weekend".
func readSomeWeekday(element, ordinal string, weekdays []int) (monthDay, error) {
	switch {
	case slices.Equal(weekdays, calendar.WeekdayWords()["weekend"]):
		e := cron.NewError("%q is two days", element)
		return monthDay{}, e.SetHint(`write "%s saturday of month" or "%s sunday of month"`, ordinal, ordinal)
	case ordinal == "first": // Quartz: the nearest weekday does not leave the month
		return monthDay{words: element, field: inDayField, text: "1W", order: firstDay}, nil
	case ordinal == "last":
		return monthDay{words: element, field: inDayField, text: "LW", order: lastDay + 1}, nil
	}
	e := cron.NewError("%q is not understood: only the first and the last weekday of a month have words", element)
	return monthDay{}, e.SetHint(`write cron: "0 0 15W * *" for the one nearest to day 15`)
}

// unknownOrdinalError returns the error about "fifth monday" and "3rd monday".
func unknownOrdinalError(ordinal, name string) error {
	n, err := readDay(ordinal)
	switch {
	case ordinal == "fifth" || err == nil && n == 5:
		e := cron.NewError("not every month has a fifth %s", name)
		if days := calendar.WeekdayWords()[name]; len(days) == 1 {
			return e.SetHint(`write "last %s of month", or cron: "0 0 * * %d#5" for the months that have one`,
				name, days[0])
		}
		return e.SetHint(`write "last %s of month"`, name)
	case err == nil && n <= 4:
		e := cron.NewError("%q is not understood", ordinal+" "+name)
		return e.SetHint(`write "%s %s of month"`, ordinalWords[n-1], name)
	}
	e := cron.NewError("%q does not say which %s of the month", ordinal, name)
	return e.SetHint("it is one of %s", strings.Join(ordinalWords, ", "))
}

// eachOf reads each of the elements that the words list, with commas between them.
func eachOf[T any](words []string, read func(element string) (T, error)) ([]T, error) {
	text := strings.Join(words, " ")
	var values []T
	for element := range strings.SplitSeq(text, ",") {
		element = strings.TrimSpace(element)
		if element == "" {
			return nil, cron.NewError("%q has an empty element", text)
		}
		value, err := read(element)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// numbers is eachOf, in ascending order and each once. If words is nil, it returns 0 alone.
func numbers(words []string, read func(element string) (int, error)) ([]int, error) {
	if words == nil {
		return []int{0}, nil
	}
	values, err := eachOf(words, read)
	return ascending(values), err
}

// ascending sorts numbers, and returns each of them once.
func ascending(numbers []int) []int {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// joinNumbers returns the numbers as a list of a cron expression: "1,16".
func joinNumbers(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}

// readTime reads a time of day, 2:30 or 02:30. It returns the minute of the day.
func readTime(text string) (int, error) {
	hourText, minuteText, _ := strings.Cut(text, ":")
	hour, okHour := humanize.Digits(hourText)
	minute, okMinute := humanize.Digits(minuteText)
	_, behind, _ := strings.Cut(text, " ")
	switch {
	case strings.Contains(behind, "/") || behind == "utc":
		return 0, cron.NewError("%q is not a time of day", text).SetHint("a zone stands alone, in timezone:")
	case clock24(text) != "":
		return 0, cron.NewError("%q is not a time of day", text).SetHint("write %s", clock24(text))
	case !okHour || !okMinute || len(hourText) > 2 || len(minuteText) != 2:
		e := cron.NewError("%q is not a time of day", text)
		if meant := clockFor(text); meant != "" {
			return 0, e.SetHint("write %s", meant)
		}
		return 0, e.SetHint("write it as 8:00 or 19:30, with a comma between two")
	case hour == 24 && minute == 0:
		return 0, cron.NewError("%q is not a time of day", text).SetHint("midnight is 0:00")
	case hour > 23 || minute > 59:
		e := cron.NewError("%q is not in 0:00-23:59", text)
		if hour > 23 {
			return 0, e.SetHint("midnight is 0:00, and the last hour is 23")
		}
		return 0, e.SetHint("the last minute of an hour is %s:59", hourText)
	}
	return hour*60 + minute, nil
}

var unwrittenClock = humanize.Pattern(`^(\d{1,2})(?:[.h]?(\d\d))?h?$`)

// clockFor writes 8, 02.30, 0230 and 2h30 as 8:00 and 2:30, and noon as 12:00. It returns ""
// for any other text.
func clockFor(text string) string {
	switch text {
	case "midnight":
		return "0:00"
	case "noon", "midday":
		return "12:00"
	}
	found := unwrittenClock().FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	hour, _ := humanize.Digits(found[1])
	minutes := cmp.Or(found[2], "00")
	if minute, _ := humanize.Digits(minutes); hour > 23 || minute > 59 {
		return ""
	}
	return fmt.Sprintf("%d:%s", hour, minutes)
}

// clock24 writes 9am and 2:30pm as 9:00 and 14:30. It returns "" for any other text.
func clock24(text string) string {
	number, isPM := strings.CutSuffix(text, "pm")
	number, isAM := strings.CutSuffix(number, "am")
	hourText, minuteText, hasMinute := strings.Cut(number, ":")
	if !hasMinute {
		minuteText = "00"
	}
	hour, okHour := humanize.Digits(hourText)
	minute, okMinute := humanize.Digits(minuteText)
	if isPM == isAM || !okHour || !okMinute || hour < 1 || hour > 12 || minute > 59 || len(minuteText) != 2 {
		return ""
	}
	hour %= 12
	if isPM {
		hour += 12
	}
	return fmt.Sprintf("%d:%s", hour, minuteText)
}

// timesOf writes a list of times of day as it can follow "at": "3:00 , 7pm" as "3:00, 19:00". It
// returns "" for any other words.
func timesOf(words []string) string {
	times, err := eachOf(words, func(text string) (string, error) {
		clock := cmp.Or(clock24(text), text)
		_, err := readTime(clock)
		return clock, err
	})
	if err != nil {
		return ""
	}
	return strings.Join(times, ", ")
}

// minutesOf writes a list of minutes of the hour as it can follow "at": ":15 , :45" as ":15, :45".
// It returns "" for any other words.
func minutesOf(words []string) string {
	minutes, err := eachOf(words, func(text string) (string, error) {
		_, err := readMinute(text)
		return text, err
	})
	if err != nil {
		return ""
	}
	return strings.Join(minutes, ", ")
}

// readMinute reads a minute of the hour, :17.
func readMinute(text string) (int, error) {
	minute, ok := humanize.Digits(strings.TrimPrefix(text, ":"))
	err := cron.NewError("%q is not a minute of the hour", text)
	switch {
	case !ok || len(text) > 3 || minute > 59:
		return 0, err.SetHint("write it as :17, in :00-:59")
	case text[0] != ':':
		return 0, err.SetHint("write :%02d", minute)
	}
	return minute, nil
}

// readDay reads the number of a day, 16 or 16th.
func readDay(text string) (int, error) {
	number := text
	if len(text) > 2 && slices.Contains([]string{"st", "nd", "rd", "th"}, text[len(text)-2:]) {
		number = text[:len(text)-2]
	}
	n, ok := humanize.Digits(number)
	if !ok {
		e := cron.NewError("%q is not a day of the month", text)
		return 0, e.SetHint(`write it as "on 1, 16", "on last day" or "on first monday"`)
	}
	if n < 1 || n > 31 {
		return 0, cron.NewError("day %s is not in 1-31", text).SetHint("write the number of a day, from 1 to 31")
	}
	return n, nil
}

// readDate reads a date in each year, 1 june or june 1. If words is nil, it returns 1 January.
func readDate(words []string) (day, month int, err error) {
	if words == nil {
		return 1, 1, nil
	}
	if len(words) != 2 {
		e := cron.NewError("%q is not a day of the year", strings.Join(words, " "))
		return 0, 0, e.SetHint(`write it as "on 1 June"`)
	}
	dayText, monthText := words[0], words[1]
	if readMonth(monthText) == 0 {
		dayText, monthText = monthText, dayText
	}
	if month = readMonth(monthText); month == 0 {
		return 0, 0, cron.NewError("no month in %q", strings.Join(words, " ")).SetHint(`write it as "on 1 June"`)
	}
	day, err = readDay(dayText)
	return day, month, err
}

// readMonth reads june or jun. It returns 0 for a text that is no month.
func readMonth(text string) int {
	return 1 + slices.IndexFunc(monthWords, func(name string) bool { return text == name || text == name[:3] })
}

// monthWords are the months. Their first three letters are words for them, too.
var monthWords = []string{"january", "february", "march", "april", "may", "june", "july", "august",
	"september", "october", "november", "december"}

// plurals returns the words and their plurals.
func plurals[T any](words map[string]T) map[string]T {
	withPlurals := make(map[string]T, 2*len(words))
	for word, meaning := range words {
		withPlurals[word], withPlurals[word+"s"] = meaning, meaning
	}
	return withPlurals
}
