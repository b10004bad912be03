package vixie

import (
	"fmt"
	"strconv"
	"strings"
)

// Times are the five fields of a line, a bit for each value. The zero Times never come.
type Times struct {
	minutes, hours, days, months, weekdays uint64

	wild   bool // the minute or the hour begins with *: the line follows the wall clock when that is set
	either bool // neither day field begins with *: one of them is enough
}

type field struct {
	name      string
	low, high int
	names     []string // of low, low+1, …
}

var fields = [5]field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of the week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun"}},
}

// nicknames are in lower case: cron knows no other.
var nicknames = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Parse reads five fields with blanks between them, or a nickname such as @daily. A text that cron
// refuses is an error. So is a mistake that cron overlooks, such as the ";" of "5;". @reboot is no
// time.
func Parse(text string) (Times, error) {
	if expanded, ok := nicknames[text]; ok {
		text = expanded
	}
	words := strings.Fields(text)
	if len(words) != len(fields) {
		return Times{}, fmt.Errorf("%q has %d fields, not 5", text, len(words))
	}
	var sets [len(fields)]uint64
	for i, word := range words {
		var err error
		if sets[i], err = fields[i].set(word); err != nil {
			return Times{}, err
		}
	}
	const sunday, alsoSunday = 1 << 0, 1 << 7
	if sets[4]&(sunday|alsoSunday) != 0 {
		sets[4] |= sunday | alsoSunday
	}
	starred := func(i int) bool { return words[i][0] == '*' }
	return Times{
		minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4],
		wild:   starred(0) || starred(1),
		either: !starred(2) && !starred(4),
	}, nil
}

func (f field) set(text string) (bits uint64, err error) {
	for _, part := range strings.Split(text, ",") {
		if err := f.add(&bits, part); err != nil {
			return 0, fmt.Errorf("%s %q: %w", f.name, text, err)
		}
	}
	return bits, nil
}

// add adds *, 5, 1-5, */15 or 1-5/2. A range that runs backwards is empty to cron, and no error.
func (f field) add(bits *uint64, part string) error {
	span, stepText, stepped := strings.Cut(part, "/")
	first, last, isRange := strings.Cut(span, "-")
	low, high := f.low, f.high
	if span != "*" {
		var err error
		if low, err = f.number(first); err != nil {
			return err
		}
		high = low
		if isRange {
			if high, err = f.number(last); err != nil {
				return err
			}
		} else if stepped {
			return fmt.Errorf("a step needs a range or *, as in %s-%d/%s", first, f.high, stepText)
		}
	}
	step := 1
	if stepped {
		var err error
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 || stepText[0] == '+' {
			return fmt.Errorf("%q is no step", stepText)
		}
	}
	for value := low; value <= high; value += step {
		*bits |= 1 << value
	}
	return nil
}

func (f field) number(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(name, text) {
			return f.low + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || text[0] == '+' || text[0] == '-' {
		return 0, fmt.Errorf("%q is no number", text)
	}
	if n < f.low || n > f.high {
		return 0, fmt.Errorf("%s is not in %d-%d", text, f.low, f.high)
	}
	return n, nil
}

// Never reports whether no date has these times, as 31 February, or a field is empty, as 5-1.
func (t Times) Never() bool {
	const days = 28 * 366 // after 28 years the calendar repeats
	if t.minutes == 0 || t.hours == 0 {
		return true
	}
	for day := range int64(days) {
		if t.onDay(day) {
			return false
		}
	}
	return true
}

// String writes five fields of plain numbers, and * for all values.
func (t Times) String() string {
	var words []string
	for i, bits := range []uint64{t.minutes, t.hours, t.days, t.months, t.weekdays} {
		words = append(words, fields[i].list(bits))
	}
	return strings.Join(words, " ")
}

func (f field) list(bits uint64) string {
	high := f.high
	if f.high == 7 { // Sunday is 0
		high = 6
	}
	var parts []string
	for value := f.low; value <= high; value++ {
		if bits>>value&1 == 0 {
			continue
		}
		end := value
		for end < high && bits>>(end+1)&1 == 1 {
			end++
		}
		switch {
		case value == f.low && end == high:
			return "*"
		case end-value > 1:
			parts = append(parts, fmt.Sprintf("%d-%d", value, end))
		case end > value:
			parts = append(parts, strconv.Itoa(value), strconv.Itoa(end))
		default:
			parts = append(parts, strconv.Itoa(value))
		}
		value = end
	}
	return strings.Join(parts, ",")
}

// Key tells times apart: two with the same key come at the same minutes.
func (t Times) Key() string { return fmt.Sprint(t) + fmt.Sprint(t.wild, t.either) }
