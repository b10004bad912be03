package cron

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adhocore/gronx"

	"sched/schedule/calendar"
	"sched/schedule/humanize"
)

// AtBoot stands for a boot in the place of an expression.
const AtBoot = "@reboot"

// ByHand is the text of every: for a task that has no times on purpose, because people start it.
const ByHand = "hand"

// An Expression is a valid cron expression of 5 fields, or of 6 with leading seconds. It may also
// be days from a date (Cycle), a Workday, or an Interval. The zero Expression is never due.
//
// It follows the rules of crontab(5) and Vixie cron, with L, W and # as in Quartz and H as in
// Jenkins. An Expression may be copied, compared with ==, and used concurrently.
type Expression struct {
	text     string
	times    times
	dates    dates
	interval interval // if not zero, it alone decides when the expression is due
	cycle    cycle    // if not zero, it decides in place of dates which days are meant
	nth      calendar.Nth
	rule     *calendar.Rule // makes days that are due of days that are meant; nil: they are the same
	stepBoth bool           // see StepBothDays
	fixed    bool           // neither minute nor hour starts with *: daylight saving must not lose this job (when.go)
}

// String returns the expression with macros and H resolved. Parse reads it as an equal Expression,
// and every.Parse does so for words.
func (c Expression) String() string { return c.text }

// BothDays reports whether day and weekday are both restricted, so that either is enough.
func (c Expression) BothDays() bool { return c.dates.either }

// StepBothDays reports whether a day field such as */2 stands beside another restriction of days.
// Both must match then, unlike in Laravel.
func (c Expression) StepBothDays() bool { return c.stepBoth }

// IsInterval reports whether elapsed time decides, and not days.
func (c Expression) IsInterval() bool { return c.interval.every > 0 }

// hasDate reports whether c has a due day in 28 years, after which the calendar repeats.
func (c *Expression) hasDate() bool {
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	to := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	_, ok := c.dates.next(dayOf(from), dayOf(to-1))
	return ok
}

// The search goes over the wall clock. Its seconds, here called wall seconds, are counted as if the
// wall clock were UTC, so a search meets neither gaps nor repeated hours. when.go maps wall
// seconds to instants.

// next returns the first wall second of [from, to) at which c is due.
func (c *Expression) next(from, to int64) (int64, bool) {
	for from < to {
		day, ok := c.nextDay(dayOf(from), dayOf(to-1))
		if !ok {
			break
		}
		midnight := day * daySeconds
		if second, ok := c.times.next(max(from-midnight, 0)); ok {
			return midnight + second, midnight+second < to
		}
		from = midnight + daySeconds
	}
	return 0, false
}

func (c *Expression) nextDay(day, last int64) (int64, bool) {
	if c.rule == nil {
		return c.meant(day, last)
	}
	return c.rule.Next(day, last, c.meant)
}

func (c *Expression) meant(day, last int64) (int64, bool) {
	switch {
	case c.nth.N != 0:
		return c.nth.Next(c.rule.Days(), day, last)
	case c.cycle.days > 0:
		return c.cycle.next(day, last)
	}
	return c.dates.next(day, last)
}

// compare compares each field but the seconds with a wall time.
func (c *Expression) compare(wall time.Time) []Field {
	day := dayOf(wall.Unix())
	if text, isDue := c.rule.Explain(day, c.nth, c.meant); text != "" {
		return c.compareDate(wall, c.text, 0, isDue, text)
	}
	if c.cycle.days > 0 {
		words, _, _ := strings.Cut(c.text, " at ")
		since := day - c.cycle.first
		return c.compareDate(wall, words, int(since), since >= 0 && since%c.cycle.days == 0, c.cycle.why(since))
	}
	words := strings.Fields(c.text)
	words = words[len(words)-5:]
	field := func(pos, value int, matches bool) Field {
		return Field{Name: cronFields[pos].name, Text: words[pos-minuteField], Value: value, Matches: matches}
	}
	m, inMonth := monthOf(day)
	return []Field{
		field(minuteField, wall.Minute(), c.times.minutes.has(wall.Minute())),
		field(hourField, wall.Hour(), c.times.hours.has(wall.Hour())),
		field(dayField, inMonth, c.dates.days.in(m).has(inMonth)),
		field(monthField, m.number, c.dates.months.has(m.number)),
		field(weekdayField, int(wall.Weekday()), c.dates.weekdays.in(m).has(inMonth)),
	}
}

// Interval returns the expression that is due every so many whole minutes of elapsed time from a
// wall time on, which is written as if it were UTC.
func Interval(every time.Duration, from time.Time) Expression {
	v := interval{int64(every / time.Second), from.Unix()}
	return Expression{text: v.String(), interval: v}
}

// Cycle returns the expression that is due at the times of day of c, every so many days from a date
// on. The words say how often that is: "2 weeks".
func (c Expression) Cycle(days int, words string, from time.Time) Expression {
	c.cycle = cycle{int64(days), from.Unix() / daySeconds}
	c.text = words + " from " + c.cycle.startText() + c.times.atTimes()
	return c
}

// Workday returns the expression that is due at the times of day of c, on a working day.
func (c Expression) Workday(nth calendar.Nth) Expression {
	c.nth, c.text = nth, nth.String()+c.times.atTimes()
	return c
}

// compareDate compares the fields for the time of day, and the date as the last arguments say.
func (c *Expression) compareDate(wall time.Time, words string, value int, isDue bool, comparison string) []Field {
	field := func(pos, value int, due set) Field {
		return Field{Name: cronFields[pos].name, Text: due.String(), Value: value, Matches: due.has(value)}
	}
	return []Field{
		field(minuteField, wall.Minute(), c.times.minutes),
		field(hourField, wall.Hour(), c.times.hours),
		{Name: "date", Text: words, Value: value, Matches: isDue, comparison: comparison},
	}
}

// Parse reads a cron expression or a macro such as @daily. Each H becomes a number made from seed,
// the task's name, the same in every version of sched. An expression that can never be due is an
// error. Every error is an *Error.
func Parse(text, seed string) (Expression, error) {
	words, err := splitCron(text)
	if err != nil {
		return Expression{}, err
	}
	fields := canonicalFields{secondField: "0"} // five fields mean second 0
	first, last := len(fields)-len(words), len(words)-1
	weekday, needsBoth := strings.CutPrefix(words[last], "+") // as in the Open Cron Pattern Specification
	words[last] = weekday
	for i, word := range words {
		f := &cronFields[first+i]
		if words[i], err = f.resolve(word, seed); err != nil {
			return Expression{}, err
		}
		if fields[first+i], err = f.canonical(words[i]); err != nil {
			return Expression{}, yearHint(err, words)
		}
	}
	if needsBoth {
		words[last] = "+" + words[last]
	}
	c := Expression{
		text:     strings.Join(words, " "),
		stepBoth: fields.stepBothDays() && !needsBoth,
		fixed:    !fields.starred(minuteField) && !fields.starred(hourField),
	}
	c.times, c.dates = shared.compile(&fields)
	c.dates.either = c.dates.either && !needsBoth
	if (needsBoth || !fields.clearlyHasDate()) && !c.hasDate() {
		return Expression{}, fields.impossible(words)
	}
	return c, nil
}

// canonicalFields are the fields of an expression from second to weekday, in the form that
// cronField.canonical returns.
type canonicalFields [6]string

// starred reports whether a field starts with *, as Vixie cron does: */2 is starred, 1-5,* is not.
func (fields *canonicalFields) starred(pos int) bool { return fields[pos][0] == '*' }

func (fields *canonicalFields) bothDays() bool {
	return !fields.starred(dayField) && !fields.starred(weekdayField)
}

func (fields *canonicalFields) stepBothDays() bool {
	free := func(pos int) bool { return fields[pos] == "*" || fields[pos] == "*/1" }
	return !free(dayField) && !free(weekdayField) && !fields.bothDays()
}

// clearlyHasDate reports whether the texts show that some date matches. If not, hasDate decides.
func (fields *canonicalFields) clearlyHasDate() bool {
	days, months, weekdays := fields[dayField], fields[monthField], fields[weekdayField]
	n, isNumber := humanize.Digits(days)
	return fields.bothDays() || days == "*" || weekdays == "*" && (months == "*" || isNumber && n <= 28)
}

const handHint = "if only people start the task, write `every: hand`"

// impossible returns the error about an expression that no date matches, in the words of its
// writer.
func (fields *canonicalFields) impossible(words []string) error {
	words = words[len(words)-3:]
	if fields[weekdayField] == "*" {
		return NewError("can never be due: day %s never comes in month %s", words[0], words[1]).
			SetHint("the last day of a month is L, its last working day LW; " + handHint)
	}
	return NewError("can never be due: day %s of month %s is never on weekday %s", words[0], words[1], words[2]).
		SetHint(handHint)
}

// macros are the macros of crontab(5) and of gronx. @reboot is no time: see When.Boot.
var macros = sync.OnceValue(func() map[string]string {
	return map[string]string{
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
})

func splitCron(text string) ([]string, error) {
	words := strings.Fields(text)
	if len(words) > 0 && words[0][0] == '@' {
		return splitMacro(strings.Join(words, " "))
	}
	if strings.Trim(text, plainSigns) != "" {
		if err := foreignTextError(words); err != nil {
			return nil, err
		}
	}
	if err := shiftedError(words); err != nil {
		return nil, err
	}
	if n := len(words); n > 5 && !endsInYear(words) && isCommand(words[5:]) {
		return nil, NewError("%q is no field", strings.Join(words[5:], " ")).
			SetHint("the command of a crontab line has its own key, command:, and the user before it user:")
	} else if n != 5 && n != 6 {
		return nil, wrongCountError(n)
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
	return len(words) > 1 && calendar.WeekdayWords()[first] == nil &&
		strings.ContainsFunc(first, func(r rune) bool { return 'a' <= r && r <= 'z' })
}

// splitMacro returns the fields that a macro stands for. Macros are known in any case.
func splitMacro(name string) ([]string, error) {
	lower := strings.ToLower(name)
	if expr, ok := macros()[lower]; ok {
		return strings.Fields(expr), nil
	}
	if lower == AtBoot {
		return nil, NewError("%s is no time", name).SetHint("in a schedule write `every: boot`")
	} else if span, found := strings.CutPrefix(lower, "@every"); found {
		words := humanize.EveryOf(span, "5 minutes")
		return nil, NewError("macro %q is not known", name).
			SetHint(`write it in words instead: "every: %s"; or ask sched explain --as robfig`, words)
	}
	return nil, NewError("macro %q is not known", name).
		SetHint("%s", humanize.MacroHint(lower))
}

var (
	quotedTimes  = humanize.Pattern(`^(?:"(.*)"|'(.*)'|` + "`(.*)`" + `|“(.*)”|‘(.*)’)$`)
	awsCron      = humanize.Pattern(`(?i)^cron\((.*)\)$`)
	awsRate      = humanize.Pattern(`(?i)^rate\((.*)\)$`)
	commentAfter = humanize.Pattern(`^(.*\S) #`)
	keyBefore    = humanize.Pattern(`(?i)^(?:- ?)?(?:cron|schedule): ?["']?([^"']*)["']?$`)
	everyTime    = humanize.Pattern(`(?i)^every (.*)$`)
	zoneName     = humanize.Pattern(`^[A-Z][a-z]+/[A-Z][A-Za-z_/]+$`)
)

// typedByHand has for signs that word processors and web pages write those that are meant.
var typedByHand = strings.NewReplacer(
	"–", "-", "—", "-", "−", "-", "‐", "-", "‑", "-", "∗", "*", "＊", "*", "，", ",", "／", "/")

// plainSigns are signs of fields. foreignTextError takes offence at none of them, and most texts
// have no other signs.
const plainSigns = "0123456789*/,-? "

// foreignTextError returns the error about a text that holds more than the fields, as other files
// have it: quotes, a key, a comment, a time zone, or a function of AWS EventBridge; or signs that
// only look like signs of a field. For any other text it returns nil.
func foreignTextError(words []string) error {
	text := strings.Join(words, " ")
	if found := quotedTimes().FindStringSubmatch(text); found != nil {
		return NewError("the times stand in quotes").SetHint("write %s", strings.TrimSpace(strings.Join(found[1:], "")))
	}
	if found := awsCron().FindStringSubmatch(text); found != nil {
		return NewError("cron(…) is for AWS EventBridge, whose last field is the year").
			SetHint("write its first five fields alone, * for ?, and names for weekdays: its weekday 1 is SUN")
	}
	if found := awsRate().FindStringSubmatch(text); found != nil {
		return NewError("rate(…) is for AWS EventBridge").SetHint("write `every: %s` in place of cron", found[1])
	}
	if found := keyBefore().FindStringSubmatch(text); found != nil {
		return NewError("a key stands before the times").SetHint("write %s", found[1])
	}
	if found := everyTime().FindStringSubmatch(text); found != nil {
		return NewError("these are words and no fields").SetHint("write `every: %s` in place of cron", found[1])
	}
	if typed := typedByHand.Replace(text); typed != text {
		return NewError("a sign only looks like one of the keyboard, as word processors write it").
			SetHint("write %s", typed)
	}
	if found := commentAfter().FindStringSubmatch(text); found != nil {
		return NewError("a comment stands behind the times").
			SetHint("write %s, and the comment outside the quotes", found[1])
	}
	for _, word := range words {
		if strings.Contains(word, "TZ=") || zoneName().MatchString(word) {
			return NewError("%q is no field", word).SetHint("the time zone has its own key, timezone:")
		}
	}
	return nil
}

// shiftedError returns the error about fields with a ? in the place of the month: they begin with
// another field, or end with another one. For any other fields it returns nil.
func shiftedError(words []string) error {
	switch {
	case len(words) == 6 && words[4] == "?":
		return NewError("6 fields, as AWS EventBridge has them, whose last one is the year").
			SetHint("write the first five alone, * for ?, and names for weekdays: its weekday 1 is SUN")
	case len(words) == 5 && words[3] == "?":
		return NewError("the first field is the second, as Quartz and Spring have it").
			SetHint("`sched explain --as quartz` or --as spring writes the five fields: to Quartz weekday 1 is SUN")
	}
	return nil
}

func wrongCountError(n int) error {
	const need = "needs 5 (minute hour day month weekday), or 6 with leading seconds"
	switch n {
	case 0:
		return NewError("is empty, " + need)
	case 1:
		return NewError("1 field, " + need)
	case 4:
		return NewError("a field is missing: 4 fields, " + need)
	case 7:
		return NewError("7 fields, as Quartz has them, " + need).
			SetHint("`sched explain --as quartz` writes the line without the year: to Quartz weekday 1 is SUN")
	}
	return NewError("%d fields, "+need, n)
}

var yearOfSeven = humanize.Pattern(`^(?:\*|\d{4}\S*)$`)

// endsInYear reports whether the words are the seven fields of Quartz, whose last one is the year.
func endsInYear(words []string) bool { return len(words) == 7 && yearOfSeven().MatchString(words[6]) }

// yearHint adds a hint to err if six fields end with a year instead of starting with a second.
func yearHint(err error, words []string) error {
	e, ok := err.(*Error)
	if last := words[len(words)-1]; ok && e.Hint == "" && len(words) == 6 && len(last) == 4 {
		if n, isNumber := humanize.Digits(last); isNumber && n > 1900 {
			e.SetHint("the first of 6 fields is the second, and there is no field for the year")
		}
	}
	return err
}

// gronx decides which values of a field are due. Nothing else uses it. A search reads sets.
// Parse makes the sets of seconds, minutes, hours and months. A set of days is made when a month of
// its shape is first needed. gronx evaluates one field at one time. Its IsDue and NextTickAfter do
// not follow crontab(5).
//
// All expressions of the process share the sets, which are never dropped.

// A compiler turns fields into sets, and keeps the sets for expressions with the same fields. Safe
// for concurrent use.
type compiler struct {
	mu     sync.Mutex
	values map[fieldText]set       // by element of a list; not for the day fields
	days   map[fieldText]*dayTable // by text of a field; for the day fields only
}

// A fieldText is a text in the field at a position.
type fieldText struct {
	pos  int
	text string
}

// shared is the compiler of Parse.
var shared = compiler{values: map[fieldText]set{}, days: map[fieldText]*dayTable{}}

// compile returns the times and dates that match the fields. The same text of a day field always
// gives the same table, so that expressions can be compared with ==.
func (c *compiler) compile(fields *canonicalFields) (times, dates) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := times{c.valuesOf(fields, secondField), c.valuesOf(fields, minuteField), c.valuesOf(fields, hourField)}
	d := dates{
		months: c.valuesOf(fields, monthField),
		days:   c.daysOf(fields, dayField), weekdays: c.daysOf(fields, weekdayField),
		either: fields.bothDays(),
	}
	return t, d
}

// valuesOf returns the due values of a field other than a day field. The caller holds c.mu.
func (c *compiler) valuesOf(fields *canonicalFields, pos int) (due set) {
	for element := range strings.SplitSeq(fields[pos], ",") {
		values, ok := c.values[fieldText{pos, element}]
		if !ok {
			values = evaluateValues(element, pos)
			c.values[fieldText{pos, element}] = values
		}
		due |= values
	}
	return due
}

// daysOf returns the table of a day field. The caller holds c.mu.
func (c *compiler) daysOf(fields *canonicalFields, pos int) *dayTable {
	field := fieldText{pos, fields[pos]}
	table, ok := c.days[field]
	if !ok {
		table = &dayTable{fieldText: field}
		c.days[field] = table
	}
	return table
}

// evaluateValues returns the due values of an element of a field other than a day field.
func evaluateValues(element string, pos int) (due set) {
	if number, err := strconv.Atoi(element); err == nil {
		return 1 << number // gronx says so, too, once it was asked about sixty values
	}
	f := &cronFields[pos]
	for v := f.min; v <= f.max; v++ {
		clock := [len(cronFields)]int{dayField: 1, monthField: 1}
		clock[pos] = v
		at := time.Date(2000, time.Month(clock[monthField]), clock[dayField],
			clock[hourField], clock[minuteField], clock[secondField], 0, time.UTC)
		if evaluate(element, pos, at) {
			due |= 1 << v
		}
	}
	return due
}

// evaluate reports whether gronx takes a field in canonical form to be due at a time in UTC.
func evaluate(text string, pos int, at time.Time) bool {
	var checker gronx.SegmentChecker
	checker.SetRef(at)
	due, _ := checker.CheckDue(text, pos)
	return due
}

// dates are the days that match the fields for day, month and weekday.
type dates struct {
	months         set
	days, weekdays *dayTable
	either         bool // both day fields are restricted, so one of them is enough
}

// in returns the due days of a month, from 1. It joins the day fields as Vixie cron does: if one of
// them starts with *, both must match, else one is enough.
func (d dates) in(m month) set {
	if !d.months.has(m.number) {
		return 0
	}
	if d.either {
		return d.days.in(m) | d.weekdays.in(m)
	}
	return d.days.in(m) & d.weekdays.in(m)
}

// next returns the first due day from one day through another.
func (d dates) next(day, last int64) (int64, bool) {
	for day <= last {
		m, inMonth := monthOf(day)
		if due, ok := d.in(m).from(inMonth); ok {
			return m.day(due), m.day(due) <= last
		}
		day = m.day(m.length + 1)
	}
	return 0, false
}

// A dayTable holds the due days of a day field for each shape of a month, evaluated when first
// needed. Safe for concurrent use: several goroutines that need one entry each evaluate it, and
// find the same.
type dayTable struct {
	fieldText
	entries [shapes]atomic.Uint64 // a set, which also has the value 0 once it is evaluated
}

func (t *dayTable) in(m month) set {
	const evaluated = 1
	entry := &t.entries[m.shape()]
	if due := entry.Load(); due != 0 {
		return set(due &^ evaluated)
	}
	due := t.evaluate(m)
	entry.Store(uint64(due | evaluated))
	return due
}

// evaluate is in without the table. gronx lacks LW, the last working day, and L-3.
func (t *dayTable) evaluate(m month) (due set) {
	text := strings.ReplaceAll(t.text, "LW", strconv.Itoa(m.length)+"W")
	for n := 1; strings.Contains(text, "L-"); n++ {
		day := strconv.Itoa(max(m.length-n, 0)) // no month has a day 0
		text = strings.ReplaceAll(","+text+",", ",L-"+strconv.Itoa(n)+",", ","+day+",")
		text = strings.Trim(text, ",")
	}
	for day := 1; day <= m.length; day++ {
		if evaluate(text, t.pos, wallTime(m.day(day)*daySeconds)) {
			due |= 1 << day
		}
	}
	return due
}
