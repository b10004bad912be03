package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sched/schedule/humanize"
)

// A field is what one field of an expression allows.
type field struct {
	text   string
	values uint64       // a bit for each value; weekdays from Sunday as 0
	forms  []form       // of days
	years  map[int]bool // of the year; nil: each
	free   bool         // it restricts nothing: see rules.free
}

// A reader reads the fields of one kind, as a program does. Its errors are the reasons for which
// the program refuses a field.
type reader struct {
	*rules
	kind
}

func (r reader) read(text string) (field, error) {
	f := field{text: text}
	for i := 0; i+1 < len(r.aliases); i += 2 {
		if text == r.aliases[i] {
			text = r.aliases[i+1]
		}
	}
	if r.letter == 'y' {
		f.years = map[int]bool{}
	}
	elements := strings.Split(text, ",")
	for i := range elements {
		var err error
		if elements[i], err = r.withoutHash(elements[i]); err != nil {
			return f, err
		}
	}
	if r.empty {
		elements = slices.DeleteFunc(elements, func(e string) bool { return e == "" })
	}
	if len(elements) == 0 {
		return f, fmt.Errorf("%s %q is empty", r.name, text)
	}
	for _, element := range elements {
		if err := r.readElement(&f, element); err != nil {
			return f, err
		}
	}
	if r.formsAlone && r.letter == 'd' && len(f.forms) > 0 && len(elements) > 1 {
		return f, fmt.Errorf("%s %q: %s does not stand in a list", r.name, text, elements[0])
	}
	if r.letter == 'd' || r.letter == 'w' {
		f.free = f.free || r.isFree(&f, text)
	}
	return f, nil
}

// withoutHash returns an element with the first number in the place of H and of H(0-29), and the
// first of the steps. As in Jenkins, a range must lie in the field, and a step in the range; H/1 is
// H.
func (r reader) withoutHash(element string) (string, error) {
	parts := hashed().FindStringSubmatch(element)
	if !r.hash || parts == nil {
		return element, nil
	}
	low, high, step := r.low, r.last(), 1
	if r.letter == 'd' {
		high = 28 // each month has it
	}
	if parts[1] != "" {
		var err error
		if low, err = r.readValue(parts[1]); err != nil {
			return "", err
		}
		if high, err = r.readValue(parts[2]); err != nil {
			return "", err
		}
	}
	if parts[3] != "" {
		step, _ = humanize.Digits(parts[3])
	}
	switch {
	case low > high:
		return "", fmt.Errorf("%s %s runs backwards", r.name, element)
	case step < 1 || step > high-low+1:
		return "", fmt.Errorf("%s %s: the step is not in 1-%d", r.name, element, high-low+1)
	case step == 1:
		return fmt.Sprint(low), nil
	}
	return fmt.Sprintf("%d-%d/%d", low, high, step), nil
}

// isFree reports whether a day field restricts nothing, in the eyes of the program.
func (r reader) isFree(f *field, text string) bool {
	switch r.free {
	case freeBegin:
		return strings.HasPrefix(text, "*") || text == "?"
	case freeFull:
		return f.values == r.full() && len(f.forms) == 0
	case freePart, freeByOne:
		return text == "*" // readElement has seen the others
	}
	return text == "*" || text == "?"
}

// readElement reads one element of a list.
func (r reader) readElement(f *field, element string) error {
	if element == "" {
		return fmt.Errorf("%s %q has an empty element", r.name, f.text)
	}
	if r.letter == 'd' || r.letter == 'w' {
		if known, err := r.readForm(f, element); known || err != nil {
			return err
		}
	}
	if r.looseNames && r.nameIndex(element[:min(3, len(element))]) >= 0 {
		element = rangeOfNames().FindString(element)
	}
	body, stepText, hasStep := strings.Cut(element, "/")
	if hasStep && body == "" && r.bareStep {
		body = "*"
	}
	low, high, isRange, err := r.readBounds(&body)
	if err != nil {
		return err
	}
	if low > high && r.backward == refuseBackward && !(r.zeroAtOnce && hasStep) {
		return fmt.Errorf("%s %s runs backwards", r.name, body)
	}
	step := 1
	if hasStep {
		if step, err = r.readStep(stepText); err != nil {
			return err
		}
		switch {
		case isRange:
		case r.lone == refuseLone:
			return fmt.Errorf("a step needs a range or *, as in %d-%d/%s", low, r.high, stepText)
		case r.lone == toEnd, r.lone == toEndOfMore && step > 1 && r.letter != 'w':
			high = r.last()
		}
		if r.steps == inRange && step > high-low {
			return fmt.Errorf("%s: a step of %d is longer than its range", r.name, step)
		}
	}
	if (body == "*" || body == "?") && !(r.wholeWeekday && r.letter == 'w') {
		f.free = f.free || r.free == freePart && !hasStep || r.free == freeByOne && step == 1
	}
	r.add(f, low, high, step)
	if r.steps == wrapStep && step > r.high {
		f.values |= 1 << (r.low + step%(r.high-r.low+1))
	}
	return nil
}

// add allows each step-th value from low to high.
func (r reader) add(f *field, low, high, step int) {
	if low > high && r.backward == wrapBackward {
		high += r.last() - r.low + 1
	}
	for v := low; v <= high; v += step {
		if r.steps == wrapStep && step > r.high {
			return
		}
		n := v
		if n > r.high && n != 24 {
			n = n - (r.last() + 1) + r.low
		}
		switch r.letter {
		case 'w':
			f.values |= 1 << r.weekday(n)
		case 'y':
			f.years[n] = true
		case 'h':
			f.values |= 1 << (n % 24)
		default:
			f.values |= 1 << n
		}
	}
}

// readBounds reads *, ?, 5 or 1-5. isRange is true unless it is a single value.
func (r reader) readBounds(body *string) (low, high int, isRange bool, err error) {
	text := *body
	if text == "*" || text == "?" && strings.IndexByte(r.question, r.letter) >= 0 {
		if r.starMonday && r.letter == 'w' {
			return 1, 7, true, nil
		}
		return r.low, r.last(), true, nil
	}
	lowText, highText, isRange := strings.Cut(text, "-")
	if r.starRange && lowText == "*" {
		*body = "*"
		return r.low, r.last(), true, nil
	}
	if low, err = r.readValue(lowText); err != nil || !isRange {
		return low, low, false, err
	}
	if high, err = r.readValue(highText); err != nil {
		return 0, 0, true, err
	}
	if r.sunSeven && r.letter == 'w' {
		switch {
		case low == 7 && isDigits(lowText):
			low = 0
		case high == 0:
			high = 7
		case high == 7 && !isDigits(highText):
			high = 6
		}
	}
	if r.zeroAtOnce && r.letter == 'w' {
		low, high = low%7, high%7
	}
	if r.sundayEnds && r.letter == 'w' && low > high && r.weekday(high) == 0 && !(r.sundayName && isDigits(highText)) {
		high = 7
	}
	return low, high, true, nil
}

// readStep reads what stands behind the slash.
func (r reader) readStep(text string) (int, error) {
	step, err := strconv.Atoi(text)
	if err != nil || !isDigits(text) || r.digits > 0 && len(text) > r.digits || r.steps == wrapStep && text[0] == '0' {
		return 0, fmt.Errorf("%s: %q is no step", r.name, text)
	}
	most := 0
	switch r.steps {
	case upToEnd:
		most = r.high
	case upToLast:
		most = r.last()
	case upToSize:
		most = r.last() - r.low + 1
	}
	switch {
	case step < 1:
		return 0, fmt.Errorf("%s: a step of %s is no step", r.name, text)
	case most > 0 && step > most:
		return 0, fmt.Errorf("%s: a step of %s is not in 1-%d", r.name, text, most)
	}
	return min(step, 10000), nil
}

// readValue reads a number or a name.
func (r reader) readValue(text string) (int, error) {
	if text == "24" && r.hour24 && r.letter == 'h' {
		return 24, nil
	}
	if r.signs {
		text = strings.TrimPrefix(text, "+")
	}
	if isDigits(text) && (r.digits == 0 || len(text) <= r.digits || r.letter == 'y') {
		n, err := strconv.Atoi(text)
		if err != nil || n < r.low || n > r.high {
			return 0, fmt.Errorf("%s %s is not in %d-%d", r.name, text, r.low, r.high)
		}
		return n, nil
	}
	if i := r.nameIndex(text); i >= 0 {
		if r.sunSeven && r.letter == 'w' && i == 0 {
			return 7, nil
		}
		if r.letter == 'w' {
			return (i+r.sunday+7)%7 + map[bool]int{true: 7}[(i+r.sunday+7)%7 < r.low], nil
		}
		return r.low + i, nil
	}
	return 0, fmt.Errorf("%s %q is not known", r.name, text)
}

// nameIndex returns which of the names of the field a text is; -1 for none.
func (r reader) nameIndex(text string) int {
	lower := strings.ToLower(text)
	return slices.IndexFunc(r.names, func(name string) bool {
		switch r.naming {
		case noNames:
			return false
		case alsoWhole:
			return lower == name || lower == name[:3]
		}
		return lower == name[:3]
	})
}

// rangeOfNames is a name, or two with a - between them.
var rangeOfNames = humanize.Pattern(`^[A-Za-z]+(?:-[A-Za-z]+)?`)

// hashed is H, H(0-29), H/15 or H(0-29)/10.
var hashed = humanize.Pattern(`^H(?:\((\d+)-(\d+)\))?(?:/(\d+))?$`)

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// readForm reads L, L-3, LW, L-3W, 15W, 5L or 5#2, as far as the dialect has them.
func (r reader) readForm(f *field, element string) (known bool, err error) {
	has := func(name string) bool { return slices.Contains(strings.Fields(r.forms), name) }
	upper := strings.ToUpper(element)
	add := func(name string, form form) (bool, error) {
		if !has(name) {
			return true, fmt.Errorf("%s %q is not known", r.name, element)
		}
		f.forms = append(f.forms, form)
		return true, nil
	}
	if r.letter == 'd' {
		return r.readMonthDay(upper, add)
	}
	if upper == "L" && r.saturday {
		f.values |= 1 << 6
		return true, nil
	}
	if day, nth, found := strings.Cut(upper, "#"); found {
		n, err := r.readValue(day)
		if err != nil {
			return true, err
		}
		if nth == "L" || nth == "-1" && r.bareStep {
			return add("5#L", form{kind: lastWeekday, n: r.weekday(n)})
		}
		if len(nth) != 1 || nth < "1" || nth > "5" {
			return true, fmt.Errorf("weekday %q: %q is not in 1-5", element, nth)
		}
		return add("5#2", form{nthWeekday, r.weekday(n), int(nth[0] - '0')})
	}
	if day, found := strings.CutSuffix(upper, "L"); found && day != "" {
		n, err := r.readValue(day)
		if err != nil {
			return true, err
		}
		return add("5L", form{kind: lastWeekday, n: r.weekday(n)})
	}
	return false, nil
}

// readMonthDay is readForm for the day of the month, in upper case.
func (r reader) readMonthDay(text string, add func(string, form) (bool, error)) (known bool, err error) {
	body, workday := strings.CutSuffix(text, "W")
	switch before, isLast := strings.CutPrefix(body, "L"); {
	case isLast && before == "" && workday:
		return add("LW", form{kind: workdayBeforeLast})
	case isLast && before == "":
		return add("L", form{kind: beforeLast})
	case isLast:
		n, err := strconv.Atoi(strings.TrimPrefix(before, "-"))
		if err != nil || before[0] != '-' || n < 0 || n > 30 {
			return true, fmt.Errorf("day %q is not known", text)
		}
		if workday {
			return add("L-3W", form{kind: workdayBeforeLast, n: n})
		}
		return add("L-3", form{kind: beforeLast, n: n})
	case workday:
		n, err := r.readValue(body)
		if err != nil {
			return true, err
		}
		return add("15W", form{kind: nearestWorkday, n: n})
	}
	return false, nil
}
