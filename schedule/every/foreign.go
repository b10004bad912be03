package every

import (
	"cmp"
	"fmt"
	"sync"

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

var hoursAndMinutes = humanize.Pattern(`^(\d{1,3})h(\d{1,2})m?$`)

// phraseFor returns what a word of another language or program means in words of ours, or "":
// "freitag", "mon-fri", "everyfiveminutes", "1h30m".
func phraseFor(word string) string {
	if words := cmp.Or(foreignDays()[word], laravelExamples()[word], gluedPhrase(word)); words != "" {
		return words
	}
	if found := hoursAndMinutes().FindStringSubmatch(word); found != nil {
		hours, _ := humanize.Digits(found[1])
		minutes, _ := humanize.Digits(found[2])
		return fmt.Sprintf("%d minutes from %s 06:00", hours*60+minutes, exampleDate)
	}
	return weekdayRange(word)
}
