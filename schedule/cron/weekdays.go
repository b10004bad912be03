package cron

import (
	"maps"
	"sync"
)

// WeekdayWords returns the weekdays that a word, in lower case, means. Sunday is 0.
var WeekdayWords = sync.OnceValue(func() map[string][]int {
	words := map[string][]int{
		"weekday": {1, 2, 3, 4, 5}, "weekend": {0, 6},
		"sunday": {0}, "monday": {1}, "tuesday": {2}, "wednesday": {3}, "thursday": {4}, "friday": {5}, "saturday": {6},
		"sun": {0}, "mon": {1}, "tue": {2}, "wed": {3}, "thu": {4}, "fri": {5}, "sat": {6},
	}
	for word, days := range maps.Clone(words) {
		words[word+"s"] = days
	}
	return words
})
