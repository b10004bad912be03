package web

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"sched/schedule/humanize"
)

// markup is HTML that this package has written. A constant becomes markup by itself. A string from
// elsewhere does not: it reaches a page only through put, which escapes it.
type markup string

type writer struct{ bytes.Buffer }

// put writes a format with the verbs of fmt. It escapes all arguments but markup and numbers, also
// for attributes in double quotes.
func (w *writer) put(format markup, args ...any) {
	safe := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case markup, int, int64, float64:
			safe[i] = arg
		case string:
			safe[i] = escaped(arg)
		default:
			safe[i] = escaped(fmt.Sprint(arg))
		}
	}
	fmt.Fprintf(w, string(format), safe...)
}

// escaped makes HTML of foreign text: one line, without characters that turn the direction of the
// text behind them.
func escaped(foreign string) markup {
	return markup(html.EscapeString(humanize.Line(strings.ToValidUTF8(foreign, "\uFFFD"))))
}
