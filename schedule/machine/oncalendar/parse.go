package oncalendar

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A parser reads one expression.
type parser struct{ Spec }

// shorthands are words that stand for expressions.
var shorthands = [][2]string{
	{"minutely", "*-*-* *:*:00"}, {"hourly", "*-*-* *:00:00"}, {"daily", "*-*-* 00:00:00"},
	{"weekly", "Mon *-*-* 00:00:00"}, {"monthly", "*-*-01 00:00:00"}, {"quarterly", "*-01,04,07,10-01 00:00:00"},
	{"semiannually", halfYears}, {"semi-annually", halfYears}, {"biannually", halfYears}, {"bi-annually", halfYears},
	{"annually", years}, {"yearly", years}, {"anually", years},
}

const halfYears, years = "*-01,07-01 00:00:00", "*-01-01 00:00:00"

// Parse reads a calendar expression. local is the zone of an expression that names no zone.
func Parse(text string, local *time.Location) (Spec, error) {
	p := &parser{Spec{zone: local}}
	rest, zone := text, text[strings.LastIndexByte(text, ' ')+1:]
	if isZone(zone) && len(zone) < len(text) {
		p.zone, _ = time.LoadLocation(zone)
		p.named = zone
		rest = strings.TrimRight(strings.TrimSuffix(text, zone), " ")
	}
	for _, short := range shorthands {
		if strings.EqualFold(rest, short[0]) {
			rest = short[1]
		}
	}
	var err error
	switch {
	case strings.HasPrefix(rest, "@"):
		err = p.readEpoch(rest[1:])
	case rest == "":
		err = errors.New("it is empty")
	case strings.Contains(zone, "/") && p.named == "" && zone[0] >= 'A':
		err = fmt.Errorf("there is no time zone %s", zone)
	default:
		if rest, err = p.readWeekdays(rest); err == nil {
			err = p.readDateAndTime(rest)
		}
	}
	if err != nil {
		return Spec{}, fmt.Errorf("%q is no calendar expression of systemd: %w", text, err)
	}
	return p.Spec, nil
}

// isZone reports whether a word names a time zone.
func isZone(word string) bool {
	_, err := time.LoadLocation(word)
	return word != "" && word != "Local" && err == nil
}

// readEpoch reads the seconds since 1970.
func (p *parser) readEpoch(text string) error {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no number of seconds since 1970", text)
	}
	t := time.Unix(seconds, 0).UTC()
	p.zone, p.named = time.UTC, "UTC"
	for i, value := range wallOf(t) {
		one := span{first: value, last: -1}
		if !p.isValid(i, 0, one) {
			return fmt.Errorf("%s is out of range", text)
		}
		p.fields[i] = field{one}
	}
	return nil
}

// cutDay cuts a weekday off the beginning, in full or its first three letters.
func cutDay(text string) (index int, rest string, ok bool) {
	for i, name := range days {
		for _, form := range []string{name, name[:3]} {
			if len(text) >= len(form) && strings.EqualFold(text[:len(form)], form) {
				return i, text[len(form):], true
			}
		}
	}
	return 0, text, false
}

// readWeekdays reads weekdays at the beginning: Mon..Fri,Sun.
func (p *parser) readWeekdays(text string) (rest string, err error) {
	first, rest, ok := cutDay(text)
	for ok {
		last := first
		after, isRange := strings.CutPrefix(rest, "..")
		if !isRange {
			after, isRange = strings.CutPrefix(rest, "-")
		}
		if isRange {
			if last, rest, ok = cutDay(after); !ok || last < first {
				return "", errors.New("its weekdays are no range")
			}
		}
		for i := first; i <= last; i++ {
			p.weekdays[i] = true
		}
		if rest, ok = strings.CutPrefix(rest, ","); ok {
			first, rest, ok = cutDay(rest)
		}
		if !ok && rest != "" && rest[0] != ' ' {
			return "", fmt.Errorf("%q is no weekday", rest)
		}
	}
	return strings.TrimLeft(rest, " "), nil
}

// readDateAndTime reads what follows the weekdays. Without a date each day counts, without a time
// midnight.
func (p *parser) readDateAndTime(text string) error {
	date, clock, hasBoth := strings.Cut(text, " ")
	clock = strings.TrimLeft(clock, " ")
	switch {
	case !hasBoth && strings.Contains(text, ":"):
		date, clock = "", text
	case !hasBoth || clock == "":
		clock = "00:00"
	}
	if date != "" {
		if err := p.readDate(date); err != nil {
			return err
		}
	}
	parts := strings.Split(clock, ":")
	if len(parts) == 2 {
		parts = append(parts, "00")
	}
	if len(parts) != 3 {
		return fmt.Errorf("%q is no time", clock)
	}
	return p.readFields(hour, parts)
}

// readDate reads a date: YEAR-MONTH-DAY or MONTH-DAY, with ~ in place of the last - to count days
// from the end.
func (p *parser) readDate(text string) error {
	if at := strings.LastIndexByte(text, '~'); at >= 0 {
		p.fromEnd = true
		text = text[:at] + "-" + text[at+1:]
	}
	parts := strings.Split(text, "-")
	if len(parts) == 2 {
		parts = append([]string{"*"}, parts...)
	}
	if len(parts) != 3 {
		return fmt.Errorf("%q is no date", text)
	}
	return p.readFields(year, parts)
}

// readFields reads three fields.
func (p *parser) readFields(from int, parts []string) (err error) {
	for i, part := range parts {
		if p.fields[from+i], err = p.readField(from+i, part); err != nil {
			return err
		}
	}
	return nil
}

// readField reads a list of values, ranges and steps.
func (p *parser) readField(index int, text string) (all field, err error) {
	if text == "*" && index == second {
		return field{{0, -1, perSecond}}, nil
	}
	if text == "*" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		one, err := p.readSpan(index, part)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(a.first-b.first, a.last-b.last, a.step-b.step) })
	for i, one := range all {
		if !p.isValid(index, i, one) {
			return nil, fmt.Errorf("%s is out of range", text)
		}
	}
	return all, nil
}

// isValid reports whether the values of the i-th span of a field exist, and its step leads to a
// second value. Days that count from the end go to 28, which each month has, and for each further
// span systemd takes three days less.
func (p *parser) isValid(index, i int, one span) bool {
	low, high := lows[index], highs[index]
	counted := index == day && p.fromEnd
	if counted {
		high = 28 - 3*i
	}
	switch {
	case one.first < low || one.first > high || one.step > high-low:
		return false
	case one.last >= 0:
		return one.last <= high
	case counted && one.step > 0:
		return one.first-one.step >= low
	}
	return one.first+one.step <= high
}

// readSpan reads 5, 5..9, 5/2 or 5..9/2. A range ends at the last value that its steps reach.
func (p *parser) readSpan(index int, text string) (one span, err error) {
	values, stepText, hasStep := strings.Cut(text, "/")
	firstText, lastText, isRange := strings.Cut(values, "..")
	if one.first, err = number(index, firstText); err != nil {
		return one, err
	}
	one.last = -1
	if isRange {
		if one.last, err = number(index, lastText); err != nil {
			return one, err
		}
		one.step = 1
		if index == second {
			one.step = perSecond
		}
	}
	if hasStep {
		if one.step, err = number(max(index, month), stepText); err == nil && one.step == 0 {
			err = errors.New("a step of 0 leads nowhere")
		}
		if err != nil {
			return one, err
		}
	}
	if isRange && (one.last < one.first || index == second && one.last == one.first && !hasStep) {
		return one, fmt.Errorf("%s is no range", text)
	}
	if isRange {
		if one.last -= (one.last - one.first) % one.step; one.last == one.first {
			one.last, one.step = -1, 0
		}
	}
	return one, nil
}

// number reads a value, or a step. Years have two or four digits, and seconds a fraction.
func number(index int, text string) (value int, err error) {
	if value, err = strconv.Atoi(text); index == second {
		value, err = microseconds(text)
	}
	switch {
	case err != nil || text[0] < '0':
		return 0, fmt.Errorf("%q is no number", text)
	case index == year && value < 70:
		return value + 2000, nil
	case index == year && value < 100:
		return value + 1900, nil
	}
	return value, nil
}

func microseconds(text string) (int, error) {
	whole, fraction, hasPoint := strings.Cut(text, ".")
	seconds, err := strconv.Atoi(whole)
	if hasPoint && (fraction == "" || strings.Trim(fraction, "0123456789") != "") {
		err = strconv.ErrSyntax
	}
	micro, _ := strconv.Atoi((fraction + "000000")[:6])
	return seconds*perSecond + micro, err
}

// A timeUnit is a unit with all its names.
type timeUnit struct {
	length time.Duration
	names  string
}

// units are the units of a span of time.
var units = []timeUnit{
	{time.Microsecond, " usec us µs μs "}, {time.Millisecond, " msec ms "}, {time.Second, "  seconds second sec s "},
	{time.Minute, " minutes minute min m "}, {time.Hour, " hours hour hr h "}, {24 * time.Hour, " days day d "},
	{7 * 24 * time.Hour, " weeks week w "}, {2629800 * time.Second, " months month M "},
	{31557600 * time.Second, " years year y "},
}

// ParseSpan reads a span of time as systemd does: 15min, 1h 30min, 90.
func ParseSpan(text string) (sum time.Duration, ok bool) {
	for rest := strings.TrimSpace(text); rest != ""; ok = true {
		unit := strings.TrimLeft(rest, "0123456789.")
		number, err := strconv.ParseFloat(rest[:len(rest)-len(unit)], 64)
		unit = strings.TrimLeft(unit, " ")
		rest = strings.TrimLeftFunc(unit, unicode.IsLetter)
		name := " " + unit[:len(unit)-len(rest)] + " "
		i := slices.IndexFunc(units, func(u timeUnit) bool { return strings.Contains(u.names, name) })
		if err != nil || i < 0 {
			return 0, false
		}
		sum += time.Duration(number * float64(units[i].length))
		rest = strings.TrimLeft(rest, " ")
	}
	return sum, ok
}
