package web

import (
	"strings"

	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A look is how a state or an outcome is shown: a sign and a word, never a colour alone.
type look struct{ sign, class string }

var looks = map[string]look{
	string(outcome.Succeeded): {"✓", "good"},
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
	"off":                     {"○", "calm"},
	"never ran":               {"○", "calm"},
	"as here":                 {"✓", "good"},
	"well":                    {"✓", "good"},
	"another text":            {"!", "warn"},
}

func badge(word string) markup {
	var w writer
	l := looks[word]
	w.put(`<span class="badge %s"><span aria-hidden="true">%s</span> %s</span>`, l.class, l.sign, word)
	return markup(w.String())
}

func details(r state.Row) string { return strings.TrimPrefix(view.Describe(r), string(r.Outcome)) }

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
		return r.Last.Outcome
	}
	return "never ran"
}
