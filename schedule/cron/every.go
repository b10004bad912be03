package cron

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/schedule/humanize"
)

// The words are one phrase, read without regard to case, plural and fillers:
//
//	phrase    = frequency ["from" date] ["on" days] ["at" times]      the clauses in any order
//	frequency = "second" | "minute" | "hour" | "day" | "week" | "month" | "quarter" | "year"
//	          | number unit                          every_count.go: 5 minutes, 2 hours
//	          | "odd" "hours"
//	          | weekday {"," weekday}                monday, friday; weekdays; weekends
//	          | monthday {"," monthday} "of" ("month" | "quarter")    every_read.go: first monday of month
//	date      = YYYY-MM-DD                           every_count.go: after days and weeks
//	days      = weekday {"," weekday}                after week
//	          | monthday {"," monthday}              after month and quarter: 1, 16; last day
//	          | number month | month number          after year: 1 June
//	times     = time {"," time}                      8:00, 19:30; after hours :15, :45
//
// every_read.go reads the elements of clauses. The tables of words are at the end of this file.
// Each phrase becomes texts of cron expressions. A phrase that counts from a date also becomes days
// or an interval.

// everyForms lists examples of all forms. It is the hint if no shorter hint helps.
const everyForms = `the forms are "5 minutes", "hour at :17", "2 hours at :15", "odd hours", "day at 13:00, 19:30", ` +
	`"weekdays at 8:00", "monday, friday at 8:00", "week on monday", "month on 1, 16 at 13:00", ` +
	`"month on last day", "first monday of month", "quarter on 4 at 14:00", "year on 1 June at 17:00", ` +
	`"2 weeks from 2026-01-05 at 8:00", "90 minutes from 2026-01-05 06:00", "boot" and "hand"`

// ParseEvery reads a frequency in words, such as "weekdays at 8:00". It returns several expressions
// if times of day differ in their minutes. Every error is an *Error.
func ParseEvery(text string) ([]Expression, error) {
	f, err := readFrequency(text)
	if err != nil {
		return nil, err
	}
	if f.interval > 0 {
		v := interval{int64(f.interval / time.Second), f.from.Unix()}
		return []Expression{{text: v.String(), interval: v}}, nil
	}
	expressions := make([]Expression, len(f.crons))
	for i, text := range f.crons {
		c, err := Parse(text, "")
		if err != nil {
			return nil, err
		}
		if f.days > 0 {
			c.cycle = cycle{int64(f.days), f.from.Unix() / daySeconds}
			c.text = f.words + " from " + c.cycle.startText() + c.times.atTimes()
		}
		expressions[i] = c
	}
	return expressions, nil
}

// A frequency is what a phrase says. Its cron expressions are not checked yet: 30 February passes.
type frequency struct {
	crons []string // the cron expressions that it stands for; with days the times of day of each due day
	days  int      // from one due day to the next, if days are counted from a date; 0 if the expressions say the days
	words string   // how often that is: "2 weeks"; empty if days is 0

	// interval is the elapsed time from one due instant to the next, if minutes or hours are
	// counted from `from`; else 0.
	interval time.Duration

	from time.Time // the start of days or interval, on the wall clock, as if that were UTC
}

// readFrequency reads a frequency in words, such as "weekdays at 8:00". Without an "at", days begin
// at 0:00 and hours at :00. Every error is an *Error.
func readFrequency(text string) (frequency, error) {
	f, err := readPhrase(text)
	if unknown, ok := errors.AsType[*unknownError](err); ok {
		whole := strings.Replace(strings.ToLower(text), unknown.word, unknown.meant, 1)
		if _, err := readPhrase(whole); err == nil { // people can copy this hint as it is
			unknown.err.SetHint("did you mean %q?", whole)
		}
		return f, unknown.err
	}
	return f, err
}

// readPhrase is readFrequency without hints that have the whole phrase.
func readPhrase(text string) (frequency, error) {
	p, err := splitPhrase(text)
	if err != nil {
		return frequency{}, err
	}
	if p.from != nil {
		if f, ok, err := p.interval(); ok {
			return f, err
		}
		return p.cycle()
	}
	texts, err := p.crons()
	return frequency{crons: texts}, err
}

// A phrase is a frequency in words of lower case and commas: its period, such as "2 weeks", and its
// clauses. A missing clause is nil.
type phrase struct {
	period       []string
	from, on, at []string
}

// fillers are words without a meaning: "the first monday of every month" is "first monday of
// month".
var fillers = []string{"the", "each", "every"}

// splitPhrase splits a text into its clauses, with "and" as a comma and "other week" as 2 weeks.
func splitPhrase(text string) (p phrase, err error) {
	clause := &p.period
	for _, word := range strings.Fields(strings.ReplaceAll(strings.ToLower(text), ",", " , ")) {
		switch opened := p.clause(word); {
		case opened != nil && *opened != nil:
			return p, newError("%q comes twice", word)
		case opened != nil:
			clause, *opened = opened, []string{}
		case slices.Contains(fillers, word): // it is left out
		case word != "and":
			*clause = append(*clause, word)
		case len(*clause) == 0 || (*clause)[len(*clause)-1] != ",": // not after "monday, wednesday,"
			*clause = append(*clause, ",")
		}
	}
	for _, word := range clauseWords {
		if clause := *p.clause(word); clause != nil && len(clause) == 0 {
			return p, newError("nothing follows %q", word)
		}
	}
	if len(p.period) == 0 {
		return p, newError("no frequency in it").SetHint(everyForms)
	}
	if p.period[0] == "other" && len(p.period) > 1 { // every other week
		p.period[0] = "2"
	}
	if of := slices.Index(p.period, "of"); of >= 0 {
		err = p.ofMonth(of)
	}
	return p, err
}

var clauseWords = []string{"from", "on", "at"}

// clause returns the clause that a word begins; nil for any other word.
func (p *phrase) clause(word string) *[]string {
	switch word {
	case "from":
		return &p.from
	case "on":
		return &p.on
	case "at":
		return &p.at
	}
	return nil
}

// crons returns the cron expressions of a phrase that counts from no date.
func (p phrase) crons() ([]string, error) {
	first := p.period[0]
	switch n, isNumber := digits(first); {
	case isNumber:
		return p.counted(n)
	case isWeekday(first):
		if err := p.refuse("on"); err != nil {
			return nil, err
		}
		return p.weekdays(p.period)
	case slices.Contains(ordinalWords, first) && len(p.period) > 1:
		return nil, p.ordinalWithoutMonthError()
	case first == "odd" && len(p.period) == 2 && unitWords()[p.period[1]] == "hour":
		return p.hours("1-23/2")
	}
	unit, err := p.unit(p.period)
	if err != nil {
		return nil, err
	}
	switch unit {
	case "second", "minute":
		return p.bare(countable[unit].every)
	case "hour":
		return p.hours("*")
	case "day":
		return p.everyDay()
	case "week":
		if p.on == nil {
			p.on = []string{"sunday"}
		}
		return p.weekdays(p.on)
	case "month":
		return p.monthly("*")
	case "quarter":
		return p.monthly("1-12/3")
	default:
		return p.yearly()
	}
}

// unit returns the unit that the words are. There must be one word.
func (p phrase) unit(words []string) (string, error) {
	unit, ok := unitWords()[words[0]]
	if !ok {
		return "", unknownWordError(words[0])
	}
	if len(words) > 1 {
		return "", newError("%q cannot follow %q", words[1], words[0]).SetHint(everyForms)
	}
	return unit, nil
}

// refuse returns an error if the phrase has one of the clauses, each "on" or "at".
func (p phrase) refuse(clauses ...string) error {
	for _, clause := range clauses {
		if clause == "on" && p.on != nil || clause == "at" && p.at != nil {
			return newError("%q does not go with %q", clause, strings.Join(p.period, " ")).SetHint(everyForms)
		}
	}
	return nil
}

// bare returns cron for a frequency that has neither an "on" nor an "at".
func (p phrase) bare(cron string) ([]string, error) {
	return []string{cron}, p.refuse("on", "at")
}

// hours reads the minutes of "hour at :15, :45". The argument is the text of the hour field.
func (p phrase) hours(hours string) ([]string, error) {
	if err := p.refuse("on"); err != nil {
		return nil, err
	}
	minutes, err := numbers(p.at, readMinute)
	return []string{joinNumbers(minutes) + " " + hours + " * * *"}, err
}

// everyDay is daily for a phrase that cannot say on which days.
func (p phrase) everyDay() ([]string, error) {
	if err := p.refuse("on"); err != nil {
		return nil, err
	}
	return p.daily("* * *")
}

// daily reads the times of "at 13:00, 19:30" for the last three fields, days. Times with the same
// minute share an expression.
func (p phrase) daily(days string) ([]string, error) {
	times, err := numbers(p.at, readTime)
	if err != nil {
		return nil, err
	}
	var texts []string
	for len(times) > 0 {
		minute := times[0] % 60
		var hours, others []int
		for _, t := range times {
			if t%60 == minute {
				hours = append(hours, t/60)
			} else {
				others = append(others, t)
			}
		}
		texts = append(texts, fmt.Sprintf("%d %s %s", minute, joinNumbers(hours), days))
		times = others
	}
	return texts, nil
}

// weekdays reads names: "monday, wednesday and friday", "weekdays".
func (p phrase) weekdays(names []string) ([]string, error) {
	lists, err := eachOf(names, readWeekdays)
	if err != nil {
		return nil, err
	}
	days := ascending(slices.Concat(lists...))
	text := joinNumbers(days)
	if slices.Equal(days, weekdayWords()["weekday"]) {
		text = "1-5"
	}
	return p.daily("* * " + text)
}

// yearly reads the date of "year on 1 June" or "year on June 1".
func (p phrase) yearly() ([]string, error) {
	day, month, err := readDate(p.on)
	if err != nil {
		return nil, err
	}
	return p.daily(fmt.Sprintf("%d %d *", day, month))
}

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

// foreignWords are words that people write for ours.
var foreignWords = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"hourly": "hour", "daily": "day", "nightly": "day", "midnight": "day", "weekly": "week", "monthly": "month",
		"quarterly": "quarter", "yearly": "year", "annually": "year", "even": "2 hours",
		"s": "seconds", "sec": "seconds", "secs": "seconds", "m": "minutes", "min": "minutes", "mins": "minutes",
		"fortnight":   "2 weeks from " + exampleDate,
		"fortnightly": "2 weeks from " + exampleDate,
		"biweekly":    "2 weeks from " + exampleDate,
		"reboot":      "boot", "startup": "boot",
		"manual": ByHand, "manually": ByHand, "by": ByHand, "demand": ByHand, "never": ByHand,
		"h": "hours", "hr": "hours", "hrs": "hours", "d": "day", "w": "week",
	}
})

// plurals returns the words and their plurals.
func plurals[T any](words map[string]T) map[string]T {
	withPlurals := make(map[string]T, 2*len(words))
	for word, meaning := range words {
		withPlurals[word], withPlurals[word+"s"] = meaning, meaning
	}
	return withPlurals
}

// An unknownError is about an unknown word. If it can, readFrequency replaces its hint by the whole
// phrase.
type unknownError struct {
	err         *Error
	word, meant string // neither is empty
}

func (e *unknownError) Error() string { return e.err.Text }

// unknownWordError returns the error about a word that we do not know, with a hint at the word that
// was probably meant.
func unknownWordError(word string) error {
	e := newError("%q is not a word for a frequency", word)
	letters := strings.TrimLeft(word, "0123456789")
	number := strings.TrimSuffix(word, letters)
	meant := foreignWords()[letters]
	if meant == "" {
		meant = nearestWord(letters)
	}
	switch {
	case word == "boot":
		return newError("%q stands alone", word).SetHint("write boot: the first tick after each boot")
	case word == ByHand:
		return newError("%q stands alone", word).SetHint("write hand: only people start the task")
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
