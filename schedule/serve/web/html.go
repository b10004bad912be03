package web

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

// markup is HTML that this package has written. A constant becomes markup by itself. A string from
// elsewhere does not: it reaches a page only through put, which escapes it.
type markup string

// A writer collects HTML.
type writer struct{ bytes.Buffer }

// put writes what format returns.
func (w *writer) put(text markup, args ...any) { w.WriteString(string(format(text, args...))) }

// format fills in a text with the verbs of fmt. It escapes all arguments but markup and numbers,
// also for attributes in double quotes.
func format(text markup, args ...any) markup {
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
	return markup(fmt.Sprintf(string(text), safe...))
}

// escaped makes HTML of foreign text: one line, without characters that turn the direction of the
// text behind them.
func escaped(foreign string) markup {
	return markup(html.EscapeString(humanize.Line(strings.ToValidUTF8(foreign, "\uFFFD"))))
}

// text is foreign text as it is, for a textarea.
func text(foreign string) markup {
	return markup(html.EscapeString(strings.ToValidUTF8(foreign, "\uFFFD")))
}

func markupIf(wanted bool, text markup) markup {
	if wanted {
		return text
	}
	return ""
}

// here marks the link to what is shown now.
func here(isHere bool) markup { return markupIf(isHere, ` aria-current="true"`) }

// fact writes an entry of a list of facts.
func (w *writer) fact(label, text markup, args ...any) {
	w.put(`<dt>%s<dd>%s`, label, format(text, args...))
}

// factIfAny is fact for a text, and writes nothing for an empty one.
func (w *writer) factIfAny(label markup, text string) {
	if text != "" {
		w.fact(label, `%s`, text)
	}
}

// warned is the result of a success with a warning.
var warned = state.Result{Outcome: outcome.Succeeded, Kind: outcome.Warning}

// A look is how a state or an outcome is shown: a sign and a word, never a colour alone.
type look struct{ sign, class string }

var looks = map[string]look{
	string(outcome.Succeeded): {"✓", "good"},
	warned.OutcomeText():      {"!", "warn"},
	string(outcome.Failed):    {"✕", "bad"},
	string(outcome.TimedOut):  {"✕", "bad"},
	string(outcome.Stopped):   {"■", "bad"},
	string(outcome.Lost):      {"✕", "bad"},
	string(outcome.Missed):    {"!", "warn"},
	string(outcome.Skipped):   {"–", "calm"},
	"vanished":                {"!", "warn"},
	"nowhere":                 {"!", "warn"},
	"unserved":                {"!", "warn"},
	"slow":                    {"!", "warn"},
	"running":                 {"▶", "live"},
	"starting":                {"▶", "live"},
	"waiting":                 {"…", "calm"},
	"deferred":                {"…", "calm"},
	"paused":                  {"‖", "hold"},
	"planned":                 {"…", "calm"},
	"off":                     {"○", "calm"},
	"never ran":               {"○", "calm"},
	"as here":                 {"✓", "good"},
	"well":                    {"✓", "good"},
	"another text":            {"!", "warn"},
}

func badge(word string) markup { return looks[word].badge(word) }

func (l look) badge(word string) markup {
	return format(`<span class="badge %s"><span aria-hidden="true">%s</span> %s</span>`, l.class, l.sign, word)
}

// ended shows how a run ended. A run that a planned pause stopped is no trouble.
func ended(r state.Result) markup {
	if r.Kind == outcome.Paused {
		return look{"■", "hold"}.badge(r.OutcomeText())
	}
	return badge(r.OutcomeText())
}

func details(r state.Row) string { return strings.TrimPrefix(view.Describe(r), r.OutcomeText()) }

// A bar is a run or a slot in a picture. It has no style, because the pages forbid styles.
type bar struct {
	left, width float64 // percent
	top, height float64 // pixels
	class, href string
	title       string
}

// bar draws a link that the tab key skips: a list has it, and a text describes the picture.
func (w *writer) bar(b bar) {
	w.put(`<a href="%s" tabindex="-1"><rect class="%s" x="%.2f%%" width="%.2f%%" y="%.1f" height="%.1f" rx="1"><title>%s</title></rect></a>`,
		b.href, b.class, b.left, b.width, b.top, b.height, b.title)
}

// shape is the class of the bar of an outcome, and which part of the height it has: a failure is
// tall, a slot that did not run is low.
func shape(r state.Result) (class string, height float64) {
	switch r.Outcome {
	case outcome.Succeeded:
		if r.Warned() {
			return "good warned", 0.6
		}
		return "good", 0.6
	case outcome.Skipped:
		return "skip", 0.3
	case outcome.Missed:
		return "miss", 1
	}
	return "bad", 1
}

// recordURL leads to a run, or for a slot without a run to the list that has the slot.
func (p *page) recordURL(r state.Row) string {
	if r.Ran() {
		return p.runURL(r.ID)
	}
	return p.runsURL(r.Task, strings.ReplaceAll(string(r.Outcome), " ", "-"))
}

func (p *page) recordTitle(r state.Row) string {
	return humanize.SlotZone(r.Slot, p.zoneOf(r.Task)) + ": " + view.Describe(r)
}
