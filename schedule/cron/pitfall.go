package cron

import (
	"fmt"
	"strings"
)

// Pitfall says what the expression does and its writer can hardly have meant, and what to write
// instead. The text is "" for an expression without a pitfall. The pitfalls:
//
//  1. A * before a single hour or a step of hours, such as "* 3 * * *": each minute of the hour. A
//     range such as 9-17 is left alone, because work hours are meant. The same goes for seconds
//     and minutes.
//  2. A step of which only the first value fits, such as */31 or */12 for months.
func (c Expression) Pitfall() (text, hint string) {
	words := strings.Fields(c.text)
	if c.cycle.days > 0 || c.interval.every > 0 || len(words) < 5 {
		return "", ""
	}
	first := weekdayField + 1 - len(words)
	for i, word := range words {
		pos := first + i
		if text, hint := cronFields[pos].stepPitfall(word); text != "" {
			return text, hint
		}
		if pos < hourField && word == "*" && isNarrow(words[i+1]) {
			words[i] = "0"
			return fmt.Sprintf("it is due 60 times, each %s of %s %s",
				cronFields[pos].name, cronFields[pos+1].name, words[i+1]), "for once write " + strings.Join(words, " ")
		}
	}
	return "", ""
}

// isNarrow reports whether a field has single values or a step, and no range.
func isNarrow(word string) bool {
	return word != "*" && word != "*/1" && (!strings.Contains(word, "-") || strings.Contains(word, "/"))
}

// stepPitfall is Pitfall for a step over the whole field that only the first value fits.
func (f *cronField) stepPitfall(word string) (text, hint string) {
	step, ok := strings.CutPrefix(word, "*/")
	n, isNumber := digits(step)
	if !ok || !isNumber || f.min+n <= f.stepEnd {
		return "", ""
	}
	return fmt.Sprintf("only %s %d fits the step %s", f.name, f.min, word), fmt.Sprintf("write %d for it", f.min)
}
