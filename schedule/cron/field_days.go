package cron

import (
	"strconv"
	"strings"
)

// dayForm reads the forms that only the day fields have, as in Quartz, and returns them in the form that
// gronx reads right: L, LW and 15W for the day; 5L (the last Friday) and 1#2 (the second Monday)
// for the weekday. It returns "" for an ordinary element.
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
		return "", wrong("day %q is not known", element).hint("write LW")
	}
	number, after, _ := strings.Cut(upper, "W")
	if _, ok := digits(number); !ok || after != "" {
		return "", wrong("day %q is not known: L stands alone and W follows one number", element).
			hint("L is the last day, LW the last working day, 15W the working day nearest to the 15th")
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
			hint("5L or FRIL is the last Friday of the month; L in the day field is its last day")
	}
	n, err := f.value(day, element)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(n%7) + "L", nil
}
