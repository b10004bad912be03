package web

import (
	"fmt"
	"slices"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

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

// stateOf is the state of a task in one word. If the task runs now, it is running, however its last
// run ended.
func stateOf(r row) string {
	trouble := ""
	if r.trouble != nil {
		trouble = r.trouble.Trouble
	}
	switch {
	case !r.active:
		return "off"
	case r.running && trouble != "slow":
		return "running"
	case trouble != "":
		return trouble
	case r.paused:
		return "paused"
	case r.waiting:
		return "waiting"
	case r.Last != nil:
		return r.LastRun.OutcomeText()
	}
	return "never ran"
}

// A bar is a run or a slot in a picture. across is in percent, up in pixels: styles are forbidden.
type bar struct {
	across, wide float64
	top, high    float64
	class, href  string
	title        string
}

// bar draws a link that the tab key skips: a list has it, and a text describes the picture.
func (w *writer) bar(b bar) {
	w.put(`<a href="%s" tabindex="-1"><rect class="%s" x="%.2f%%" width="%.2f%%" y="%.1f" height="%.1f" rx="1"><title>%s</title></rect></a>`,
		b.href, b.class, b.across, b.wide, b.top, b.high, b.title)
}

// shape is the class of the bar of an outcome, and which part of the height it has: a failure is
// tall, a slot that did not run is low.
func shape(r state.Result) (class string, high float64) {
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

func tally(records []state.Row) string {
	if len(records) == 0 {
		return "no runs yet"
	}
	var sum counts
	for _, r := range records {
		sum[slices.Index(outcome.All, r.Outcome)]++
	}
	return "the last " + fmt.Sprint(len(records)) + ": " + sum.String()
}

// counts are how often there is each outcome, in the order of outcome.All.
type counts [7]int

func countsOf(o outcome.Outcome, n int) (c counts) {
	c[slices.Index(outcome.All, o)] = n
	return c
}

// outcomes are those that there are.
func (c counts) outcomes() (all []outcome.Outcome) {
	for i, o := range outcome.All {
		if c[i] > 0 {
			all = append(all, o)
		}
	}
	return all
}

func (c counts) String() string {
	var parts []string
	for i, o := range outcome.All {
		if c[i] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c[i], o))
		}
	}
	return strings.Join(parts, ", ")
}
