package every

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"sched/schedule/calendar"
	"sched/schedule/humanize"
)

// This file holds words of other programs and languages that stand for a phrase of ours.

// foreignDays are the days of the week in German.
var foreignDays = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"montag": "monday", "dienstag": "tuesday", "mittwoch": "wednesday", "donnerstag": "thursday",
		"freitag": "friday", "samstag": "saturday", "sonnabend": "saturday", "sonntag": "sunday",
		"werktags": "weekdays", "täglich": "day", "stündlich": "hour", "wöchentlich": "week", "monatlich": "month",
	}
})

var (
	hoursAndMinutes = humanize.Pattern(`^(\d{1,3})h(\d{1,2})m?$`)
	gluedNumber     = humanize.Pattern(`^every(two|three|four|five|six|ten|fifteen|twenty|thirty)?` +
		`(seconds?|minutes?|hours?|days?)$`)
)

// gluedNumbers are the numbers of methods of Laravel, such as everyFiveMinutes.
var gluedNumbers = sync.OnceValue(func() map[string]string {
	return map[string]string{"two": "2 ", "three": "3 ", "four": "4 ", "five": "5 ", "six": "6 ", "ten": "10 ",
		"fifteen": "15 ", "twenty": "20 ", "thirty": "30 "}
})

// phraseFor returns what a word of another language or program means in words of ours, or "":
// "freitag", "mon-fri", "everyfiveminutes", "1h30m".
func phraseFor(word string) string {
	if words := cmp.Or(foreignDays()[word], laravelExamples()[word]); words != "" {
		return words
	}
	if found := gluedNumber().FindStringSubmatch(word); found != nil {
		return gluedNumbers()[found[1]] + found[2]
	}
	if found := hoursAndMinutes().FindStringSubmatch(word); found != nil {
		hours, _ := humanize.Digits(found[1])
		minutes, _ := humanize.Digits(found[2])
		return fmt.Sprintf("%d minutes from %s 06:00", hours*60+minutes, exampleDate)
	}
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
