package cron

import (
	"strconv"
)

// backwards returns the error about a range such as FRI-MON. Its hint is to write FRI-SUN,MON.
func (f *cronField) backwards(lowText, highText string, low, high int) *Error {
	bottom := f.min
	if f.pos == weekdayField {
		bottom = 1 // the first half already ends with Sunday
	}
	text := strconv.Itoa
	if _, isNumber := digits(lowText); !isNumber {
		text = f.nameOf
	}
	first, second := lowText+"-"+text(f.max), text(bottom)+"-"+highText
	if low == f.max {
		first = lowText
	}
	if high == bottom {
		second = highText
	}
	return wrong("%s range %s-%s runs backwards", f.name, lowText, highText).
		SetHint("write %s,%s", first, second)
}

func (f *cronField) outOfRange(text string, n int) error {
	e := wrong("%s %s is not in %d-%d", f.name, text, f.min, f.max)
	switch {
	case f.pos == hourField && n == 24:
		e.SetHint("midnight is hour 0")
	case f.pos == minuteField && n == 60:
		e.SetHint("the full hour is minute 0")
	}
	return e
}

func (f *cronField) unknown(text, element string) error {
	if text == "" {
		return wrong("%s %q lacks a number", f.name, element)
	}
	e := wrong("%s %q is not a number in %d-%d", f.name, text, f.min, f.max)
	if f.names != nil {
		e.Text += " or a name in " + f.nameSpan
		if len(text) > 3 {
			if n, err := f.value(text[:3], text[:3]); err == nil {
				return e.SetHint("write %s", f.nameOf(n))
			}
		}
	}
	switch {
	case text == "?" && f.isDays():
		e.Text = f.name + " ? must stand alone"
	case text == "?":
		e.SetHint("? is for the day fields only; write *")
	case text == "*":
		e.Text = wrong("%s %q: * takes a step and nothing else", f.name, element).Text
	case text == "H" || text == "h":
		e.Text = wrong("%s %q: H takes no range after it", f.name, element).Text
		e.SetHint("write H(0-29) for a number in a range")
	case f.pos == weekdayField && text[0] > '9':
		e.SetHint("if that is the command, it goes into `command`")
	}
	return e
}
