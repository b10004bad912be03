package cron

import (
	"slices"
	"strconv"
	"strings"

	"sched/schedule/text"
)

var unitWords = plurals(map[string]string{
	"second": "second", "minute": "minute", "hour": "hour", "day": "day",
	"week": "week", "month": "month", "quarter": "quarter", "year": "year",
})

var weekdayWords = plurals(map[string][]int{
	"weekday": {1, 2, 3, 4, 5}, "weekend": {0, 6},
	"sunday": {0}, "monday": {1}, "tuesday": {2}, "wednesday": {3}, "thursday": {4}, "friday": {5}, "saturday": {6},
	"sun": {0}, "mon": {1}, "tue": {2}, "wed": {3}, "thu": {4}, "fri": {5}, "sat": {6},
})

var monthWords = []string{"january", "february", "march", "april", "may", "june", "july", "august",
	"september", "october", "november", "december"}

// meantWords are words of other schedulers, and what they are called here.
var meantWords = map[string]string{
	"hourly": "hour", "daily": "day", "nightly": "day", "midnight": "day", "weekly": "week", "monthly": "month",
	"quarterly": "quarter", "yearly": "year", "annually": "year", "even": "2 hours",
	"s": "seconds", "sec": "seconds", "secs": "seconds", "m": "minutes", "min": "minutes", "mins": "minutes",
	"fortnight": "2 weeks from " + exampleDate, "fortnightly": "2 weeks from " + exampleDate, "biweekly": "2 weeks from " + exampleDate,
	"h": "hours", "hr": "hours", "hrs": "hours", "d": "day", "w": "week",
}

func plurals[T any](words map[string]T) map[string]T {
	both := make(map[string]T, 2*len(words))
	for word, meaning := range words {
		both[word], both[word+"s"] = meaning, meaning
	}
	return both
}

// unknownWord says what a word was probably meant to be.
func unknownWord(word string) error {
	e := wrong("%q is not a word for a frequency", word)
	letters := strings.TrimLeft(word, "0123456789")
	number := strings.TrimSuffix(word, letters)
	meant := meantWords[letters]
	if meant == "" {
		meant = nearestEveryWord(letters)
	}
	switch {
	case strings.ContainsAny(word, "*@"):
		return e.hint("write it under cron: instead")
	case meant == "":
		return e.hint(everyForms)
	case number != "":
		return e.hint(`did you mean "%s %s"?`, number, meant)
	}
	return e.hint("did you mean %q?", meant)
}

// nearestEveryWord returns the known word that is at most two letters away, and one for short words.
func nearestEveryWord(word string) (nearest string) {
	known := make([]string, 0, len(unitWords)+len(weekdayWords))
	for w := range unitWords {
		known = append(known, w)
	}
	for w := range weekdayWords {
		known = append(known, w)
	}
	slices.Sort(known)
	best := min(3, (len(word)+3)/3)
	for _, w := range known {
		if d := text.Distance(word, w, best); d < best {
			nearest, best = w, d
		}
	}
	return nearest
}

// eachOf reads the elements between the commas.
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

// numbers is eachOf in order, each once. No words mean 0.
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

func joinNumbers(all []int) string {
	texts := make([]string, len(all))
	for i, n := range all {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}

// readTime reads 2:30 or 02:30 as the minute of the day.
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

// readMinute reads :17.
func readMinute(text string) (int, error) {
	minute, ok := digits(strings.TrimPrefix(text, ":"))
	if !ok || text[0] != ':' || len(text) > 3 || minute > 59 {
		return 0, wrong("%q is not a minute of the hour", text).hint("write it as :17, in :00-:59")
	}
	return minute, nil
}

// readDay reads 16 or 16th.
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

// readDate reads 1 june or june 1. No words mean 1 January.
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

// readMonth reads june or jun, and returns 0 where it is neither.
func readMonth(text string) int {
	return 1 + slices.IndexFunc(monthWords, func(name string) bool { return text == name || text == name[:3] })
}

// readWeekdays reads monday, weekdays or weekends.
func readWeekdays(text string) ([]int, error) {
	if days := weekdayWords[text]; days != nil {
		return days, nil
	}
	first, rest, several := strings.Cut(text, " ")
	if several && weekdayWords[first] != nil {
		return nil, wrong("%q cannot follow %q", rest, first).
			hint(`put commas between days, and "at" before the time`)
	}
	return nil, unknownWord(first)
}
