package schedule

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"sched/schedule/yamldoc"
)

// An Assertion is what the file says of its own due times, such as "backup starts between 01:00 and
// 05:00 every day". Schedule.Prove says whether it holds.
type Assertion struct {
	Text  string
	Place Place
	rule  rule
}

// A rule is an assertion that was read.
type rule interface {
	// prove returns the first instant of a span that breaks the rule, or nil.
	prove(in span) *Break
}

// A form is one kind of assertion. Its grammar matches a whole text, and rule makes a rule of the
// words that the named groups of the grammar have found.
type form struct {
	grammar *regexp.Regexp
	example string
	rule    func(words map[string]string) (rule, error)
}

const (
	nameWord   = `[A-Za-z0-9][A-Za-z0-9._:/-]*`
	chosenWord = `(?P<chosen>all tasks|tag \S+|` + nameWord + `)`
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
			grammar: grammar(chosenWord, ` starts `, windowWord, `(?: every `, daysWord, `)?`),
			example: "backup starts between 01:00 and 05:00 Europe/Berlin every day",
			rule:    newWindowRule,
		},
		{
			grammar: grammar(chosenWord, ` never starts `, windowWord, `(?: on `, daysWord, `s)?`),
			example: "tag heavy never starts between 08:00 and 18:00 on weekdays",
			rule:    newNeverRule,
		},
		{
			grammar: grammar(`(?P<task>`, nameWord, `) starts(?: within (?P<span>\S+))?`,
				` after (?P<before>`, nameWord, `)`),
			example: "report starts within 4h after backup",
			rule:    newOrderRule,
		},
		{
			grammar: grammar(`never more than (?P<count>\d{1,6}) of `, chosenWord,
				` in (?:one (?P<unit>minute|hour|day)|(?P<span>\S+))`),
			example: "never more than 3 of tag heavy in one minute",
			rule:    newCountRule,
		},
		{
			grammar: grammar(chosenWord,
				` runs at least every (?:(?P<daycount>[1-9]\d{0,3}) days?|(?P<unit>minute|hour|day)|(?P<span>\S+))`),
			example: "cleanup runs at least every 7 days",
			rule:    newGapRule,
		},
	}
})

// ParseAssertion reads an assertion. Whether its tasks exist is for Schedule.Prove.
func ParseAssertion(text string, place Place) (Assertion, error) {
	a := Assertion{Text: text, Place: place}
	for _, f := range forms() {
		found := f.grammar.FindStringSubmatch(a.Text)
		if found == nil {
			continue
		}
		words := map[string]string{}
		for i, name := range f.grammar.SubexpNames() {
			words[name] = found[i]
		}
		var err error
		a.rule, err = f.rule(words)
		return a, err
	}
	return a, fmt.Errorf("%q has none of the forms of an assertion", a.Text)
}

// AssertionForms returns an example of each form.
func AssertionForms() (examples []string) {
	for _, f := range forms() {
		examples = append(examples, f.example)
	}
	return examples
}

// AssertionPattern returns a pattern that the texts of all assertions match. It has no named
// groups, which JSON Schema does not know.
func AssertionPattern() string {
	var patterns []string
	for _, f := range forms() {
		patterns = append(patterns, f.grammar.String())
	}
	return regexp.MustCompile(`\(\?P<\w+>`).ReplaceAllString(strings.Join(patterns, "|"), "(")
}

// A windowRule says when on the wall clock tasks start.
type windowRule struct {
	chosen string
	window Window
	zone   *time.Location // nil: the zone of each task
	days   Days

	never bool // on these days the tasks start only outside the window; else they start only inside it
	each  bool // the tasks also start at least once in the window of each of these days
}

func newWindowRule(words map[string]string) (rule, error) {
	r, err := readWindowRule(words)
	r.each = words["days"] != ""
	return r, err
}

func newNeverRule(words map[string]string) (rule, error) {
	r, err := readWindowRule(words)
	r.never = true
	return r, err
}

// readWindowRule reads the words that both forms of a windowRule have.
func readWindowRule(words map[string]string) (r windowRule, err error) {
	r.chosen = words["chosen"]
	r.window = Window{From: minuteOfDay(words["from"]), To: minuteOfDay(words["to"])}
	if zone := words["zone"]; zone != "" {
		if r.zone, err = time.LoadLocation(zone); err != nil {
			return r, fmt.Errorf("%s is no time zone", zone)
		}
	}
	switch day := words["days"]; day {
	case "", "day":
	case "weekday":
		r.days = Weekdays
	default:
		for d := time.Sunday; d <= time.Saturday; d++ {
			if d.String() == day {
				r.days = 1 << d
			}
		}
	}
	return r, nil
}

// minuteOfDay reads a time of day such as 5:30, which the grammar has checked.
func minuteOfDay(text string) int {
	hour, minute, _ := strings.Cut(text, ":")
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	return h*60 + m
}

// An orderRule says that each start of a task comes after a start of another one: on the same day
// in the zone of the task, or at most a duration later.
type orderRule struct {
	task, before string
	within       time.Duration // 0: on the same day
}

func newOrderRule(words map[string]string) (rule, error) {
	r := orderRule{task: words["task"], before: words["before"]}
	var err error
	if words["span"] != "" {
		r.within, err = positive(words["span"])
	}
	return r, err
}

// longestCounted is the longest span of a countRule: a proof remembers all starts of one.
const longestCounted = 31 * 24 * time.Hour

// A countRule bounds how many runs of some tasks start in any span of a length.
type countRule struct {
	chosen string
	most   int
	length time.Duration
	words  string // the length as the file has it
}

func newCountRule(words map[string]string) (rule, error) {
	most, err := strconv.Atoi(words["count"])
	if err != nil {
		return nil, err
	}
	length, err := spanOf(words)
	if err == nil && length > longestCounted {
		err = fmt.Errorf("starts are counted in 31 days at most, not in %s", words["span"])
	}
	text := cmp.Or(words["span"], "one "+words["unit"])
	return countRule{chosen: words["chosen"], most: most, length: length, words: text}, err
}

// A gapRule bounds how much time passes from one start of a task to the next: a duration, or a
// number of days of the calendar, so that a weekly task has 7 also when the clocks change.
type gapRule struct {
	chosen  string
	longest time.Duration
	days    int    // in place of longest
	words   string // both as the file has them
}

func newGapRule(words map[string]string) (rule, error) {
	r := gapRule{chosen: words["chosen"], words: cmp.Or(words["span"], words["unit"])}
	var err error
	switch {
	case words["daycount"] != "":
		r.words = words["daycount"] + " days"
		r.days, err = strconv.Atoi(words["daycount"])
	case words["unit"] == "day":
		r.days = 1
	default:
		r.longest, err = spanOf(words)
	}
	return r, err
}

// spanOf reads a length of time, as a unit or as a duration.
func spanOf(words map[string]string) (time.Duration, error) {
	units := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}
	if unit, ok := units[words["unit"]]; ok {
		return unit, nil
	}
	return positive(words["span"])
}

func positive(text string) (time.Duration, error) {
	d, err := yamldoc.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s is not a duration", text)
	}
	return d, nil
}
