// Package assertion reads what a schedule says of its own due times, such as "backup starts between
// 01:00 and 05:00 every day", and proves it.
package assertion

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sched/schedule"
	"sched/schedule/calendar"
)

// A Proof says whether an assertion holds from From until To.
type Proof struct {
	schedule.Assertion
	From, To time.Time
	Calendar *calendar.Calendar // ends at To; nil if To is as far as proofs go
	Break    *Break             // the first instant that breaks it; nil: it holds
}

// Prove judges the assertions of the schedule from the minute of from until to. It knows what is
// written: due times and conditions of time of the tasks that are in use. It knows nothing of
// condition commands, pauses, locks, late ticks and retries. A proof goes no further than the
// calendars of its tasks.
func Prove(s *schedule.Schedule, from, to time.Time) []Proof {
	from = from.UTC().Truncate(time.Minute)
	proofs := make([]Proof, len(s.Assertions))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, a := range s.Assertions {
		group.Go(func() error {
			proofs[i] = proveOne(Proof{Assertion: a, From: from, To: to}, s)
			return nil
		})
	}
	group.Wait()
	return proofs
}

func proveOne(p Proof, s *schedule.Schedule) Proof {
	rule, err := parse(p.Text)
	if err != nil {
		p.Break = &Break{Why: err.Error()}
		return p
	}
	var chosen []*schedule.Task
	p.Break = rule.prove(span{Schedule: s, from: p.From, to: p.To, chosen: &chosen})
	for _, t := range chosen {
		if t.When.Rule == nil {
			continue
		}
		if c := t.When.Rule.Set.End(); c != nil {
			year, month, day := c.Through.Year, c.Through.Month, c.Through.Day
			end := time.Date(year, month, day+1, 0, 0, 0, 0, t.When.Location).UTC()
			if end.After(p.From) && end.Before(p.To) {
				p.To, p.Calendar = end, c
			}
		}
	}
	if p.Calendar != nil {
		p.Break = rule.prove(span{Schedule: s, from: p.From, to: p.To, chosen: new([]*schedule.Task)})
	}
	return p
}

// A form is one kind of assertion. Its grammar matches a whole text, and newRule makes a rule of
// the words that the named groups of the grammar match.
type form struct {
	grammar *regexp.Regexp
	example string
	newRule func(words map[string]string) (rule, error)
}

const (
	nameWord   = `[A-Za-z0-9][A-Za-z0-9._:/-]*`
	tasksWords = `(?P<tasks>all tasks|tag \S+|` + nameWord + `)`
	timeWord   = `(?:[01]?[0-9]|2[0-3]):[0-5][0-9]`
	windowWord = `between (?P<from>` + timeWord + `) and (?P<to>` + timeWord + `)` +
		`(?: (?P<zone>UTC|[A-Z][A-Za-z_]+/\S+))?`
	daysWord = `(?P<days>day|weekday|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)`
)

// forms returns all kinds of assertions. They are made at the first use, because most ticks read no
// assertion.
var forms = sync.OnceValue(func() []form {
	grammar := func(parts ...string) *regexp.Regexp {
		return regexp.MustCompile("^" + strings.Join(parts, "") + "$")
	}
	return []form{
		{
			grammar: grammar(tasksWords, ` starts `, windowWord, `(?: every `, daysWord, `)?`),
			example: "backup starts between 01:00 and 05:00 Europe/Berlin every day",
			newRule: newWindowRule,
		},
		{
			grammar: grammar(tasksWords, ` never starts `, windowWord, `(?: on `, daysWord, `s)?`),
			example: "tag heavy never starts between 08:00 and 18:00 on weekdays",
			newRule: newNeverRule,
		},
		{
			grammar: grammar(`(?P<second>`, nameWord, `) starts(?: within (?P<length>\S+))?`,
				` after (?P<first>`, nameWord, `)`),
			example: "report starts within 4h after backup",
			newRule: newOrderRule,
		},
		{
			grammar: grammar(`never more than (?P<count>\d{1,6}) of `, tasksWords,
				` in (?:one (?P<unit>minute|hour|day)|(?P<length>\S+))`),
			example: "never more than 3 of tag heavy in one minute",
			newRule: newCountRule,
		},
		{
			grammar: grammar(tasksWords,
				` runs at least every (?:(?P<daycount>[1-9]\d{0,3}) days?|(?P<unit>minute|hour|day)|(?P<length>\S+))`),
			example: "cleanup runs at least every 7 days",
			newRule: newGapRule,
		},
	}
})

// Check returns what is wrong with the text of an assertion. Whether its tasks exist is for Prove.
func Check(text string) error {
	_, err := parse(text)
	return err
}

func parse(text string) (rule, error) {
	for _, f := range forms() {
		match := f.grammar.FindStringSubmatch(text)
		if match == nil {
			continue
		}
		words := map[string]string{}
		for i, name := range f.grammar.SubexpNames() {
			words[name] = match[i]
		}
		return f.newRule(words)
	}
	return nil, fmt.Errorf("%q has none of the forms of an assertion", text)
}

// Forms returns an example of each form.
func Forms() (examples []string) {
	for _, f := range forms() {
		examples = append(examples, f.example)
	}
	return examples
}

// Pattern returns a pattern that the texts of all assertions match. It has no named
// groups, which JSON Schema does not know.
func Pattern() string {
	var patterns []string
	for _, f := range forms() {
		patterns = append(patterns, f.grammar.String())
	}
	return regexp.MustCompile(`\(\?P<\w+>`).ReplaceAllString(strings.Join(patterns, "|"), "(")
}
