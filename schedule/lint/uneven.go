package lint

import (
	"fmt"
	"path/filepath"
	"strings"

	"sched/schedule"
	"sched/schedule/humanize"
)

// A stepField is a field of a cron expression in which steps are counted.
type stepField struct {
	plural      string
	first, last int
}

var stepFields = [6]stepField{
	{"seconds", 0, 59}, {"minutes", 0, 59}, {"hours", 0, 23}, {"days", 1, 31}, {"months", 1, 12}, {"weekdays", 0, 6},
}

// UnevenSteps notes cron expressions with a step after whose last value a shorter time follows:
// "*/45 * * * *" is due at :00 and :45, so 45 minutes apart and then 15.
func UnevenSteps(s *schedule.Schedule) (notes []schedule.Problem) {
	for t := range s.ActiveTasks() {
		if t.When.Every != "" {
			continue
		}
		for _, c := range t.When.Crons {
			words := strings.Fields(c.String())
			if len(words) != 5 && len(words) != 6 {
				continue
			}
			offset := len(stepFields) - len(words)
			for i, word := range words {
				step, text := stepFields[offset+i].uneven(word)
				if text == "" || !mayWrap(words, i, offset) {
					continue
				}
				notes = append(notes, t.Problem(timingKey(t), evenHint(s, words, i, step), "cron %q: %s", c, text))
			}
		}
	}
	return notes
}

// uneven returns the step of a word such as */45, and what is uneven in it. The text is "" for any
// other word, for a step that divides the field, and for a step of which only the first value fits.
func (f stepField) uneven(word string) (step int, text string) {
	whole, stepText, _ := strings.Cut(word, "/")
	step, isNumber := humanize.Digits(stepText)
	size := f.last - f.first + 1
	isWhole := whole == "*" || whole == fmt.Sprintf("%d-%d", f.first, f.last)
	if !isWhole || !isNumber || step < 2 || step >= size {
		return 0, ""
	}
	last := f.first + (size-1)/step*step
	switch {
	case f.plural == "days":
		return step, fmt.Sprintf("its days are %d apart, but after day %d they begin anew with day 1 of the next month",
			step, last)
	case size%step == 0:
		return 0, ""
	}
	return step, fmt.Sprintf("its %s are %d apart, but only %d from %d to the next %d",
		f.plural, step, f.last+1-last, last, f.first)
}

// mayWrap reports whether the last value of a field and the first value after it are due one after
// the other: the next larger fields have neighbours.
func mayWrap(words []string, i, offset int) bool {
	switch field := offset + i; field {
	case 0, 1: // before minutes, hours
		return words[i+1] == "*" || strings.Contains(words[i+1], "-") && !strings.Contains(words[i+1], "/")
	case 2, 3: // hours need each day, and days each month
		return strings.Join(words[i+1:], " ") == strings.TrimSpace(strings.Repeat("* ", len(words)-i-1))
	}
	return true
}

// evenHint says how to write even steps.
func evenHint(s *schedule.Schedule, words []string, i, step int) string {
	const from = "2026-01-05"
	field := len(stepFields) - len(words) + i
	ext := filepath.Ext(s.File)
	isEach := strings.Trim(strings.Join(words[i+1:], ""), "*") == ""
	isPlain := len(words) == 5 && isEach && (ext == ".yaml" || ext == ".yml")
	minute, isMinute := humanize.Digits(words[0])
	hour, isHour := humanize.Digits(words[1])
	const asWords = "for even steps write `every: %d %s from " + from + "%s`, which counts from then"
	switch {
	case isPlain && field == 1:
		return fmt.Sprintf(asWords, step, "minutes", " 06:00")
	case isPlain && field == 2 && isMinute:
		return fmt.Sprintf(asWords, step, "hours", fmt.Sprintf(" 06:%02d", minute))
	case isPlain && field == 3 && isMinute && isHour:
		return fmt.Sprintf(asWords, step, "days", fmt.Sprintf(" at %d:%02d", hour, minute))
	case field == 3 || field == 5:
		return ""
	}
	f := stepFields[field]
	return fmt.Sprintf("steps that divide %d are even", f.last-f.first+1)
}
