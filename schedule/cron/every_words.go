package cron

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"sched/schedule/humanize"
)

// Maps of words are made when one is first needed: a schedule of cron expressions needs none, and
// `sched` starts often.

// unitWords are the units of time, by each of their words.
var unitWords = sync.OnceValue(func() map[string]string {
	return plurals(map[string]string{
		"second": "second", "minute": "minute", "hour": "hour", "day": "day",
		"week": "week", "month": "month", "quarter": "quarter", "year": "year",
	})
})

// weekdayWords are the weekdays that a word means. Sunday is 0.
var weekdayWords = sync.OnceValue(func() map[string][]int {
	return plurals(map[string][]int{
		"weekday": {1, 2, 3, 4, 5}, "weekend": {0, 6},
		"sunday": {0}, "monday": {1}, "tuesday": {2}, "wednesday": {3}, "thursday": {4}, "friday": {5}, "saturday": {6},
		"sun": {0}, "mon": {1}, "tue": {2}, "wed": {3}, "thu": {4}, "fri": {5}, "sat": {6},
	})
})

// isWeekday reports whether a word, in lower case, means one or more weekdays.
func isWeekday(word string) bool { return weekdayWords()[word] != nil }

// monthWords are the months. Their first three letters are words for them, too.
var monthWords = []string{"january", "february", "march", "april", "may", "june", "july", "august",
	"september", "october", "november", "december"}

var foreignWords = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"hourly": "hour", "daily": "day", "nightly": "day", "midnight": "day", "weekly": "week", "monthly": "month",
		"quarterly": "quarter", "yearly": "year", "annually": "year", "even": "2 hours",
		"s": "seconds", "sec": "seconds", "secs": "seconds", "m": "minutes", "min": "minutes", "mins": "minutes",
		"fortnight": "2 weeks from " + exampleDate, "fortnightly": "2 weeks from " + exampleDate, "biweekly": "2 weeks from " + exampleDate,
		"reboot": "boot", "startup": "boot",
		"h": "hours", "hr": "hours", "hrs": "hours", "d": "day", "w": "week",
	}
})

func plurals[T any](words map[string]T) map[string]T {
	both := make(map[string]T, 2*len(words))
	for word, meaning := range words {
		both[word], both[word+"s"] = meaning, meaning
	}
	return both
}

// An unknownError is about an unknown word. If it can, readFrequency replaces its hint by the whole
// phrase.
type unknownError struct {
	said        *Error
	word, meant string // neither is empty
}

func (e *unknownError) Error() string { return e.said.Text }

// unknownWord returns the error about a word that we do not know, with a hint at the word that was
// probably meant.
func unknownWord(word string) error {
	e := wrong("%q is not a word for a frequency", word)
	letters := strings.TrimLeft(word, "0123456789")
	number := strings.TrimSuffix(word, letters)
	meant := foreignWords()[letters]
	if meant == "" {
		meant = nearestWord(letters)
	}
	switch {
	case word == "boot":
		return wrong("%q stands alone", word).SetHint("write boot: the first tick after each boot")
	case strings.ContainsAny(word, "*@"):
		return e.SetHint("write it under cron: instead")
	case meant == "":
		return e.SetHint(everyForms)
	case number != "":
		return e.SetHint(`did you mean "%s %s"?`, number, meant)
	}
	return &unknownError{e.SetHint("did you mean %q?", meant), word, meant}
}

// nearestWord returns the unit or weekday at most two letters away (one if word is short), or "".
func nearestWord(word string) (nearest string) {
	ours := slices.AppendSeq(slices.Collect(maps.Keys(unitWords())), maps.Keys(weekdayWords()))
	slices.Sort(ours)
	best := min(3, (len(word)+3)/3)
	for _, w := range ours {
		d := humanize.Distance(word, w, best+1)
		if d < best || d == best && w == nearest+"s" && strings.HasSuffix(word, "s") {
			nearest, best = w, d
		}
	}
	return nearest
}
