package every

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sched/schedule/cron"
)

// quotedValue finds a value that a hint proposes, and the word cron: before it.
var quotedValue = regexp.MustCompile(`(cron: )?"([^"]*)"`)

// A person who writes what a hint proposes must not get another error.
func TestEachValueThatAHintProposesIsRead(t *testing.T) {
	for _, text := range mistakes() {
		_, err := readFrequency(text)
		var wrong *cron.Error
		if !errors.As(err, &wrong) || wrong.Hint == everyForms {
			continue
		}
		for _, found := range quotedValue.FindAllStringSubmatch(wrong.Hint, -1) {
			isCron, value := found[1] != "", found[2]
			_, err := Parse(value)
			switch {
			case value == "boot" || value == cron.ByHand:
				continue
			case isCron:
				_, err = cron.Parse(value, "")
			case slices.Contains([]string{"at", "enabled: false", "on 1 June", "on last day", "on first monday", "on 1, 16"}, value):
				continue // a part of a phrase, or another key
			}
			if err != nil {
				t.Errorf("%q: hint %s: %q is refused: %v", text, wrong.Hint, value, err)
			}
		}
	}
}

// mistakes returns texts that are wrong, or may be.
func mistakes() (all []string) {
	units := slices.Concat(slices.Collect(maps.Keys(foreignWords())), slices.Collect(maps.Keys(unitWords())),
		slices.Collect(maps.Keys(foreignDays())), []string{"minuts", "hors", "daz", "munday", "weekday", "monday"})
	counts := strings.Fields("0 1 2 3 5 7 12 24 25 36 45 48 59 60 61 90 97 100 120 500 99999 0.5 1.5 2.5 second third fifth other odd first last")
	clocks := []string{"", " at 8:00", " at 3", " at 3pm", " 3:00", " at :15", " at noon", " at 7, 19:30", " on monday", " on 5", " of month", " from 2026-01-05"}
	for _, unit := range units {
		all = append(all, "@"+unit)
		for _, clock := range clocks {
			all = append(all, unit+clock)
			for _, n := range counts {
				all = append(all, n+" "+unit+clock, n+unit+clock, "every "+n+" "+unit+clock)
			}
		}
	}
	for method := range laravelExamples() {
		all = append(all, method)
		for _, arguments := range []string{"", "1", "'8:00'", "8", "1, '8:00'", "1, 13", "1, 13, 15", "31", "2, 30", "0, 7", "'1-5', '8:00'", "9", "0, 20"} {
			all = append(all, method+"("+arguments+")", "->"+method+"("+arguments+")")
		}
	}
	for word, number := range gluedNumbers() {
		for _, unit := range []string{"Seconds", "Minutes", "Hours", "Days"} {
			all = append(all, fmt.Sprintf("every%s%s", word, unit), fmt.Sprintf("every%s%s()", word, unit), number+unit)
		}
	}
	for _, days := range strings.Split("0|1|7|8|1, 3|1 and 5|1-5|0-6|5-1|2-9|mon, 3|12", "|") {
		for _, when := range []string{"week on %s", "week on %s at 8:00", "2 weeks on %s from 2026-12-01", "monday, %s at 8",
			"12 weeks on %s from 2026-12-01 at 1:00"} {
			all = append(all, fmt.Sprintf(when, days))
		}
	}
	all = append(all, strings.Fields("everyoddhour everyoddhour() everyOddHour(5) everyTwoHours(15) everySixHours([0,20]) everyFourHours(75)")...)
	for _, span := range strings.Fields("90m 90s 1h30m 7m 36h 1d 5m 1h 25m 97s 500ms 2h30m15s x") {
		all = append(all, "@every "+span, span, "every "+span, span+" at 8:00")
	}
	return all
}
