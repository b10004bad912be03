package every

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"sched/schedule/calendar"
	"sched/schedule/humanize"
)

// laravelExamples are phrases for the methods of Laravel that take arguments, by their names in
// lower case.
var laravelExamples = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"at": "day at 13:00", "dailyat": "day at 13:00", "hourlyat": "hour at :17", "everyoddhour": "odd hours",
		"twicedaily": "day at 1:00, 13:00", "twicedailyat": "day at 1:15, 13:15",
		"weeklyon": "week on monday at 8:00", "monthlyon": "month on 4 at 15:00",
		"twicemonthly": "month on 1, 16", "daysofmonth": "month on 1, 10, 20",
		"lastdayofmonth": "month on last day", "quarterlyon": "quarter on 4 at 14:00",
		"yearlyon": "year on 1 June at 17:00",
	}
})

var gluedNumber = humanize.Pattern(`^every(two|three|four|five|six|ten|fifteen|twenty|thirty)?` +
	`(seconds?|minutes?|hours?|days?)$`)

// gluedNumbers are the numbers of methods such as everyFiveMinutes.
var gluedNumbers = sync.OnceValue(func() map[string]string {
	return map[string]string{"two": "2 ", "three": "3 ", "four": "4 ", "five": "5 ", "six": "6 ", "ten": "10 ",
		"fifteen": "15 ", "twenty": "20 ", "thirty": "30 "}
})

// gluedPhrase returns "5 minutes" for everyfiveminutes; "" for any other word.
func gluedPhrase(word string) string {
	if found := gluedNumber().FindStringSubmatch(word); found != nil {
		return gluedNumbers()[found[1]] + found[2]
	}
	return ""
}

// laravelPhrase returns what a call of such a method means, as weeklyon with 1, '8:00'. It returns
// "" for other methods and for other arguments, or a text that is no phrase.
func laravelPhrase(method, arguments string) string {
	var all []string
	for argument := range strings.SplitSeq(arguments, ",") {
		if argument = strings.Trim(argument, ` '"[]`); argument != "" {
			all = append(all, argument)
		}
	}
	if len(all) == 0 {
		return laravelExamples()[method]
	}
	hours := gluedPhrase(method)
	if method == "everyoddhour" {
		hours = laravelExamples()[method]
	}
	if strings.HasSuffix(hours, " hours") {
		for i, minute := range all {
			all[i] = fmt.Sprintf(":%02s", minute)
		}
		return hours + " at " + strings.Join(all, ", ")
	}
	numbers, clock := all, ""
	if last := len(all) - 1; strings.Contains(all[last], ":") {
		numbers, clock = all[:last], " at "+all[last]
	}
	n, list := len(numbers), strings.Join(numbers, ", ")
	var words string
	switch {
	case method == "at", method == "dailyat":
		words = "day at " + all[0]
	case method == "twicedaily" && n == 2:
		words = fmt.Sprintf("day at %s:00, %s:00", numbers[0], numbers[1])
	case method == "twicedailyat" && n == 3:
		minute := fmt.Sprintf(":%02s", numbers[2])
		words = "day at " + numbers[0] + minute + ", " + numbers[1] + minute
	case method == "weeklyon" && n > 0:
		words = "week on " + strings.Join(weekdaysOf(numbers), ", ") + clock
	case method == "monthlyon" && n == 1, method == "twicemonthly" && n == 2, method == "daysofmonth" && n > 0:
		words = "month on " + list + clock
	case method == "lastdayofmonth" && n == 0:
		words = "month on last day" + clock
	case method == "quarterlyon" && n == 1:
		words = "quarter on " + list + clock
	case method == "yearlyon" && n == 2:
		month, _ := humanize.Digits(numbers[0])
		words = fmt.Sprintf("year on %s %s%s", numbers[1], time.Month(month), clock)
	}
	return words
}

// weekdayNumbers matches 1 and 1-5.
var weekdayNumbers = humanize.Pattern(`^(\d{1,2})(?:-(\d{1,2}))?$`)

// weekdaysOf writes the numbers of days of the week as names.
func weekdaysOf(days []string) (names []string) {
	for _, day := range days {
		if first, last, isRange := strings.Cut(day, "-"); isRange {
			if words := weekdayRange(strings.Join(weekdaysOf([]string{first, last}), "-")); words != "" {
				day = words
			}
		}
		if found := calendar.WeekdayWords()[strings.ToLower(day)]; len(found) == 1 {
			day = strconv.Itoa(int(found[0]))
		}
		if n, isNumber := humanize.Digits(day); isNumber && n <= 7 {
			day = strings.ToLower(time.Weekday(n % 7).String())
		}
		names = append(names, day)
	}
	return names
}

// weekdayRange returns the days of "mon-fri"; "" for any other word.
func weekdayRange(word string) string {
	first, last, isRange := strings.Cut(word, "-")
	from, to := calendar.WeekdayWords()[first], calendar.WeekdayWords()[last]
	if !isRange || len(from) != 1 || len(to) != 1 || from[0] >= to[0] {
		return ""
	}
	if from[0] == 1 && to[0] == 5 {
		return "weekdays"
	}
	var days []string
	for day := from[0]; day <= to[0]; day++ {
		days = append(days, strings.ToLower(time.Weekday(day).String()))
	}
	return strings.Join(days, ", ")
}
