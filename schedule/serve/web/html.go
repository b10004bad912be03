package web

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"time"

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

// textareaText is foreign text as it is, for a textarea.
func textareaText(foreign string) markup {
	return markup(html.EscapeString(strings.ToValidUTF8(foreign, "\uFFFD")))
}

func markupIf(wanted bool, text markup) markup {
	if wanted {
		return text
	}
	return ""
}

// currentIf marks the link to what is shown now.
func currentIf(isShown bool) markup { return markupIf(isShown, ` aria-current="true"`) }

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

// looks are the looks of words: of outcomes, of runs, of tasks and of servers.
var looks = map[string]look{
	string(outcome.Succeeded): {"✓", "good"},
	warned.OutcomeText():      {"!", "warn"},
	string(outcome.Failed):    {"✕", "bad"},
	string(outcome.TimedOut):  {"✕", "bad"},
	string(outcome.Stopped):   {"■", "bad"},
	string(outcome.Lost):      {"✕", "bad"},
	string(outcome.Missed):    {"!", "warn"},
	string(outcome.Skipped):   {"–", "calm"},

	"vanished": {"!", "warn"},
	"running":  {"▶", "live"},
	"starting": {"▶", "live"},
	"waiting":  {"…", "calm"},
	"deferred": {"…", "calm"},

	"nowhere":   {"!", "warn"}, // the newest slot of the task ran on no server
	"unserved":  {"!", "warn"}, // no server that ticks may run the task
	"slow":      {"!", "warn"},
	"paused":    {"‖", "hold"},
	"planned":   {"…", "calm"},
	"off":       {"○", "calm"},
	"never ran": {"○", "calm"},
	"well":      {"✓", "good"},

	"as here":      {"✓", "good"}, // the server has the schedule of this one
	"another text": {"!", "warn"},
}

func badge(word string) markup { return looks[word].badge(word) }

func (l look) badge(word string) markup {
	return format(`<span class="badge %s"><span aria-hidden="true">%s</span> %s</span>`, l.class, l.sign, word)
}

// endedBadge shows how a run ended. A run that a planned pause stopped is no trouble.
func endedBadge(r state.Result) markup {
	if r.Kind == outcome.Paused {
		return look{"■", "hold"}.badge(r.OutcomeText())
	}
	return badge(r.OutcomeText())
}

// details are the words for how a run ended, behind the outcome.
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

// shape returns the class of the bar of an outcome, and which part of the height it has: a failure
// is tall, a slot that did not run is low.
func shape(r state.Result) (class string, share float64) {
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

// timeAndDistance writes a time with how far away it is.
func (p *page) timeAndDistance(at time.Time, zone *time.Location) markup {
	away := humanize.Duration(at.Sub(p.now).Abs()) + " ago"
	if at.After(p.now) {
		away = "in " + humanize.Duration(at.Sub(p.now))
	}
	return format(`%s <small>%s</small>`, p.timeNear(at, zone), away)
}

// timeNear writes a time without a day that is obvious.
func (p *page) timeNear(at time.Time, zone *time.Location) markup {
	return format(`<time datetime="%s" title="%s · %s">%s</time>`, at.UTC().Format(time.RFC3339), humanize.SecondZone(at, zone),
		humanize.SecondZone(at, time.UTC), humanize.MinuteNearZone(at, p.now, zone))
}

// timeExact writes a time to the second.
func (p *page) timeExact(at time.Time, zone *time.Location) markup {
	return format(`<time datetime="%s" title="%s">%s</time>`, at.UTC().Format(time.RFC3339), humanize.SecondZone(at, time.UTC), humanize.SecondZone(at, zone))
}

// parseTime reads a time of an object of package view; the zero time for none.
func parseTime(text string) time.Time {
	at, _ := time.Parse(time.RFC3339, text)
	return at
}

// secondsText writes a duration in seconds, as objects of package view have it.
func secondsText(s float64) string { return humanize.Duration(time.Duration(s * float64(time.Second))) }
