package load

import (
	"fmt"
	"slices"
	"strings"

	"sched/schedule/cron"
	"sched/schedule/humanize"
)

// A cronWord says what stands at a place of a cron expression.
type cronWord struct {
	name  string
	first int // its lowest value
	last  int // the highest value that a step reaches
}

var cronWords = [6]cronWord{
	{"second", 0, 59}, {"minute", 0, 59}, {"hour", 0, 23}, {"day", 1, 31}, {"month", 1, 12}, {"weekday", 0, 6},
}

// pitfall says what a cron expression does and its writer can hardly have meant, and what to write
// instead. The text is "" for an expression without a pitfall. The pitfalls:
//
//  1. A * before a single hour or a step of hours, such as "* 3 * * *": each minute of the hour. A
//     range such as 9-17 is left alone, because work hours are meant. The same goes for seconds
//     and minutes.
//  2. A step of which only the first value fits, such as */31 or */12 for months.
//  3. A ?, which is a sign of Quartz, Spring and EventBridge. Beside it a number for a day of the week
//     is another day: to Quartz 1 is Sunday.
func pitfall(c cron.Expression) (text, hint string) {
	words := strings.Fields(c.String())
	if len(words) < 5 {
		return "", ""
	}
	if slices.Contains(words, "?") {
		hint = "write * for ?"
		if len(words) > 5 { // as Quartz has them
			hint += fmt.Sprintf("; `sched explain '%s' --as quartz` has the line that means the same", c)
		}
		if weekdays := words[len(words)-1]; weekdayNumber().MatchString(weekdays) {
			const text = "weekday %s is counted as in cron, where 1 is Monday; to Quartz, whose sign ? is, 1 is Sunday"
			return fmt.Sprintf(text, weekdays), hint + "; or write names: MON for 1, FRIL for 5L, TUE#1 for 2#1"
		}
		return "? is a sign of Quartz, Spring and EventBridge, and means * here", hint
	}
	all := cronWords[len(cronWords)-len(words):]
	for i, word := range words {
		of := all[i]
		step, isStep := strings.CutPrefix(word, "*/")
		if n, isNumber := humanize.Digits(step); isStep && isNumber && of.first+n > of.last {
			return fmt.Sprintf("only %s %d fits the step %s", of.name, of.first, word),
				fmt.Sprintf("write %d for it", of.first)
		}
		if (of.name == "second" || of.name == "minute") && word == "*" && isNarrow(words[i+1]) {
			words[i] = "0"
			return fmt.Sprintf("it is due 60 times, each %s of %s %s", of.name, all[i+1].name, words[i+1]),
				"for once write " + strings.Join(words, " ")
		}
	}
	return "", ""
}

// weekdayNumber finds the number of a day of the week; it finds no step and no week of the month.
var weekdayNumber = humanize.Pattern(`(?:^|[,-])\d`)

// isNarrow reports whether a field restricts its values, by more than a plain range.
func isNarrow(word string) bool {
	return word != "*" && word != "*/1" && (!strings.Contains(word, "-") || strings.Contains(word, "/"))
}
