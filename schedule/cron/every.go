package cron

import (
	"fmt"
	"slices"
	"strings"
)

// everyForms is the whole grammar, as people are told it when nothing shorter helps.
const everyForms = `the forms are "5 minutes", "hour at :17", "2 hours at :15", "odd hours", "day at 13:00, 19:30", ` +
	`"weekdays at 8:00", "monday, friday at 8:00", "week on monday", "month on 1, 16 at 13:00", ` +
	`"month on last day", "first monday of month", "quarter on 4 at 14:00", "year on 1 June at 17:00" and ` +
	`"2 weeks from 2026-01-05 at 8:00"`

// ParseEvery reads a frequency in words and returns the cron expressions that it stands for: several
// where two times of day differ in their minutes. Case, and singular or plural, do not matter. The words
// cover every frequency helper of Laravel, and days that are counted from a date, which cron cannot say: their
// expressions are words. Without an "at", days begin at 00:00 and hours at :00.
// Every error is a *WhenError.
func ParseEvery(text string) ([]Expression, error) {
	p, err := splitPhrase(text)
	if err != nil {
		return nil, err
	}
	if p.from != nil {
		return p.cycles()
	}
	texts, err := p.crons()
	if err != nil {
		return nil, err
	}
	crons := make([]Expression, len(texts))
	for i, text := range texts {
		if crons[i], err = Parse(text, ""); err != nil {
			return nil, err
		}
	}
	return crons, nil
}

// A phrase is WHAT [from DATE] [on ON] [at AT], in words of lower case. A comma is a word of its own.
type phrase struct {
	what, from, on, at []string
}

// fillers are words that change nothing: "the first monday of every month" is "first monday of month".
var fillers = []string{"the", "each", "every"}

func splitPhrase(text string) (p phrase, err error) {
	clause := &p.what
	for _, word := range strings.Fields(strings.ReplaceAll(strings.ToLower(text), ",", " , ")) {
		switch opened := p.clause(word); {
		case opened != nil && *opened != nil:
			return p, wrong("%q comes twice", word)
		case opened != nil:
			clause, *opened = opened, []string{}
		case slices.Contains(fillers, word):
		case word != "and":
			*clause = append(*clause, word)
		case len(*clause) == 0 || (*clause)[len(*clause)-1] != ",": // not after "monday, wednesday,"
			*clause = append(*clause, ",")
		}
	}
	for _, word := range clauseWords {
		if clause := *p.clause(word); clause != nil && len(clause) == 0 {
			return p, wrong("nothing follows %q", word)
		}
	}
	if len(p.what) == 0 {
		return p, wrong("no frequency in it").hint(everyForms)
	}
	if p.what[0] == "other" && len(p.what) > 1 { // every other week
		p.what[0] = "2"
	}
	if of := slices.Index(p.what, "of"); of >= 0 {
		err = p.ofMonth(of)
	}
	return p, err
}

var clauseWords = []string{"from", "on", "at"}

// clause returns the clause that the word opens, or nil.
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

// crons returns the expressions that the phrase stands for.
func (p phrase) crons() ([]string, error) {
	first := p.what[0]
	if n, isNumber := digits(first); isNumber {
		return p.counted(n)
	}
	if weekdayWords[first] != nil {
		return p.weekdays(p.what, p.refuse("on"))
	}
	if slices.Contains(ordinalWords, first) && len(p.what) > 1 {
		return nil, p.ordinal()
	}
	if first == "odd" && len(p.what) == 2 && unitWords[p.what[1]] == "hour" {
		return p.hours("1-23/2")
	}
	unit, err := p.unit(p.what)
	if err != nil {
		return nil, err
	}
	switch unit {
	case "second", "minute":
		return p.plain(countable[unit].every)
	case "hour":
		return p.hours("*")
	case "day":
		return p.daily("* * *", p.refuse("on"))
	case "week":
		if p.on == nil {
			p.on = []string{"sunday"}
		}
		return p.weekdays(p.on, nil)
	case "month":
		return p.monthly("*")
	case "quarter":
		return p.monthly("1-12/3")
	default:
		return p.yearly()
	}
}

// unit reads words that are one unit and nothing else.
func (p phrase) unit(words []string) (string, error) {
	unit, ok := unitWords[words[0]]
	if !ok {
		return "", unknownWord(words[0])
	}
	if len(words) > 1 {
		return "", wrong("%q cannot follow %q", words[1], words[0]).hint(everyForms)
	}
	return unit, nil
}

// refuse returns an error when the phrase has one of the clauses.
func (p phrase) refuse(clauses ...string) error {
	for _, clause := range clauses {
		if clause == "on" && p.on != nil || clause == "at" && p.at != nil {
			return wrong("%q does not go with %q", clause, strings.Join(p.what, " ")).hint(everyForms)
		}
	}
	return nil
}

// plain is for what is too short to have an "on" or an "at".
func (p phrase) plain(cron string) ([]string, error) {
	return []string{cron}, p.refuse("on", "at")
}

// hours reads "hour at :15, :45".
func (p phrase) hours(hours string) ([]string, error) {
	if err := p.refuse("on"); err != nil {
		return nil, err
	}
	minutes, err := numbers(p.at, readMinute)
	return []string{joinNumbers(minutes) + " " + hours + " * * *"}, err
}

// daily reads "at 13:00, 19:30" for the days of the last three fields of a cron expression. Times
// with the same minute share an expression.
func (p phrase) daily(days string, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
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

// weekdays reads "monday, wednesday and friday", "weekdays" and "weekends".
func (p phrase) weekdays(names []string, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	lists, err := eachOf(names, readWeekdays)
	if err != nil {
		return nil, err
	}
	days := ascending(slices.Concat(lists...))
	text := joinNumbers(days)
	if slices.Equal(days, weekdayWords["weekday"]) {
		text = "1-5"
	}
	return p.daily("* * "+text, nil)
}

// yearly reads "year on 1 June" and "year on June 1".
func (p phrase) yearly() ([]string, error) {
	day, month, err := readDate(p.on)
	return p.daily(fmt.Sprintf("%d %d *", day, month), err)
}
