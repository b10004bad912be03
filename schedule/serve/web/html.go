package web

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"sched/schedule/humanize"
)

// markup is HTML that this package has written. A constant becomes one by itself; a string from
// elsewhere does not, so that it cannot reach a page but through put, which escapes it.
type markup string

type writer struct{ bytes.Buffer }

// put writes a format, whose verbs are those of fmt. What is not markup or a number is escaped,
// also for attributes in double quotes.
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

// escaped makes HTML of foreign text: one line, without what turns the direction of what follows.
func escaped(foreign string) markup {
	return markup(html.EscapeString(humanize.Line(strings.ToValidUTF8(foreign, "\uFFFD"))))
}
