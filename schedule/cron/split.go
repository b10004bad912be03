package cron

import (
	"strings"
)

// macros are the macros of crontab(5) and of gronx. @reboot is no time: see When.Boot.
var macros = map[string]string{
	"@yearly":      "0 0 1 1 *",
	"@annually":    "0 0 1 1 *",
	"@monthly":     "0 0 1 * *",
	"@weekly":      "0 0 * * 0",
	"@daily":       "0 0 * * *",
	"@midnight":    "0 0 * * *",
	"@hourly":      "0 * * * *",
	"@always":      "* * * * *",
	"@5minutes":    "*/5 * * * *",
	"@10minutes":   "*/10 * * * *",
	"@15minutes":   "*/15 * * * *",
	"@30minutes":   "0,30 * * * *",
	"@everysecond": "* * * * * *",
}

// splitCron returns the texts of the 5 or 6 fields of an expression or a macro.
func splitCron(text string) ([]string, error) {
	words := strings.Fields(text)
	if len(words) > 0 && words[0][0] == '@' {
		return splitMacro(strings.Join(words, " "))
	}
	if len(words) > 0 && strings.Contains(words[0], "TZ=") {
		return nil, wrong("%q is no field", words[0]).SetHint("the time zone has its own key, timezone:")
	}
	if n := len(words); n > 5 && isCommand(words[5:]) {
		return nil, wrong("%q is no field", strings.Join(words[5:], " ")).
			SetHint("the command of a crontab line has its own key, command:, and the user before it user:")
	} else if n != 5 && n != 6 {
		return nil, wrongCount(n)
	}
	return words, nil
}

// isCommand reports whether the words after the fifth look like a command, with or without a user.
func isCommand(words []string) bool {
	for _, word := range words {
		if strings.HasPrefix(word, "/") || strings.HasPrefix(word, ".") {
			return true
		}
	}
	first := strings.ToLower(words[0])
	return len(words) > 1 && !isWeekday(first) && strings.ContainsFunc(first, func(r rune) bool { return 'a' <= r && r <= 'z' })
}

// splitMacro returns the fields that a macro stands for. Macros are known in any case.
func splitMacro(name string) ([]string, error) {
	lower := strings.ToLower(name)
	if expr, ok := macros[lower]; ok {
		return strings.Fields(expr), nil
	}
	switch {
	case lower == AtBoot:
		return nil, wrong("%s is no time", name).SetHint("in a schedule write `every: boot`")
	case strings.HasPrefix(lower, "@every"):
		return nil, wrong("macro %q is not known", name).
			SetHint(`write it in words instead, for example "every: 5 minutes"`)
	}
	return nil, wrong("macro %q is not known", name).
		SetHint("the macros are @yearly, @monthly, @weekly, @daily, @midnight and @hourly")
}

// wrongCount returns the error about an expression that has n fields.
func wrongCount(n int) error {
	const need = "needs 5 (minute hour day month weekday), or 6 with leading seconds"
	switch n {
	case 0:
		return wrong("is empty, " + need)
	case 1:
		return wrong("1 field, " + need)
	case 7:
		return wrong("7 fields, " + need).SetHint("there is no field for the year: leave out the last one")
	}
	return wrong("%d fields, "+need, n)
}

// yearHint adds a hint to err if six fields end with a year instead of starting with a second.
func yearHint(err error, words []string) error {
	e, ok := err.(*Error)
	if last := words[len(words)-1]; ok && e.Hint == "" && len(words) == 6 && len(last) == 4 {
		if n, isNumber := digits(last); isNumber && n > 1900 {
			e.SetHint("the first of 6 fields is the second, and there is no field for the year")
		}
	}
	return err
}
