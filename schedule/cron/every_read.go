package cron

import (
	"fmt"
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

// numbers is eachOf, in ascending order and each once. If words is nil, it returns 0 alone.
func numbers(words []string, read func(element string) (int, error)) ([]int, error) {
	if words == nil {
		return []int{0}, nil
	}
	all, err := eachOf(words, read)
	return ascending(all), err
}

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
	case clock24(text) != "":
		return 0, wrong("%q is not a time of day", text).SetHint("write %s", clock24(text))
	case !okHour || !okMinute || len(hourText) > 2 || len(minuteText) != 2:
		return 0, wrong("%q is not a time of day", text).SetHint("write it as 8:00 or 19:30, with a comma between two")
	case hour == 24 && minute == 0:
		return 0, wrong("%q is not a time of day", text).SetHint("midnight is 0:00")
	case hour > 23 || minute > 59:
		return 0, wrong("%q is not in 0:00-23:59", text)
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
	if hour %= 12; isPM {
		hour += 12
	}
	return fmt.Sprintf("%d:%s", hour, minuteText)
}

// readMinute reads a minute of the hour, :17.
func readMinute(text string) (int, error) {
	minute, ok := digits(strings.TrimPrefix(text, ":"))
	if !ok || text[0] != ':' || len(text) > 3 || minute > 59 {
		return 0, wrong("%q is not a minute of the hour", text).SetHint("write it as :17, in :00-:59")
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
		return 0, wrong("%q is not a day of the month", text).SetHint(`write it as "on 1, 16", "on last day" or "on first monday"`)
	}
	if n < 1 || n > 31 {
		return 0, wrong("day %s is not in 1-31", text)
	}
	return n, nil
}

// readDate reads a date in each year, 1 june or june 1. If words is nil, it returns 1 January.
func readDate(words []string) (day, month int, err error) {
	if words == nil {
		return 1, 1, nil
	}
	if len(words) != 2 {
		return 0, 0, wrong("%q is not a day of the year", strings.Join(words, " ")).SetHint(`write it as "on 1 June"`)
	}
	dayText, monthText := words[0], words[1]
	if readMonth(monthText) == 0 {
		dayText, monthText = monthText, dayText
	}
	if month = readMonth(monthText); month == 0 {
		return 0, 0, wrong("no month in %q", strings.Join(words, " ")).SetHint(`write it as "on 1 June"`)
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
		clock := clock24(rest)
		if _, err := readTime(rest); err == nil {
			clock = rest
		}
		if clock != "" {
			return nil, wrong("%q cannot follow %q", rest, first).SetHint(`write "%s at %s"`, first, clock)
		}
		return nil, wrong("%q cannot follow %q", rest, first).
			SetHint(`put commas between days, and "at" before the time`)
	}
	return nil, unknownWord(first)
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
