// Package every reads a frequency in words, such as "weekdays at 8:00": the values of `every:`. The
// words are one phrase, read without regard to case, plural and fillers:
//
//	phrase    = frequency ["from" date] ["on" days] ["at" times]      the clauses in any order
//	frequency = "second" | "minute" | "hour" | "day" | "week" | "month" | "quarter" | "year"
//	          | number unit                          count.go: 5 minutes, 2 hours
//	          | "odd" "hours"
//	          | weekday {"," weekday}                monday, friday; weekdays; weekends
//	          | monthday {"," monthday} "of" ("month" | "quarter")    read.go: first monday of month
//	          | workday                              workday.go: last working day of month
//	date      = YYYY-MM-DD                           count.go: after days and weeks
//	days      = weekday {"," weekday}                after week: 2 weeks on monday from 2026-01-05
//	          | monthday {"," monthday}              after month and quarter: 1, 16; last day
//	          | number month | month number          after year: 1 June
//	times     = time {"," time}                      8:00, 19:30; after hours :15, :45
//
// read.go reads the elements of clauses. The tables of words are at the end of this file.
// Each phrase becomes texts of cron expressions. A phrase that counts from a date also becomes days
// or an interval.
package every

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/schedule/calendar"
	"sched/schedule/cron"
	"sched/schedule/humanize"
)

// everyForms lists examples of all forms. It is the hint if no shorter hint helps.
const everyForms = `the forms are "5 minutes", "hour at :17", "2 hours at :15", "odd hours", "day at 13:00, 19:30", ` +
	`"weekdays at 8:00", "monday, friday at 8:00", "week on monday", "month on 1, 16 at 13:00", ` +
	`"month on last day", "first monday of month", "quarter on 4 at 14:00", "year on 1 June at 17:00", ` +
	`"last working day of month", ` +
	`"2 weeks from 2026-01-05 at 8:00", "90 minutes from 2026-01-05 06:00", "boot" and "hand"`

// A frequency is what a phrase says. Its cron expressions are not checked yet: 30 February passes.
type frequency struct {
	crons []string // the cron expressions that it stands for; with days the times of day of each due day
	days  int      // from one due day to the next, if days are counted from a date; 0 if the expressions say the days
	words string   // how often that is: "2 weeks"; empty if days is 0

	// interval is the elapsed time from one due instant to the next, if minutes or hours are
	// counted from `from`; else 0.
	interval time.Duration

	nths []calendar.Nth // the working days that are due; nil if no working days are counted

	starts []time.Time // the first due days of days
	from   time.Time   // the start of interval, on the wall clock, as if that were UTC
}

// readPhrase is readFrequency without hints that have the whole phrase.
func readPhrase(text string) (frequency, error) {
	p, err := splitPhrase(text)
	if err != nil {
		return frequency{}, err
	}
	if p.joinWorkday() {
		return p.workday()
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
			return p, cron.NewError("%q comes twice", word)
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
			return p, cron.NewError("nothing follows %q", word)
		}
	}
	if len(p.period) == 0 {
		return p, cron.NewError("no frequency in it").SetHint(everyForms)
	}
	if p.period[0] == "other" && len(p.period) > 1 { // every other week
		p.period[0] = "2"
	}
	of := slices.Index(p.period, "of")
	if _, working := workdayWords(p.period); of >= 0 && !working {
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
	switch n, isNumber := humanize.Digits(first); {
	case isNumber:
		return p.counted(n)
	case len(calendar.WeekdayWords()[first]) > 0:
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
	if whole := strings.Join(words, " "); !ok && (whole == "half hour" || whole == "half an hour") {
		e := cron.NewError("%q is not a word for a frequency", "half").SetHint("did you mean %q?", "30 minutes")
		return "", &unknownError{e, whole, "30 minutes"}
	}
	if !ok {
		return "", unknownWordError(words[0])
	}
	if len(words) > 1 {
		e := cron.NewError("%q cannot follow %q", words[1], words[0])
		if whole := p.withAt(words, unit); whole != "" {
			return "", e.SetHint("write %q", whole)
		}
		return "", e.SetHint(everyForms)
	}
	return unit, nil
}

// withAt returns the phrase "day at 3:00" for "day 3:00"; "" if it would not be understood. words
// are the unit and what follows it, at the end of the period.
func (p phrase) withAt(words []string, unit string) string {
	times := timesOf(words[1:])
	if unit == "hour" {
		times = minutesOf(words[1:])
	}
	if times == "" || p.on != nil || p.at != nil {
		return ""
	}
	whole := strings.Join(p.period[:len(p.period)-len(words)+1], " ") + " at " + times
	if _, err := readPhrase(whole); err != nil {
		return ""
	}
	return whole
}

// refuse returns an error if the phrase has one of the clauses, each "on" or "at".
func (p phrase) refuse(clauses ...string) error {
	for _, clause := range clauses {
		if clause == "on" && p.on != nil || clause == "at" && p.at != nil {
			return cron.NewError("%q does not go with %q", clause, strings.Join(p.period, " ")).SetHint(everyForms)
		}
	}
	return nil
}

// bare returns cron for a frequency that has neither an "on" nor an "at".
func (p phrase) bare(text string) ([]string, error) {
	return []string{text}, p.refuse("on", "at")
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

// joinWorkday makes "last working day of month" of "month on last working day". It reports whether
// the phrase is about working days.
func (p *phrase) joinWorkday() bool {
	period, isWorkday := workdayWords(p.period)
	on, isOn := workdayWords(p.on)
	switch {
	case isOn:
		p.period, p.on = slices.Concat(on, []string{"of"}, period), nil
	case isWorkday:
		p.period = period
	}
	return isOn || isWorkday
}

// workday reads a phrase about working days.
func (p phrase) workday() (f frequency, err error) {
	if err := p.refuse("on"); err != nil {
		return f, err
	}
	if p.from != nil {
		e := cron.NewError(`"from" does not go with working days, which the calendar counts`)
		return f, e.SetHint("write `from: DATE` in the task, beside `every:`")
	}
	if f.nths, err = readWorkdays(p.period); err == nil {
		f.crons, err = p.daily("* * *")
	}
	return f, err
}

// weekdays reads names: "monday, wednesday and friday", "weekdays".
func (p phrase) weekdays(names []string) ([]string, error) {
	if err := p.refuseNumbers(names); err != nil {
		return nil, err
	}
	lists, err := eachOf(names, readWeekdays)
	if err != nil {
		return nil, err
	}
	days := ascending(slices.Concat(lists...))
	text := joinNumbers(days)
	if slices.Equal(days, calendar.WeekdayWords()["weekday"]) {
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
		"noon": "day at 12:00", "midday": "day at 12:00",
		"manual": cron.ByHand, "manually": cron.ByHand, "by": cron.ByHand, "demand": cron.ByHand, "never": cron.ByHand,
		"h": "hours", "hr": "hours", "hrs": "hours", "d": "day", "w": "week",
	}
})

// An unknownError is about an unknown word. If it can, readFrequency replaces its hint by the whole
// phrase.
type unknownError struct {
	err         *cron.Error
	word, meant string // neither is empty
}

func (e *unknownError) Error() string { return e.err.Text }

// unknownWordError returns the error about a word that we do not know, with a hint at the word that
// was probably meant.
func unknownWordError(word string) error {
	e := cron.NewError("%q is not a word for a frequency", word)
	letters := strings.TrimLeft(word, "0123456789")
	number := strings.TrimSuffix(word, letters)
	meant := foreignWords()[letters]
	if meant == "" {
		meant = nearestWord(letters)
	}
	switch {
	case phraseFor(word) != "":
		return &unknownError{e.SetHint("did you mean %q?", phraseFor(word)), word, phraseFor(word)}
	case word == "boot":
		return cron.NewError("%q stands alone", word).SetHint("write boot: the first tick after each boot")
	case word == cron.ByHand:
		return cron.NewError("%q stands alone", word).SetHint("write hand: only people start the task")
	case strings.HasPrefix(word, "*-") || strings.HasPrefix(word, "*:"):
		return e.SetHint(`times of systemd are written in words: "day at 4:00", "weekday at 9:00", "15 minutes"`)
	case strings.ContainsAny(word, "*@"):
		return e.SetHint("write it under cron: instead")
	case meant == "":
		return e.SetHint(everyForms)
	case number == "1":
		one := strings.TrimSuffix(meant, "s")
		return &unknownError{e.SetHint("did you mean %q?", one), word, one}
	case number != "":
		return &unknownError{e.SetHint(`did you mean "%s %s"?`, number, meant), word, number + " " + meant}
	}
	return &unknownError{e.SetHint("did you mean %q?", meant), word, meant}
}

// nearestWord returns the unit or weekday at most two letters away (one if word is short), or "".
func nearestWord(word string) (nearest string) {
	ours := slices.AppendSeq(slices.Collect(maps.Keys(unitWords())), maps.Keys(calendar.WeekdayWords()))
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

// counted returns the cron expressions of "5 minutes" and "2 hours at :15". n is the number that
// the period begins with.
func (p phrase) counted(n int) ([]string, error) {
	if len(p.period) == 1 {
		number := p.period[0]
		return nil, cron.NewError("%q lacks a unit", number).SetHint("write \"%s minutes\", for example", number)
	}
	switch n {
	case 0:
		return nil, neverDueError(p.period)
	case 1:
		p.period = p.period[1:]
		return p.crons()
	}
	if len(calendar.WeekdayWords()[p.period[1]]) > 0 {
		return nil, p.uncountableError(n, p.period[1])
	}
	unit, err := p.unit(p.period[1:])
	if err != nil {
		return nil, err
	}
	c, ok := countable[unit]
	switch {
	case !ok:
		return nil, p.uncountableError(n, unit)
	case c.perLarger%n != 0 && unit == "second" && evenSeconds(n) != nil:
		return evenSeconds(n), p.refuse("on", "at")
	case c.perLarger%n != 0:
		return nil, c.indivisibleError(n, unit)
	case unit == "hour" && n == c.perLarger:
		return p.hours("0")
	case unit == "hour":
		return p.hours(fmt.Sprintf("*/%d", n))
	case n == c.perLarger:
		return p.bare(c.larger)
	}
	return p.bare(fmt.Sprintf(c.step, n))
}

// daysOfMonth proposes a cron expression for every n days at the times of the phrase; "" if one
// expression cannot have them.
func (p phrase) daysOfMonth(n int) string {
	texts, err := p.daily(fmt.Sprintf("*/%d * *", n))
	if err != nil || len(texts) != 1 {
		return ""
	}
	return fmt.Sprintf(`; or cron: "%s", which restarts at each month`, texts[0])
}

// uncountableError returns the error about "2 weeks": an expression cannot say which weeks these
// are.
func (p phrase) uncountableError(n int, unit string) error {
	unit = strings.TrimSuffix(unit, "s")
	counted := func(unit, from string) string {
		text := fmt.Sprintf("%d %ss from %s", n, unit, from)
		if on := strings.Join(p.on, " "); on != "" {
			text = fmt.Sprintf("%d %ss on %s from %s", n, unit, strings.ReplaceAll(on, " ,", ","), from)
		}
		if p.at != nil {
			text += " at " + strings.ReplaceAll(strings.Join(p.at, " "), " ,", ",")
		}
		return text
	}
	weekdays := calendar.WeekdayWords()[unit]
	e := cron.NewError("%d %ss cannot be told from the calendar alone", n, unit)
	switch {
	case unit == "day" && n < 31:
		e.SetHint(`write "%s", with a day on which it is due%s`, counted(unit, exampleDate), p.daysOfMonth(n))
	case unit == "day" || unit == "week":
		e.SetHint(`write "%s", with a day on which it is due`, counted(unit, exampleDate))
	case len(weekdays) == 1 && n == 2:
		text := strings.Replace(counted(unit, exampleOf(weekdays[0])), "2 "+unit+"s", "other "+unit, 1)
		e.SetHint(`write "%s", with the date of a %s on which it is due`, text, unit)
	case len(weekdays) == 1:
		e.SetHint(`write "%s", with the date of a %s on which it is due`, counted("week", exampleOf(weekdays[0])), unit)
	case unit == "month" && n == 3:
		e.SetHint("write quarter")
	case unit == "month" && n <= 12:
		e.SetHint(`write cron: "0 0 1 */%d *", which restarts at each year`, n)
	default:
		e.SetHint(everyForms)
	}
	return e
}

// cycle reads a phrase with a "from" that counts days or weeks.
func (p phrase) cycle() (f frequency, err error) {
	if len(p.period) > 1 && len(calendar.WeekdayWords()[p.period[1]]) > 0 && p.on == nil { // other friday
		p.period, p.on = []string{p.period[0], "weeks"}, p.period[1:]
	}
	if f.words, f.days, err = p.cycleLength(); err != nil {
		return frequency{}, err
	}
	from, err := readStart(strings.Join(p.from, " "))
	if err != nil {
		return frequency{}, err
	}
	f.starts = []time.Time{from}
	if _, unit := p.multiple(); unit == "week" && p.on != nil {
		if err := p.refuseNumbers(p.on); err != nil {
			return frequency{}, err
		}
		lists, err := eachOf(p.on, readWeekdays)
		if err != nil {
			return frequency{}, err
		}
		f.starts, p.on = nil, nil
		for _, weekday := range ascending(slices.Concat(lists...)) {
			start := from.AddDate(0, 0, (weekday+6)%7-(int(from.Weekday())+6)%7) // in the week of from
			if start.Before(from) {
				start = start.AddDate(0, 0, f.days)
			}
			f.starts = append(f.starts, start)
		}
	}
	f.crons, err = p.everyDay()
	return f, err
}

// cycleLength reads "2 weeks", "week" or "10 days", and returns it in days and in these words.
func (p phrase) cycleLength() (words string, days int, err error) {
	n, unit := p.multiple()
	if n == 0 {
		return "", 0, neverDueError(p.period)
	}
	days = n
	switch unit {
	case "day": // n is the number of days
	case "week":
		days = 7 * n
	default:
		return "", 0, notCountedFromDateError(p.period, unit)
	}
	if days > maxCycle {
		return "", 0, cron.NewError("%s is longer than ten years", strings.Join(p.period, " ")).
			SetHint(`write cron: "0 0 1 6 *" for a date in each year`)
	}
	if n > 1 {
		return fmt.Sprintf("%d %ss", n, unit), days, nil
	}
	return unit, days, nil
}

// multiple reads "2 weeks" or "week" as a number of units. For other words the unit is empty.
func (p phrase) multiple() (n int, unit string) {
	words := p.period
	n, counted := humanize.Digits(words[0])
	if counted {
		words = words[1:]
	} else {
		n = 1
	}
	if len(words) == 1 {
		unit = unitWords()[words[0]]
	}
	return n, unit
}

// interval reads a phrase that counts minutes or hours from an instant. It reports false for a
// phrase that counts something else.
func (p phrase) interval() (f frequency, ok bool, err error) {
	n, unit := p.multiple()
	size := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour}[unit]
	switch {
	case size == 0:
		return f, false, nil
	case n == 0:
		return f, true, neverDueError(p.period)
	case n > int(maxCycle*24*time.Hour/size):
		return f, true, cron.NewError("%s is longer than ten years", strings.Join(p.period, " "))
	}
	f.interval = time.Duration(n) * size
	f.from, err = p.instant()
	return f, true, err
}

// instant reads the date and the time from which an interval is counted: 2026-01-05 06:00. Without
// a time it is midnight.
func (p phrase) instant() (time.Time, error) {
	if err := p.refuse("on"); err != nil {
		return time.Time{}, err
	}
	words := slices.Concat(p.from, p.at)
	day, err := readStart(words[0])
	if err != nil {
		return time.Time{}, err
	}
	switch {
	case len(words) == 1:
		return day, nil
	case len(words) > 2:
		e := cron.NewError("%q is not one date and one time", strings.Join(words, " "))
		return time.Time{}, e.SetHint("write %s 06:00", exampleDate)
	}
	clock, err := time.Parse("15:04", words[1])
	if err != nil {
		return time.Time{}, cron.NewError("%q is not a time of the day", words[1]).SetHint("write %s 06:00", words[0])
	}
	return day.Add(time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute), nil
}

// monthly reads the days of a month or quarter. The argument is the text of the month field.
func (p phrase) monthly(months string) ([]string, error) {
	if p.on == nil {
		p.on = []string{"1"}
	}
	days, err := eachOf(spreadWeekday(p.on), readMonthDay)
	if wrong, ok := errors.AsType[*cron.Error](err); ok && months != "*" { // no last day of a quarter
		first, _, _ := strings.Cut(wrong.Hint, " or ")
		wrong.Hint = strings.ReplaceAll(first, "of month", "of quarter")
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(days, func(a, b monthDay) int { return cmp.Compare(a.order, b.order) })
	var fields [2][]string
	for _, day := range days {
		if months != "*" && strings.HasPrefix(day.words, "last ") {
			return nil, p.lastOfQuarterError(day)
		}
		if !slices.Contains(fields[day.field], day.text) {
			fields[day.field] = append(fields[day.field], day.text)
		}
	}
	field := func(pos int) string { return cmp.Or(strings.Join(fields[pos], ","), "*") }
	return p.daily(field(inDayField) + " " + months + " " + field(inWeekdayField))
}

// lastOfQuarterError returns the error about "quarter on last day": that is in the last month of
// the quarter, and other days are counted in the first.
func (p phrase) lastOfQuarterError(day monthDay) error {
	text := "0 0 " + day.text + " 3,6,9,12 *"
	if day.field == inWeekdayField {
		text = "0 0 * 3,6,9,12 " + day.text
	}
	return cron.NewError("%q does not go with %q", day.words, strings.Join(p.period, " ")).
		SetHint("write cron: %q for the %s of a quarter", text, day.words)
}

// ofMonth makes "month on first monday" of "first monday of month", whose "of" is the word at an
// index.
func (p *phrase) ofMonth(of int) error {
	days, month := p.period[:of], p.period[of+1:]
	switch {
	case p.on != nil:
		e := cron.NewError(`"of" and "on" do not go together`)
		return e.SetHint(`write "first monday of month" or "month on first monday"`)
	case len(days) == 0:
		return cron.NewError(`nothing comes before "of"`).SetHint(`write "first monday of month"`)
	case len(month) == 0:
		return cron.NewError(`nothing follows "of"`).SetHint(`write "%s of month"`, strings.Join(days, " "))
	}
	unit := unitWords()[month[0]]
	if len(month) > 1 || unit != "month" && unit != "quarter" {
		return cron.NewError(`"of" is followed by month or quarter, not by %q`, strings.Join(month, " ")).
			SetHint(`write cron: "0 0 * 6 1#1" for the first Monday of June`)
	}
	p.period, p.on = month, days
	return nil
}

// ordinalWithoutMonthError returns the error about "first monday", with a hint at what may be
// meant.
func (p phrase) ordinalWithoutMonthError() error {
	ordinal, name := p.period[0], p.period[1]
	n := 1 + slices.Index(ordinalWords, ordinal)
	isNumber := n > 1 && ordinal != "last"
	weekdays := len(calendar.WeekdayWords()[name])
	isDay := weekdays == 1 || !isNumber && (weekdays > 0 || name == "day")
	switch {
	case !isDay && isNumber: // "second minute"
		if _, err := p.counted(n); err != nil {
			return err
		}
		e := cron.NewError("%q is not understood", ordinal+" "+name)
		return e.SetHint(`write "%d %ss"`, n, strings.TrimSuffix(name, "s"))
	case !isDay: // "first minute"
		return cron.NewError("%q is not understood", ordinal+" "+name).SetHint(everyForms)
	}
	e := cron.NewError("%q lacks its month", ordinal+" "+name).SetHint(`write "%s %s of month"`, ordinal, name)
	if isNumber { // "second monday"
		e.Hint += fmt.Sprintf(`, or "%d weeks from %s" for every %s week from a day on`, n, exampleDate, ordinal)
	}
	return e
}

// notCountedFromDateError returns the error about "5 minutes from 2026-01-05" and "month from
// 2026-01-05".
func notCountedFromDateError(period []string, unit string) error {
	if last := period[len(period)-1]; len(period) == 2 && unit == "" && len(calendar.WeekdayWords()[last]) == 0 {
		return unknownWordError(last)
	}
	words := strings.Join(period, " ")
	e := cron.NewError("%q is not counted from a date: only minutes, hours, days and weeks are", words)
	if onDate[unit] != "" {
		return e.SetHint("write %q", onDate[unit])
	}
	return e.SetHint(`write "2 weeks from %s" or "10 days from %s"`, exampleDate, exampleDate)
}

// refuseNumbers returns an error if days of the week are written as numbers of cron, with the
// phrase that has their names.
func (p phrase) refuseNumbers(days []string) error {
	i := slices.IndexFunc(days, weekdayNumbers().MatchString)
	if i < 0 {
		return nil
	}
	e := cron.NewError("%q is not a day of the week", days[i])
	var names []string
	for element := range strings.SplitSeq(strings.Join(days, " "), ",") {
		names = append(names, weekdaysOf([]string{strings.TrimSpace(element)})...)
	}
	whole := strings.Join(names, ", ")
	if p.on != nil {
		whole = strings.Join(p.period, " ") + " on " + whole
	}
	if p.from != nil {
		whole += " from " + strings.Join(p.from, " ")
	}
	if p.at != nil {
		whole += " at " + strings.ReplaceAll(strings.Join(p.at, " "), " ,", ",")
	}
	if slices.ContainsFunc(names, weekdayNumbers().MatchString) {
		return e.SetHint(`days have names: "week on monday, friday"`)
	}
	return e.SetHint("did you mean %q?", whole)
}

// readWeekdays reads monday, weekdays or weekends. Sunday is 0.
func readWeekdays(text string) ([]int, error) {
	if days := calendar.WeekdayWords()[text]; days != nil {
		return days, nil
	}
	first, rest, several := strings.Cut(text, " ")
	if several && len(calendar.WeekdayWords()[first]) > 0 {
		if times := timesOf([]string{rest}); times != "" {
			return nil, cron.NewError("%q cannot follow %q", rest, first).SetHint(`write "%s at %s"`, first, times)
		}
		return nil, cron.NewError("%q cannot follow %q", rest, first).
			SetHint(`put commas between days, and "at" before the time`)
	}
	return nil, unknownWordError(first)
}
