package cron

import (
	"strings"
	"time"
)

// An Expression is one valid cron expression: 5 fields, or 6 with leading seconds. Or it is a fixed time on every so
// many days from a date on, which only every: can say. The zero Expression is never due.
//
// The rules are those of crontab(5) and of Vixie cron, with L, W and # as in Quartz and H as in Jenkins. gronx decides
// which values of a field are due; it is asked once, see compile.go. An Expression is a value: it may be copied, compared
// with ==, and used by several goroutines.
type Expression struct {
	text  string
	times times
	dates dates
	cycle cycle // which days are due, in place of dates; or none
	fixed bool  // minute and hour do not start with *: a job that daylight saving must not lose
}

// The order of the fields, which is also how gronx counts them.
const (
	secondField = iota
	minuteField
	hourField
	dayField
	monthField
	weekdayField
)

// macros are those of crontab(5) and of gronx. @reboot is missing on purpose.
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

// Parse reads one cron expression. The seed, the task's name, is what H is made from.
// Every error is a *WhenError.
func Parse(text, seed string) (Expression, error) {
	words, err := splitCron(text)
	if err != nil {
		return Expression{}, err
	}
	fields := canonicalFields{secondField: "0"} // five fields mean second 0
	first := len(fields) - len(words)
	for i, word := range words {
		f := &cronFields[first+i]
		if words[i], err = f.resolve(word, seed); err != nil {
			return Expression{}, err
		}
		if fields[first+i], err = f.canonical(words[i]); err != nil {
			return Expression{}, yearHint(err, words)
		}
	}
	c := Expression{text: strings.Join(words, " "), fixed: !fields.starred(minuteField) && !fields.starred(hourField)}
	c.times, c.dates = shared.compile(&fields)
	if !fields.plainlyPossible() && !c.hasDate() {
		return Expression{}, fields.impossible(words)
	}
	return c, nil
}

// canonicalFields are the fields of an expression from second to weekday, in the form that gronx reads right.
type canonicalFields [6]string

// starred reports whether a field starts with *. Vixie cron sets its DOM_STAR and DOW_STAR by
// the first character alone, so that */2 counts and 1-5,* does not.
func (fields *canonicalFields) starred(pos int) bool { return fields[pos][0] == '*' }

// bothDays reports whether the day and the weekday are both restricted.
func (fields *canonicalFields) bothDays() bool {
	return !fields.starred(dayField) && !fields.starred(weekdayField)
}

// String returns the expression with macros and H resolved; for days that are counted from a date, the words.
// ParseCron, and of words ParseEvery, make the same Cron of it.
func (c Expression) String() string { return c.text }

// BothDays reports whether the day and the weekday are both restricted, so that either is enough.
// That is crontab(5)'s rule, and rarely what people expect.
func (c Expression) BothDays() bool { return c.dates.either }

// splitCron returns the 5 or 6 fields of an expression or a macro.
func splitCron(text string) ([]string, error) {
	words := strings.Fields(text)
	if len(words) > 0 && words[0][0] == '@' {
		return splitMacro(strings.Join(words, " "))
	}
	if len(words) > 0 && strings.Contains(words[0], "TZ=") {
		return nil, wrong("%q is no field", words[0]).hint("the time zone has its own key, timezone:")
	}
	if n := len(words); n != 5 && n != 6 {
		return nil, wrongCount(n)
	}
	return words, nil
}

func splitMacro(name string) ([]string, error) {
	lower := strings.ToLower(name)
	if expr, ok := macros[lower]; ok {
		return strings.Fields(expr), nil
	}
	switch {
	case lower == "@reboot":
		return nil, wrong("%s is not a time: nothing of sched runs at start-up to notice it", name).
			hint("start the command from the init system, for example a systemd unit")
	case strings.HasPrefix(lower, "@every"):
		return nil, wrong("macro %q is not known", name).
			hint(`write it in words instead, for example "every: 5 minutes"`)
	}
	return nil, wrong("macro %q is not known", name).
		hint("the macros are @yearly, @monthly, @weekly, @daily, @midnight and @hourly")
}

func wrongCount(n int) error {
	const need = "needs 5 (minute hour day month weekday), or 6 with leading seconds"
	switch n {
	case 0:
		return wrong("is empty, " + need)
	case 1:
		return wrong("1 field, " + need)
	case 7:
		return wrong("7 fields, " + need).hint("there is no field for the year: leave out the last one")
	}
	return wrong("%d fields, "+need, n)
}

// yearHint explains six fields that end with a year, as some programs allow, instead of starting
// with a second.
func yearHint(err error, words []string) error {
	e, ok := err.(*Error)
	if last := words[len(words)-1]; ok && e.Hint == "" && len(words) == 6 && len(last) == 4 {
		if n, isNumber := digits(last); isNumber && n > 1900 {
			e.hint("the first of 6 fields is the second, and there is no field for the year")
		}
	}
	return err
}

// plainlyPossible reports whether a glance shows that some date matches the day fields and the month, as it does for
// most expressions. Only those fields can contradict each other.
func (fields *canonicalFields) plainlyPossible() bool {
	days, months, weekdays := fields[dayField], fields[monthField], fields[weekdayField]
	n, isNumber := digits(days)
	return fields.bothDays() || days == "*" || weekdays == "*" && (months == "*" || isNumber && n <= 28)
}

// hasDate looks for a due day in 28 years: they hold every calendar there is.
func (c *Expression) hasDate() bool {
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	to := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	_, ok := c.dates.next(dayOf(from), dayOf(to-1))
	return ok
}

// impossible explains an expression that no date matches, in the words of its writer.
func (fields *canonicalFields) impossible(words []string) error {
	words = words[len(words)-3:]
	if fields[weekdayField] == "*" {
		return wrong("can never be due: day %s never comes in month %s", words[0], words[1]).
			hint("the last day of a month is L, its last working day LW")
	}
	return wrong("can never be due: day %s of month %s is never on weekday %s", words[0], words[1], words[2])
}
