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

// ParseAssertion reads an assertion. Whether its tasks exist is for Schedule.Prove.
func ParseAssertion(text string, place Place) (Assertion, error) {
	a := Assertion{Text: text, Place: place}
	for _, f := range forms() {
		match := f.grammar.FindStringSubmatch(text)
		if match == nil {
			continue
		}
		words := map[string]string{}
		for i, name := range f.grammar.SubexpNames() {
			words[name] = match[i]
		}
		var err error
		a.rule, err = f.newRule(words)
		return a, err
	}
	return a, fmt.Errorf("%q has none of the forms of an assertion", text)
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

// A dailyWindow is a part of the day, and the days on which it begins.
type dailyWindow struct {
	tasks  string
	window Window
	zone   *time.Location // nil: the zone of each task
	days   Days           // zero for every day
}

// A windowRule says that tasks start only inside a window. If onEachDay is true, they also start at
// least once in the window of each of its days.
type windowRule struct {
	dailyWindow
	onEachDay bool
}

func newWindowRule(words map[string]string) (rule, error) {
	w, err := newDailyWindow(words)
	return windowRule{dailyWindow: w, onEachDay: words["days"] != ""}, err
}

// A neverRule says that tasks start only outside a window.
type neverRule struct{ dailyWindow }

func newNeverRule(words map[string]string) (rule, error) {
	w, err := newDailyWindow(words)
	return neverRule{dailyWindow: w}, err
}

func newDailyWindow(words map[string]string) (w dailyWindow, err error) {
	w.tasks = words["tasks"]
	w.window = Window{From: minuteOfDay(words["from"]), To: minuteOfDay(words["to"])}
	if zone := words["zone"]; zone != "" {
		if w.zone, err = time.LoadLocation(zone); err != nil {
			return w, fmt.Errorf("%s is no time zone", zone)
		}
	}
	switch name := words["days"]; name {
	case "", "day":
	case "weekday":
		w.days = Weekdays
	default:
		for day := time.Sunday; day <= time.Saturday; day++ {
			if day.String() == name {
				w.days = 1 << day
			}
		}
	}
	return w, nil
}

// minuteOfDay reads a time of day such as 5:30, which the grammar has checked.
func minuteOfDay(text string) int {
	at, _ := time.Parse("15:04", text)
	return at.Hour()*60 + at.Minute()
}

// An orderRule says that each start of the task second comes after a start of the task first: on
// the same day in the zone of second, or at most a duration later.
type orderRule struct {
	first, second string
	within        time.Duration // 0: on the same day
}

func newOrderRule(words map[string]string) (rule, error) {
	r := orderRule{first: words["first"], second: words["second"]}
	var err error
	if words["length"] != "" {
		r.within, err = readLength(words)
	}
	return r, err
}

// maxCountedSpan is the longest span of a countRule: a proof keeps all starts of such a span in
// memory.
const maxCountedSpan = 31 * 24 * time.Hour

// A countRule limits how many runs of some tasks may start within any span of this length.
type countRule struct {
	tasks  string
	most   int
	length time.Duration
	text   string // the length as the file has it
}

func newCountRule(words map[string]string) (rule, error) {
	most, err := strconv.Atoi(words["count"])
	if err != nil {
		return nil, err
	}
	length, err := readLength(words)
	if err == nil && length > maxCountedSpan {
		err = fmt.Errorf("starts are counted in 31 days at most, not in %s", words["length"])
	}
	text := cmp.Or(words["length"], "one "+words["unit"])
	return countRule{tasks: words["tasks"], most: most, length: length, text: text}, err
}

// A gapRule limits the time from one start of a task to the next: a duration, or a number of days
// of the calendar. Days of the calendar fit a weekly task also when the clocks change.
type gapRule struct {
	tasks   string
	longest time.Duration
	days    int    // in place of longest
	text    string // both as the file has them
}

func newGapRule(words map[string]string) (rule, error) {
	r := gapRule{tasks: words["tasks"], text: cmp.Or(words["length"], words["unit"])}
	var err error
	switch {
	case words["daycount"] != "":
		r.text = words["daycount"] + " days"
		r.days, err = strconv.Atoi(words["daycount"])
	case words["unit"] == "day":
		r.days = 1
	default:
		r.longest, err = readLength(words)
	}
	return r, err
}

// readLength reads a length of time, as a unit or as a duration.
func readLength(words map[string]string) (time.Duration, error) {
	switch words["unit"] {
	case "minute":
		return time.Minute, nil
	case "hour":
		return time.Hour, nil
	case "day":
		return 24 * time.Hour, nil
	}
	d, err := yamldoc.ParseDuration(words["length"])
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s is not a duration", words["length"])
	}
	return d, nil
}
