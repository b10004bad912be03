package cron

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// monthly reads the days of a month or quarter. The argument is the text of the month field.
func (p phrase) monthly(months string) ([]string, error) {
	if p.on == nil {
		p.on = []string{"1"}
	}
	days, err := eachOf(spreadWeekday(p.on), readMonthDay)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(days, func(a, b monthDay) int { return cmp.Compare(a.order, b.order) })
	var fields [2][]string
	for _, day := range days {
		if months != "*" && strings.HasPrefix(day.words, "last ") {
			return nil, p.lastOfQuarterError(day)
		}
		if !slices.Contains(fields[day.field], day.text) {
			fields[day.field] = append(fields[day.field], day.text)
		}
	}
	field := func(pos int) string { return cmp.Or(strings.Join(fields[pos], ","), "*") }
	return p.daily(field(inDayField) + " " + months + " " + field(inWeekdayField))
}

// lastOfQuarterError returns the error about "quarter on last day": that is in the last month of
// the quarter, and other days are counted in the first.
func (p phrase) lastOfQuarterError(day monthDay) error {
	cron := "0 0 " + day.text + " 3,6,9,12 *"
	if day.field == inWeekdayField {
		cron = "0 0 * 3,6,9,12 " + day.text
	}
	return newError("%q does not go with %q", day.words, strings.Join(p.period, " ")).
		SetHint("write cron: %q for the %s of a quarter", cron, day.words)
}

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
	weekdays := weekdayWords()[name]
	nth := 1 + slices.Index(ordinalWords, ordinal) // 0 for another word
	switch {
	case hasName && weekdays != nil && nth == 0:
		return monthDay{}, unknownOrdinalError(ordinal, name)
	case !hasName && isWeekday(element):
		e := newError("%q is not a day of the month", element)
		return monthDay{}, e.SetHint(`write "first %s" or "last %s"`, element, element)
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
	case slices.Equal(weekdays, weekdayWords()["weekend"]):
		e := newError("%q is two days", element)
		return monthDay{}, e.SetHint(`write "%s saturday" or "%s sunday"`, ordinal, ordinal)
	case ordinal == "first": // Quartz: the nearest weekday does not leave the month
		return monthDay{words: element, field: inDayField, text: "1W", order: firstDay}, nil
	case ordinal == "last":
		return monthDay{words: element, field: inDayField, text: "LW", order: lastDay + 1}, nil
	}
	e := newError("%q is not understood: only the first and the last weekday of a month have words", element)
	return monthDay{}, e.SetHint(`write cron: "0 0 15W * *" for the one nearest to day 15`)
}

// unknownOrdinalError returns the error about "fifth monday" and "3rd monday".
func unknownOrdinalError(ordinal, name string) error {
	n, err := readDay(ordinal)
	switch {
	case ordinal == "fifth" || err == nil && n == 5:
		e := newError("not every month has a fifth %s", name)
		if days := weekdayWords()[name]; len(days) == 1 {
			return e.SetHint(`write "last %s of month", or cron: "0 0 * * %d#5" for the months that have one`,
				name, days[0])
		}
		return e.SetHint(`write "last %s of month"`, name)
	case err == nil && n <= 4:
		e := newError("%q is not understood", ordinal+" "+name)
		return e.SetHint(`write "%s %s of month"`, ordinalWords[n-1], name)
	}
	e := newError("%q does not say which %s of the month", ordinal, name)
	return e.SetHint("it is one of %s", strings.Join(ordinalWords, ", "))
}

// ofMonth makes "month on first monday" of "first monday of month", whose "of" is the word at an
// index.
func (p *phrase) ofMonth(of int) error {
	days, month := p.period[:of], p.period[of+1:]
	switch {
	case p.on != nil:
		e := newError(`"of" and "on" do not go together`)
		return e.SetHint(`write "first monday of month" or "month on first monday"`)
	case len(days) == 0:
		return newError(`nothing comes before "of"`).SetHint(`write "first monday of month"`)
	case len(month) == 0:
		return newError(`nothing follows "of"`).SetHint(`write "%s of month"`, strings.Join(days, " "))
	}
	unit := unitWords()[month[0]]
	if len(month) > 1 || unit != "month" && unit != "quarter" {
		return newError(`"of" is followed by month or quarter, not by %q`, strings.Join(month, " ")).
			SetHint(`write cron: "0 0 * 6 1#1" for the first Monday of June`)
	}
	p.period, p.on = month, days
	return nil
}

// ordinalWithoutMonthError returns the error about "first monday", with a hint at what may be
// meant.
func (p phrase) ordinalWithoutMonthError() error {
	ordinal, name := p.period[0], p.period[1]
	n := 1 + slices.Index(ordinalWords, ordinal)
	isNumber := n > 1 && ordinal != "last"
	isDay := len(weekdayWords()[name]) == 1 || !isNumber && (isWeekday(name) || name == "day")
	switch {
	case !isDay && isNumber: // "second minute"
		if _, err := p.counted(n); err != nil {
			return err
		}
		e := newError("%q is not understood", ordinal+" "+name)
		return e.SetHint(`write "%d %ss"`, n, strings.TrimSuffix(name, "s"))
	case !isDay: // "first minute"
		return newError("%q is not understood", ordinal+" "+name).SetHint(everyForms)
	}
	e := newError("%q lacks its month", ordinal+" "+name).SetHint(`write "%s %s of month"`, ordinal, name)
	if isNumber { // "second monday"
		e.Hint += fmt.Sprintf(`, or "%d weeks from %s" for every %s week from a day on`, n, exampleDate, ordinal)
	}
	return e
}

// eachOf reads each of the elements that the words list, with commas between them.
func eachOf[T any](words []string, read func(element string) (T, error)) ([]T, error) {
	text := strings.Join(words, " ")
	var values []T
	for element := range strings.SplitSeq(text, ",") {
		element = strings.TrimSpace(element)
		if element == "" {
			return nil, newError("%q has an empty element", text)
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
	hour, okHour := digits(hourText)
	minute, okMinute := digits(minuteText)
	switch {
	case clock24(text) != "":
		return 0, newError("%q is not a time of day", text).SetHint("write %s", clock24(text))
	case !okHour || !okMinute || len(hourText) > 2 || len(minuteText) != 2:
		e := newError("%q is not a time of day", text)
		return 0, e.SetHint("write it as 8:00 or 19:30, with a comma between two")
	case hour == 24 && minute == 0:
		return 0, newError("%q is not a time of day", text).SetHint("midnight is 0:00")
	case hour > 23 || minute > 59:
		return 0, newError("%q is not in 0:00-23:59", text)
	}
	return hour*60 + minute, nil
}

// clock24 writes 9am and 2:30pm as 9:00 and 14:30. It returns "" for any other text.
func clock24(text string) string {
	number, isPM := strings.CutSuffix(text, "pm")
	number, isAM := strings.CutSuffix(number, "am")
	hourText, minuteText, hasMinute := strings.Cut(number, ":")
	if !hasMinute {
		minuteText = "00"
	}
	hour, okHour := digits(hourText)
	minute, okMinute := digits(minuteText)
	if isPM == isAM || !okHour || !okMinute || hour < 1 || hour > 12 || minute > 59 || len(minuteText) != 2 {
		return ""
	}
	hour %= 12
	if isPM {
		hour += 12
	}
	return fmt.Sprintf("%d:%s", hour, minuteText)
}

// readMinute reads a minute of the hour, :17.
func readMinute(text string) (int, error) {
	minute, ok := digits(strings.TrimPrefix(text, ":"))
	if !ok || text[0] != ':' || len(text) > 3 || minute > 59 {
		return 0, newError("%q is not a minute of the hour", text).SetHint("write it as :17, in :00-:59")
	}
	return minute, nil
}

// readDay reads the number of a day, 16 or 16th.
func readDay(text string) (int, error) {
	number := text
	if len(text) > 2 && slices.Contains([]string{"st", "nd", "rd", "th"}, text[len(text)-2:]) {
		number = text[:len(text)-2]
	}
	n, ok := digits(number)
	if !ok {
		e := newError("%q is not a day of the month", text)
		return 0, e.SetHint(`write it as "on 1, 16", "on last day" or "on first monday"`)
	}
	if n < 1 || n > 31 {
		return 0, newError("day %s is not in 1-31", text)
	}
	return n, nil
}

// readDate reads a date in each year, 1 june or june 1. If words is nil, it returns 1 January.
func readDate(words []string) (day, month int, err error) {
	if words == nil {
		return 1, 1, nil
	}
	if len(words) != 2 {
		e := newError("%q is not a day of the year", strings.Join(words, " "))
		return 0, 0, e.SetHint(`write it as "on 1 June"`)
	}
	dayText, monthText := words[0], words[1]
	if readMonth(monthText) == 0 {
		dayText, monthText = monthText, dayText
	}
	if month = readMonth(monthText); month == 0 {
		return 0, 0, newError("no month in %q", strings.Join(words, " ")).SetHint(`write it as "on 1 June"`)
	}
	day, err = readDay(dayText)
	return day, month, err
}

// readMonth reads june or jun. It returns 0 for a text that is no month.
func readMonth(text string) int {
	return 1 + slices.IndexFunc(monthWords, func(name string) bool { return text == name || text == name[:3] })
}

// readWeekdays reads monday, weekdays or weekends. Sunday is 0.
func readWeekdays(text string) ([]int, error) {
	if days := weekdayWords()[text]; days != nil {
		return days, nil
	}
	first, rest, several := strings.Cut(text, " ")
	if several && isWeekday(first) {
		clock := clock24(rest)
		if _, err := readTime(rest); err == nil {
			clock = rest
		}
		if clock != "" {
			return nil, newError("%q cannot follow %q", rest, first).SetHint(`write "%s at %s"`, first, clock)
		}
		return nil, newError("%q cannot follow %q", rest, first).
			SetHint(`put commas between days, and "at" before the time`)
	}
	return nil, unknownWordError(first)
}

// digits reads a plain number without sign and spaces. A number above 1<<24 reads as 1<<24.
func digits(text string) (n int, ok bool) {
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = min(n*10+int(text[i]-'0'), 1<<24)
	}
	return n, text != ""
}
