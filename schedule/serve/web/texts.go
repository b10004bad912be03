package web

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/a-h/templ"

	"sched/schedule/humanize"
)

// harmless takes from a page what foreign texts must not bring: control characters become spaces,
// characters that turn the direction of the text behind them are removed, and bytes that are not
// UTF-8 become U+FFFD. Lines and tabs stay.
func harmless(page []byte) []byte {
	return bytes.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r) && !unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, page)
}

// verbatim is a text that stays as it is, for a textarea, which leaves out the first newline. It
// writes what harmless removes as numbers.
func verbatim(text string) templ.Component {
	var b strings.Builder
	b.WriteByte('\n')
	for _, r := range templ.EscapeString(text) {
		if unicode.Is(unicode.Bidi_Control, r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return templ.Raw(b.String())
}

// worded is a text in which commands and keys stand between backticks, as on a terminal.
func worded(text string) templ.Component {
	parts := strings.Split(text, "`")
	if len(parts)%2 == 0 { // a backtick without a second one
		return templ.Raw(templ.EscapeString(text))
	}
	var b strings.Builder
	for i, part := range parts {
		if part = templ.EscapeString(part); i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return templ.Raw(b.String())
}

// numbersText lists numbers.
func numbersText(all []int) string { return strings.Trim(fmt.Sprint(all), "[]") }

// secondsText writes a duration in seconds, as objects of package view have it.
func secondsText(s float64) string { return humanize.Duration(time.Duration(s * float64(time.Second))) }

// clockText says how far a clock is from the clock of the store; less than a second counts as
// right.
func clockText(offset float64) string {
	d := time.Duration(offset * float64(time.Second))
	switch {
	case d.Abs() < time.Second:
		return "right"
	case d > 0:
		return humanize.Duration(d) + " ahead"
	}
	return humanize.Duration(-d) + " behind"
}
