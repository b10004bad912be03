package every

import (
	"slices"
	"strings"

	"sched/schedule/calendar"
	"sched/schedule/cron"
	"sched/schedule/humanize"
)

// This file reads working days, which need a calendar:
//
//	workday = [number "working" "days" ("before" | "after")] nth {"," nth} "of" period
//	nth     = ordinal "working" "day"              last working day, second last working day
//	        | ("first" | "last") "day"             after "before" or "after" only
//	ordinal = "first" … "fifth" | "last" | "second" … "fifth" "last" | number
//	period  = "week" | "month" | "quarter" | "year"

// maxOffset is how many working days before or after a day a phrase may say.
const maxOffset = 60

const workdayForms = `write "last working day of month at 18:00", "third working day of quarter" or ` +
	`"2 working days before last day of month"; each working day is "day" with ` + "`calendar: NAME`"

// workdayWords writes other words for working days as ours. Working is whether there are any.
func workdayWords(words []string) (ours []string, working bool) {
	for _, word := range words {
		switch strings.TrimSuffix(word, "s") {
		case "workday":
			ours = append(ours, "working", "day")
		case "busines", "working":
			ours = append(ours, "working")
		default:
			ours = append(ours, word)
		}
	}
	return ours, slices.Contains(ours, "working")
}

// readWorkdays reads a phrase about working days without its times.
func readWorkdays(phrase []string) ([]calendar.Nth, error) {
	of := slices.Index(phrase, "of")
	if of < 0 {
		return nil, cron.NewError("%q does not say which working day", strings.Join(phrase, " ")).SetHint(workdayForms)
	}
	unit := strings.Join(phrase[of+1:], " ")
	period := calendar.Period(strings.TrimSuffix(unit, "s"))
	if !slices.Contains([]calendar.Period{calendar.Week, calendar.Month, calendar.Quarter, calendar.Year}, period) {
		e := cron.NewError(`"of" is followed by week, month, quarter or year, not by %q`, unit)
		return nil, e.SetHint(workdayForms)
	}
	words, offset, err := readOffset(phrase[:of])
	if err != nil {
		return nil, err
	}
	return eachOf(words, func(element string) (calendar.Nth, error) {
		n, err := readNth(element, offset != 0)
		n.Of, n.Offset = period, offset
		return n, err
	})
}

// readOffset reads "2 working days before" at the beginning of the words, and returns the others.
func readOffset(words []string) (rest []string, offset int, err error) {
	i := slices.IndexFunc(words, func(word string) bool { return word == "before" || word == "after" })
	if i < 0 {
		return words, 0, nil
	}
	text := strings.Join(words[:i+1], " ")
	n, isNumber := humanize.Digits(words[0])
	if i != 3 || !isNumber || words[1] != "working" || strings.TrimSuffix(words[2], "s") != "day" {
		return nil, 0, cron.NewError("%q is not understood", text).SetHint(workdayForms)
	}
	if n < 1 || n > maxOffset {
		return nil, 0, cron.NewError("%q is not 1 to %d working days", text, maxOffset)
	}
	if words[i] == "before" {
		n = -n
	}
	return words[i+1:], n, nil
}

// readNth reads "second last working day" and, in a list, "second last". Any day may be counted if
// working days are counted from it.
func readNth(element string, mayBeAny bool) (n calendar.Nth, err error) {
	words := strings.Fields(element)
	if last := len(words) - 1; words[last] == "day" || words[last] == "days" {
		words = words[:last]
		n.AnyDay = true
	}
	if last := len(words) - 1; last >= 0 && words[last] == "working" {
		words, n.AnyDay = words[:last], false
	}
	isLast := len(words) > 0 && words[len(words)-1] == "last"
	if isLast {
		words = words[:len(words)-1]
	}
	switch {
	case len(words) == 0 && isLast:
		n.N = 1
	case len(words) == 1:
		if n.N = 1 + slices.Index(calendar.Ordinals, words[0]); n.N == 0 {
			n.N, err = readDay(words[0])
		}
	}
	if n.N == 0 || err != nil || n.AnyDay && (n.N != 1 || !mayBeAny) {
		return n, cron.NewError("%q is no working day of a period", element).SetHint(workdayForms)
	}
	if isLast {
		n.N = -n.N
	}
	return n, nil
}
