package cron

import (
	"math/bits"
	"strconv"
	"strings"
)

// A cronField is the grammar of one of the six fields of an expression:
//
//	field   = element {"," element} | "?"             ? in the day fields only
//	element = ("*" | range) ["/" step] | day form     field_days.go has the day forms
//	range   = value ["-" value]
//	value   = number | name                           a name of a month or a weekday, in any case
//
// field_hash.go replaces H before this grammar is applied.
type cronField struct {
	name     string
	pos      int
	min, max int
	top      int // the end of a step without one: 1/2 is 1-top/2. 6 for weekdays, because 7 is another number of Sunday

	names    []string // of min, min+1, …; nil if the field has no names
	nameSpan string   // the names as people read them: JAN-DEC
}

// cronFields are the six fields, by position.
var cronFields = [6]cronField{
	{name: "second", pos: secondField, min: 0, max: 59, top: 59},
	{name: "minute", pos: minuteField, min: 0, max: 59, top: 59},
	{name: "hour", pos: hourField, min: 0, max: 23, top: 23},
	{name: "day", pos: dayField, min: 1, max: 31, top: 31},
	{name: "month", pos: monthField, min: 1, max: 12, top: 12,
		names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}, nameSpan: "JAN-DEC"},
	{name: "weekday", pos: weekdayField, min: 0, max: 7, top: 6,
		names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}, nameSpan: "MON-SUN"},
}

// canonical checks a field and returns it as gronx reads it: * for ?, numbers for names, steps with
// an end, Sunday as 0 except at the end of a range.
func (f *cronField) canonical(text string) (string, error) {
	if text == "?" && f.isDays() {
		return "*", nil
	}
	var space [64]byte
	out := space[:0]
	for rest, more := text, true; more; {
		var element string
		element, rest, more = strings.Cut(rest, ",")
		if element == "" {
			return "", wrong("%s %q has an empty element", f.name, text).
				SetHint("a list has one comma between two elements, and no spaces")
		}
		var err error
		if out, err = f.element(out, element); err != nil {
			return "", err
		}
		if more {
			out = append(out, ',')
		}
	}
	if string(out) == text { // nearly always; saves the copy
		return text, nil
	}
	return string(out), nil
}

// isDays reports whether f is one of the two day fields.
func (f *cronField) isDays() bool { return f.pos == dayField || f.pos == weekdayField }

// element appends the canonical form of *, 5, 1-5, */15, 5/15, 1-5/2 or one of the day forms to
// out.
func (f *cronField) element(out []byte, element string) ([]byte, error) {
	if f.isDays() {
		if form, err := f.dayForm(element); form != "" || err != nil {
			return append(out, form...), err
		}
	}
	body, stepText, stepped := strings.Cut(element, "/")
	step := 0
	if stepped {
		var err error
		if step, err = f.step(stepText, element, body); err != nil {
			return nil, err
		}
	}
	if body == "*" {
		return appendStep(append(out, '*'), step), nil
	}
	low, high, err := f.bounds(body, element, stepped)
	if err != nil {
		return nil, err
	}
	out = strconv.AppendInt(out, int64(low), 10)
	if low != high || stepped {
		out = strconv.AppendInt(append(out, '-'), int64(high), 10)
	}
	return appendStep(out, step), nil
}

// appendStep appends a step to out; 0 means no step.
func appendStep(out []byte, step int) []byte {
	if step == 0 {
		return out
	}
	return strconv.AppendInt(append(out, '/'), int64(step), 10)
}

// step reads the step after the slash. A step past the field's range is surely a mistake.
func (f *cronField) step(text, element, body string) (int, error) {
	n, ok := digits(text)
	if !ok {
		return 0, wrong("%s step %q in %q is not a number", f.name, text, element)
	}
	if n >= 1 && n <= f.max {
		return n, nil
	}
	e := wrong("%s step %s is not in 1-%d", f.name, text, f.max)
	if body == "*" && n > 0 {
		return 0, e.SetHint("%s would be %d alone; write that, or a step that fits", element, f.min)
	}
	return 0, e
}

// bounds reads 5 or 1-5, which is the body of element. A single value with a step runs to the end
// of the field.
func (f *cronField) bounds(body, element string, stepped bool) (low, high int, err error) {
	lowText, highText, isRange := strings.Cut(body, "-")
	if low, err = f.value(lowText, element); err != nil {
		return 0, 0, err
	}
	switch {
	case isRange:
		if high, err = f.value(highText, element); err != nil {
			return 0, 0, err
		}
		low, high = f.sundays(low, high)
	default:
		low, high = f.sundays(low, low)
		if stepped {
			high = f.top
		}
	}
	if low > high {
		e := f.backwards(lowText, highText, low, high)
		if stepped {
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

// value reads a number or a name of the field. The element that holds it is for the error.
func (f *cronField) value(text, element string) (int, error) {
	if n, ok := digits(text); ok {
		if n < f.min || n > f.max {
			return 0, f.outOfRange(text, n)
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
	return 0, f.unknown(text, element)
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

func (s set) below(v int) set { return s & (1<<v - 1) }

func (s set) len() int { return bits.OnesCount64(uint64(s)) }

// String lists the values in ascending order, as a field of a cron expression does: "0,15,30".
func (s set) String() string {
	var values []string
	for v, ok := s.from(0); ok; v, ok = s.from(v + 1) {
		values = append(values, strconv.Itoa(v))
	}
	return strings.Join(values, ",")
}
