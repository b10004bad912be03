package cron

import (
	"strconv"
	"strings"
)

// The day fields have forms of their own, as in Quartz:
//
//	day     = "L" | "LW" | number "W"                 the last day, the last working day, the working day nearest to a day
//	weekday = value "L" | value "#" ("1" … "5")       the last Friday of the month, its second Monday
//
// A working day is Monday to Friday, and the one nearest to a day is of the same month.

// dayForm reads one of these forms and returns its canonical form. It returns "" for any other
// element.
func (f *cronField) dayForm(element string) (string, error) {
	if f.pos == dayField {
		return f.monthDayForm(element)
	}
	return f.weekdayForm(element)
}

func (f *cronField) monthDayForm(element string) (string, error) {
	if !strings.ContainsAny(element, "LlWw") {
		return "", nil
	}
	upper := strings.ToUpper(element)
	switch {
	case upper == "L" || upper == "LW":
		return upper, nil
	case upper == "WL":
		return "", wrong("day %q is not known", element).SetHint("write LW")
	}
	number, after, _ := strings.Cut(upper, "W")
	if _, ok := digits(number); !ok || after != "" {
		return "", wrong("day %q is not known: L stands alone and W follows one number", element).
			SetHint("L is the last day, LW the last working day, 15W the working day nearest to the 15th")
	}
	n, err := f.value(number, element)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(n) + "W", nil
}

func (f *cronField) weekdayForm(element string) (string, error) {
	if day, nth, found := strings.Cut(element, "#"); found {
		n, err := f.value(day, element)
		if err != nil {
			return "", err
		}
		if week, ok := digits(nth); !ok || week < 1 || week > 5 {
			return "", wrong("week %q in %q is not in 1-5", nth, element)
		}
		return strconv.Itoa(n%7) + "#" + strings.TrimLeft(nth, "0"), nil
	}
	day, last := strings.CutSuffix(element, "L")
	if !last {
		day, last = strings.CutSuffix(element, "l")
	}
	switch {
	case !last:
		return "", nil
	case day == "":
		return "", wrong("weekday %q needs a day", element).
			SetHint("5L or FRIL is the last Friday of the month; L in the day field is its last day")
	}
	n, err := f.value(day, element)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(n%7) + "L", nil
}
