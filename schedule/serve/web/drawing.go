package web

import (
	"fmt"
	"html"
	"strings"

	"github.com/a-h/templ"

	"sched/schedule/humanize"
)

// A drawing collects what computed pictures consist of. It has no style, because the pages forbid
// styles.
type drawing struct{ strings.Builder }

// put writes a text with the verbs of fmt. Constants of this package are markup, and arguments are
// numbers, or strings that it escapes, also for attributes in double quotes.
func (d *drawing) put(text string, args ...any) {
	for i, arg := range args {
		if foreign, ok := arg.(string); ok {
			args[i] = html.EscapeString(humanize.Line(strings.ToValidUTF8(foreign, "\uFFFD")))
		}
	}
	fmt.Fprintf(d, text, args...)
}

// picture returns all that was drawn.
func (d *drawing) picture() templ.Component { return templ.Raw(d.String()) }

// A bar is a run or a slot in a picture.
type bar struct {
	left, width float64 // percent
	top, height float64 // pixels
	class, href string
	title       string
}

// bar draws a link that the tab key skips: a list has it, and a text describes the picture.
func (d *drawing) bar(b bar) {
	d.put(`<a href="%s" tabindex="-1"><rect class="%s" x="%.2f%%" width="%.2f%%" y="%.1f" height="%.1f" rx="1"><title>%s</title></rect></a>`,
		b.href, b.class, b.left, b.width, b.top, b.height, b.title)
}
