package cron

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
)

// A cronField is the grammar of one of the six fields of an expression:
//
//	field   = element {"," element} | "?"             ? in the day fields only
//	element = ("*" | range) ["/" step] | day form     see readDayForm
//	range   = value ["-" value]
//	value   = number | name                           a name of a month or a weekday, in any case
//
// resolve replaces H before this grammar is applied.
type cronField struct {
	name     string
	pos      int
	min, max int
	stepEnd  int // the end of a step without one: 1/2 is 1-stepEnd/2; 6 for weekdays, because 7 is Sunday again

	names    []string // of min, min+1, …; nil if the field has no names
	nameSpan string   // the names as people read them: JAN-DEC
}

var cronFields = [6]cronField{
	{name: "second", pos: secondField, min: 0, max: 59, stepEnd: 59},
	{name: "minute", pos: minuteField, min: 0, max: 59, stepEnd: 59},
	{name: "hour", pos: hourField, min: 0, max: 23, stepEnd: 23},
	{name: "day", pos: dayField, min: 1, max: 31, stepEnd: 31},
	{
		name: "month", pos: monthField, min: 1, max: 12, stepEnd: 12,
		names:    []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"},
		nameSpan: "JAN-DEC",
	},
	{
		name: "weekday", pos: weekdayField, min: 0, max: 7, stepEnd: 6,
		names:    []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"},
		nameSpan: "MON-SUN",
	},
}

// canonical checks a field and returns it as gronx reads it: * for ?, numbers for names, steps with
// an end, Sunday as 0 except at the end of a range.
func (f *cronField) canonical(text string) (string, error) {
	if text == "?" && f.isDays() {
		return "*", nil
	}
	elements := strings.Split(text, ",")
	for i, element := range elements {
		if element == "" {
			return "", NewError("%s %q has an empty element", f.name, text).
				SetHint("a list has one comma between two elements, and no spaces")
		}
		var err error
		if elements[i], err = f.readElement(element); err != nil {
			return "", err
		}
	}
	return strings.Join(elements, ","), nil
}

func (f *cronField) isDays() bool { return f.pos == dayField || f.pos == weekdayField }

// readElement returns the canonical form of *, 5, 1-5, */15, 5/15, 1-5/2 or one of the day forms.
func (f *cronField) readElement(element string) (string, error) {
	if f.isDays() {
		if form, err := f.readDayForm(element); form != "" || err != nil {
			return form, err
		}
	}
	body, stepText, hasStep := strings.Cut(element, "/")
	stepSuffix := "" // the step with its slash
	if hasStep {
		step, err := f.readStep(stepText, element, body)
		if err != nil {
			return "", err
		}
		stepSuffix = "/" + strconv.Itoa(step)
	}
	if body == "*" {
		return body + stepSuffix, nil
	}
	low, high, err := f.readBounds(body, element, hasStep)
	if err != nil {
		return "", err
	}
	if low == high && !hasStep {
		return strconv.Itoa(low), nil
	}
	return strconv.Itoa(low) + "-" + strconv.Itoa(high) + stepSuffix, nil
}

// readStep reads the step after the slash. A step past the field's range is surely a mistake.
func (f *cronField) readStep(text, element, body string) (int, error) {
	n, ok := humanize.Digits(text)
	if !ok {
		return 0, NewError("%s step %q in %q is not a number", f.name, text, element)
	}
	if n >= 1 && n <= f.max {
		return n, nil
	}
	e := NewError("%s step %s is not in 1-%d", f.name, text, f.max)
	if body == "*" && n > 0 {
		return 0, e.SetHint("%s would be %d alone; write that, or a step that fits", element, f.min)
	}
	return 0, e
}

// readBounds reads 5 or 1-5, which is the body of element. A single value with a step runs to the
// end of the field.
func (f *cronField) readBounds(body, element string, hasStep bool) (low, high int, err error) {
	lowText, highText, isRange := strings.Cut(body, "-")
	if low, err = f.readValue(lowText, element); err != nil {
		return 0, 0, err
	}
	switch {
	case isRange:
		if high, err = f.readValue(highText, element); err != nil {
			return 0, 0, err
		}
		low, high = f.sundays(low, high)
	default:
		low, high = f.sundays(low, low)
		if hasStep {
			high = f.stepEnd
		}
	}
	if low > high {
		e := f.backwardsError(lowText, highText, low, high)
		if hasStep {
			e.Hint = "" // the steps would start anew in the second half
		}
		return 0, 0, e
	}
	return low, high, nil
}

// sundays returns the bounds, with Sunday as 7 at the end of a range and as 0 everywhere else.
func (f *cronField) sundays(low, high int) (int, int) {
	if f.pos != weekdayField {
		return low, high
	}
	if low == 7 {
		low, high = 0, high%7
	}
	if low > 0 && high == 0 {
		high = 7
	}
	return low, high
}

// readValue reads a number or a name of the field. The element that holds it is for the error.
func (f *cronField) readValue(text, element string) (int, error) {
	if n, ok := humanize.Digits(text); ok {
		if n < f.min || n > f.max {
			return 0, f.outOfRangeError(text, n)
		}
		return n, nil
	}
	if len(text) == 3 {
		for i, name := range f.names {
			if strings.EqualFold(text, name) {
				return f.min + i, nil
			}
		}
	}
	return 0, f.unknownError(text, element)
}

// nameOf returns the name of a value. The field has names.
func (f *cronField) nameOf(n int) string { return f.names[(n-f.min)%len(f.names)] }

// A set holds values of a field, a bit for each: minutes 0 to 59, days 1 to 31.
type set uint64

func (s set) has(v int) bool { return s>>v&1 == 1 }

// from returns the smallest value of the set that is v or larger.
func (s set) from(v int) (int, bool) {
	rest := s &^ (1<<v - 1)
	return bits.TrailingZeros64(uint64(rest)), rest != 0
}

// first returns the smallest value of a set that is not empty.
func (s set) first() int { return bits.TrailingZeros64(uint64(s)) }

// String lists the values in ascending order, as a field of a cron expression does: "0,15,30".
func (s set) String() string {
	var values []string
	for v, ok := s.from(0); ok; v, ok = s.from(v + 1) {
		values = append(values, strconv.Itoa(v))
	}
	return strings.Join(values, ",")
}

// The day fields have forms of their own, as in Quartz:
//
//	day     = "L" ["-" number]         the last day of the month, or so many days before it
//	        | "LW"                     its last working day
//	        | number "W"               its working day nearest to a day
//	weekday = value ["#"] "L"          the last Friday of the month
//	        | value "#" ("1" … "5")    its second Monday
//
// A working day is Monday to Friday, and the one nearest to a day is of the same month.

// readDayForm reads one of these forms and returns its canonical form. It returns "" for any other
// element.
func (f *cronField) readDayForm(element string) (string, error) {
	if f.pos == dayField {
		return f.readMonthDayForm(element)
	}
	return f.readWeekdayForm(element)
}

func (f *cronField) readMonthDayForm(element string) (string, error) {
	if !strings.ContainsAny(element, "LlWw") {
		return "", nil
	}
	upper := strings.ToUpper(element)
	switch {
	case upper == "L" || upper == "LW":
		return upper, nil
	case upper == "WL":
		return "", NewError("day %q is not known", element).SetHint("write LW")
	case strings.HasPrefix(upper, "L-"):
		n, err := f.readValue(upper[2:], element)
		return "L-" + strconv.Itoa(min(n, 30)), err
	}
	number, after, _ := strings.Cut(upper, "W")
	if _, ok := humanize.Digits(number); !ok || after != "" {
		return "", NewError("day %q is not known: L stands alone and W follows one number", element).
			SetHint("L is the last day, LW the last working day, 15W the working day nearest to the 15th")
	}
	n, err := f.readValue(number, element)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(n) + "W", nil
}

func (f *cronField) readWeekdayForm(element string) (string, error) {
	if day, nth, found := strings.Cut(element, "#"); found && !strings.EqualFold(nth, "L") {
		n, err := f.readValue(day, element)
		if err != nil {
			return "", err
		}
		if week, ok := humanize.Digits(nth); !ok || week < 1 || week > 5 {
			return "", NewError("week %q in %q is not in 1-5", nth, element)
		}
		return strconv.Itoa(n%7) + "#" + strings.TrimLeft(nth, "0"), nil
	}
	day, last := strings.CutSuffix(element, "L")
	if !last {
		day, last = strings.CutSuffix(element, "l")
	}
	day = strings.TrimSuffix(day, "#")
	switch {
	case !last:
		return "", nil
	case day == "":
		return "", NewError("weekday %q needs a day", element).
			SetHint("5L or FRIL is the last Friday of the month; L in the day field is its last day")
	}
	n, err := f.readValue(day, element)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(n%7) + "L", nil
}

// resolve replaces each H of a field, as in Jenkins: H and H(0-29) by a number made from the seed,
// H/15 by steps from such a number. A seed must give the same number in every version of sched:
// otherwise a job would run again after an update, or not at all.
func (f *cronField) resolve(text, seed string) (string, error) {
	if !strings.ContainsAny(text, "Hh") {
		return text, nil
	}
	elements := strings.Split(text, ",")
	for i, element := range elements {
		after, isHash := strings.CutPrefix(element, "H")
		if !isHash {
			after, isHash = strings.CutPrefix(element, "h")
		}
		if !isHash || after != "" && after[0] != '/' && after[0] != '(' {
			continue
		}
		var err error
		if elements[i], err = f.hashed(after, element, seed); err != nil {
			return "", err
		}
	}
	return strings.Join(elements, ","), nil
}

// hashed returns what an element that begins with H stands for. after is the text behind the H: "",
// "/15", "(0-29)" or "(0-29)/10".
func (f *cronField) hashed(after, element, seed string) (string, error) {
	low, high := f.min, f.stepEnd
	if f.pos == dayField {
		high = 28 // every month has it
	}
	if inner, isRange := strings.CutPrefix(after, "("); isRange {
		bounds, rest, closed := strings.Cut(inner, ")")
		if !closed || !strings.Contains(bounds, "-") || rest != "" && rest[0] != '/' {
			e := NewError("%s %q is not understood", f.name, element)
			return "", e.SetHint("write %s or %[1]s/%d", f.half(), f.max/6+1)
		}
		var err error
		if low, high, err = f.readBounds(bounds, element, true); err != nil { // true: as for a step
			return "", err
		}
		after = rest
	}
	if after == "" {
		return fmt.Sprint(low + f.hash(seed, high-low+1)), nil
	}
	step, err := f.readStep(after[1:], element, "H")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d-%d/%d", low+f.hash(seed, min(step, high-low+1)), high, step), nil
}

// half is an example of an H in a range: the first half of the field.
func (f *cronField) half() string { return fmt.Sprintf("H(%d-%d)", f.min, (f.min+f.max)/2) }

// hash returns a number from 0 to n-1. It spreads seeds evenly, and gives one seed another number
// in each field.
func (f *cronField) hash(seed string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(f.name + "\x00" + seed))
	sum := h.Sum64()
	return int((sum ^ sum>>32) % uint64(n))
}

// backwardsError returns the error about a range such as FRI-MON. Its hint is to write FRI-SUN,MON.
func (f *cronField) backwardsError(lowText, highText string, low, high int) *Error {
	bottom := f.min
	if f.pos == weekdayField {
		bottom = 1 // the first half already ends with Sunday
	}
	text := strconv.Itoa
	if _, isNumber := humanize.Digits(lowText); !isNumber {
		text = f.nameOf
	}
	first, second := lowText+"-"+text(f.max), text(bottom)+"-"+highText
	if low == f.max {
		first = lowText
	}
	if high == bottom {
		second = highText
	}
	return NewError("%s range %s-%s runs backwards", f.name, lowText, highText).
		SetHint("write %s,%s", first, second)
}

func (f *cronField) outOfRangeError(text string, n int) error {
	e := NewError("%s %s is not in %d-%d", f.name, text, f.min, f.max)
	switch {
	case f.pos == hourField && n == 24:
		e.SetHint("midnight is hour 0")
	case f.pos == minuteField && n == 60:
		e.SetHint("the full hour is minute 0")
	}
	return e
}

// unknownError returns the error about a text that is neither a number nor a name of the field.
func (f *cronField) unknownError(text, element string) error {
	if text == "" {
		return NewError("%s %q lacks a number", f.name, element)
	}
	e := NewError("%s %q is not a number in %d-%d", f.name, text, f.min, f.max)
	if f.names != nil {
		e.Text += " or a name in " + f.nameSpan
		if len(text) > 3 {
			if n, err := f.readValue(text[:3], text[:3]); err == nil {
				return e.SetHint("write %s", f.nameOf(n))
			}
		}
	}
	switch {
	case text == "?" && f.isDays():
		e.Text = f.name + " ? must stand alone"
	case text == "?":
		e.SetHint("? is for the day fields only; write *")
	case strings.Contains(text, "~"):
		e.SetHint("a number that is always the same, but not the same for all tasks, is H, and %s in a range", f.half())
	case text == "*":
		e.Text = NewError("%s %q: * takes a step and nothing else", f.name, element).Text
	case text == "H" || text == "h":
		e.Text = NewError("%s %q: H takes no range after it", f.name, element).Text
		e.SetHint("write %s for a number in a range", f.half())
	case f.pos == weekdayField && text[0] > '9':
		e.SetHint("%s", humanize.WeekdayHint(text))
	}
	return e
}

// The positions of the fields, which are also gronx's.
const (
	secondField = iota
	minuteField
	hourField
	dayField
	monthField
	weekdayField
)

// A Field is one field of an expression, compared with the wall clock.
type Field struct {
	Name    string // minute, hour, day, month, weekday, date or interval
	Text    string // of the expression
	Value   int    // of the clock; Sunday is 0; a date in days from the first, an interval in minutes from its start
	Matches bool

	comparison string // in words, for a date or an interval; else ""
}

// String compares the field with the clock in words: "minute 5 is not in */10".
func (f Field) String() string {
	if f.comparison != "" {
		return f.comparison
	}
	verb := "is"
	if !f.Matches {
		verb = "is not"
	}
	meaning := f.meaning()
	if meaning != "" {
		meaning = ", " + meaning
	}
	return fmt.Sprintf("%s %s in %s%s", f.value(), verb, f.Text, meaning)
}

// value returns what the clock shows, as people say it: "minute 5", "March", "Saturday".
func (f Field) value() string {
	switch f.Name {
	case "month":
		return time.Month(f.Value).String()
	case "weekday":
		return time.Weekday(f.Value).String()
	}
	return f.Name + " " + strconv.Itoa(f.Value)
}

// meaning explains L, W, # and the numbers of weekdays. It returns "" for a text that needs no
// explanation.
func (f Field) meaning() string {
	text := strings.ToUpper(f.Text)
	switch {
	case f.Name == "day" && text == "L":
		return "the last day of the month"
	case f.Name == "day" && strings.HasPrefix(text, "L-") && !strings.Contains(text, ","):
		return "the day " + text[2:] + " before the last of the month"
	case f.Name == "day" && text == "LW":
		return "the last working day of the month"
	case f.Name == "day" && strings.HasSuffix(text, "W") && !strings.Contains(text, ","):
		return "the working day nearest to day " + strings.TrimSuffix(text, "W")
	case f.Name == "weekday":
		return weekdayMeaning(strings.TrimPrefix(text, "+"))
	}
	return ""
}

// weekdayMeaning is meaning for the text of a weekday, in upper case.
func weekdayMeaning(text string) string {
	name := func(text string) string {
		n, err := cronFields[weekdayField].readValue(text, text)
		if err != nil {
			return ""
		}
		return time.Weekday(n % 7).String()
	}
	if day, last := strings.CutSuffix(text, "L"); last && name(strings.TrimSuffix(day, "#")) != "" {
		return "the last " + name(strings.TrimSuffix(day, "#")) + " of the month"
	}
	if day, nth, ok := strings.Cut(text, "#"); ok && name(day) != "" {
		return name(day) + " number " + nth + " of the month"
	}
	if from, to, ok := strings.Cut(text, "-"); ok && len(from) == 1 && len(to) == 1 {
		return name(from) + " to " + name(to)
	}
	if len(text) == 1 && text != "*" {
		return name(text)
	}
	return ""
}

// An Error says what is wrong with a frequency or a cron expression. Text quotes the wrong part
// alone. Hint says what to write instead; it may be empty.
type Error struct{ Text, Hint string }

// Error returns the text without the hint.
func (e *Error) Error() string { return e.Text }

// SetHint sets what to write instead, and returns e.
func (e *Error) SetHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// NewError returns an Error without a hint.
func NewError(format string, args ...any) *Error {
	return &Error{Text: fmt.Sprintf(format, args...)}
}
