package web

import (
	"fmt"
	"strings"
	"sync"

	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A look is how a state or an outcome is shown: a sign and a word, never a colour alone.
type look struct{ Sign, Class, Word string }

// warned is the result of a success with a warning.
var warned = state.Result{Outcome: outcome.Succeeded, Kind: outcome.Warning}

// looks are the looks of words: of outcomes, of runs, of tasks and of servers.
var looks = sync.OnceValue(func() map[string]look {
	return map[string]look{
		string(outcome.Succeeded): {"✓", "good", ""},
		warned.OutcomeText():      {"!", "warn", ""},
		string(outcome.Failed):    {"✕", "bad", ""},
		string(outcome.TimedOut):  {"✕", "bad", ""},
		string(outcome.Stopped):   {"■", "bad", ""},
		string(outcome.Lost):      {"✕", "bad", ""},
		string(outcome.Missed):    {"!", "warn", ""},
		string(outcome.Skipped):   {"–", "calm", ""},

		"unwatched": {"!", "warn", ""}, // as vanished, and its command still runs

		"vanished": {"!", "warn", ""},
		"running":  {"▶", "live", ""},
		"starting": {"▶", "live", ""},
		"waiting":  {"…", "calm", ""},
		"deferred": {"…", "calm", ""},

		"was running": {"…", "calm", ""}, // on another server, when that said so last

		"store down": {"!", "warn", ""}, // slots were skipped because the store did not answer

		"nowhere":   {"!", "warn", ""}, // the newest slot of the task ran on no server
		"unserved":  {"!", "warn", ""}, // no server that ticks may run the task
		"slow":      {"!", "warn", ""},
		"crowded":   {"!", "warn", ""}, // a full pool skips the task
		"paused":    {"‖", "hold", ""},
		"planned":   {"…", "calm", ""},
		"off":       {"○", "calm", ""},
		"never ran": {"○", "calm", ""},
		"well":      {"✓", "good", ""},

		"ticks":    {"✓", "good", ""},
		"no ticks": {"!", "warn", ""},
		"silent":   {"✕", "bad", ""},
		"gone":     {"✕", "bad", ""},

		"as here":      {"✓", "good", ""}, // the server has the schedule of this one
		"another text": {"!", "warn", ""},
	}
})

func lookOf(word any) look {
	found := looks()[fmt.Sprint(word)]
	found.Word = fmt.Sprint(word)
	return found
}

// endedLook shows how a run ended. A run that somebody wanted to be stopped is no trouble.
func endedLook(r state.Result) look {
	if r.Outcome == outcome.Stopped && !r.Wrong() {
		return look{"■", "hold", r.OutcomeText()}
	}
	return lookOf(r.OutcomeText())
}

// details are the words for how a run ended, behind the outcome.
func details(r state.Row) string { return strings.TrimPrefix(view.Describe(r), r.OutcomeText()) }

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
	case outcome.Stopped:
		if !r.Wrong() {
			return "skip", 1
		}
	}
	return "bad", 1
}
