package cron

import (
	"slices"
	"strconv"
	"strings"
)

// eachOf reads each of the elements that the words list, with commas between them.
func eachOf[T any](words []string, read func(element string) (T, error)) ([]T, error) {
	text := strings.Join(words, " ")
	var all []T
	for element := range strings.SplitSeq(text, ",") {
		element = strings.TrimSpace(element)
		if element == "" {
			return nil, wrong("%q has an empty element", text)
		}
		one, err := read(element)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// numbers is eachOf, in ascending order and each once. Where words is nil it returns 0 alone.
func numbers(words []string, read func(element string) (int, error)) ([]int, error) {
	if words == nil {
		return []int{0}, nil
	}
	all, err := eachOf(words, read)
	return ascending(all), err
}

// ascending sorts the numbers, and leaves out repeated ones.
func ascending(all []int) []int {
	slices.Sort(all)
	return slices.Compact(all)
}

// joinNumbers returns the numbers as a list of a cron expression: "1,16".
func joinNumbers(all []int) string {
	texts := make([]string, len(all))
	for i, n := range all {
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
	case !okHour || !okMinute || len(hourText) > 2 || len(minuteText) != 2:
		return 0, wrong("%q is not a time of day", text).hint("write it as 8:00 or 19:30, with a comma between two")
	case hour == 24 && minute == 0:
		return 0, wrong("%q is not a time of day", text).hint("midnight is 0:00")
	case hour > 23 || minute > 59:
		return 0, wrong("%q is not in 0:00-23:59", text)
	}
	return hour*60 + minute, nil
}

// readMinute reads a minute of the hour, :17.
func readMinute(text string) (int, error) {
	minute, ok := digits(strings.TrimPrefix(text, ":"))
	if !ok || text[0] != ':' || len(text) > 3 || minute > 59 {
		return 0, wrong("%q is not a minute of the hour", text).hint("write it as :17, in :00-:59")
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
		return 0, wrong("%q is not a day of the month", text).hint(`write it as "on 1, 16", "on last day" or "on first monday"`)
	}
	if n < 1 || n > 31 {
		return 0, wrong("day %s is not in 1-31", text)
	}
	return n, nil
}

// readDate reads a date in each year, 1 june or june 1. Where words is nil it returns 1 January.
func readDate(words []string) (day, month int, err error) {
	if words == nil {
		return 1, 1, nil
	}
	if len(words) != 2 {
		return 0, 0, wrong("%q is not a day of the year", strings.Join(words, " ")).hint(`write it as "on 1 June"`)
	}
	dayText, monthText := words[0], words[1]
	if readMonth(monthText) == 0 {
		dayText, monthText = monthText, dayText
	}
	if month = readMonth(monthText); month == 0 {
		return 0, 0, wrong("no month in %q", strings.Join(words, " ")).hint(`write it as "on 1 June"`)
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
	if several && weekdayWords()[first] != nil {
		return nil, wrong("%q cannot follow %q", rest, first).
			hint(`put commas between days, and "at" before the time`)
	}
	return nil, unknownWord(first)
}
