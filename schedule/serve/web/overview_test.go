package web

import (
	"context"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/testing/controltest"
)

// ticked records that a tick covered the minute of the clock.
func (b *box) ticked() {
	b.Helper()
	db, err := state.Open(b.State(), state.Patience)
	if err == nil {
		err = db.Values().Cover(context.Background(), controltest.Noon)
		db.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
}

// The overview says that all is well in a green sentence, and since when. It is Sunday at noon, so
// that is Friday evening.
func TestTheOverviewOfAGoodNightIsAGreenSentence(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	b.Remember(b.Ended("hourly", 60, outcome.Succeeded, ""))
	b.ticked()
	b.has("/", b.get("/", 200), `<p class="verdict good"><span aria-hidden="true">✓</span> Since Fri 18:00 UTC nothing failed, timed out, was missed or took unusually long.`,
		">Next</h2>", "13:00 UTC", "not >Wrong since", "not >Paused</h2>")
}

// A task that fails makes the verdict red. The overview says how often in a row it failed and since
// when, and shows the last three lines that it printed. A task that is well again is below it.
func TestTheOverviewSaysWhatFailed(t *testing.T) {
	b := newBox(t, `
timezone: UTC
tasks:
  - {name: well, every: hour, command: "true"}
  - {name: report, every: hour, command: "true"}
  - {name: slept, every: hour, command: "true"}
  - {name: slow, every: hour, command: "true"}
  - {name: long-ago, every: hour, command: "true"}
`, serve.ScopeRead)
	last := b.Ended("report", 60, outcome.TimedOut, "one\ntwo\n\x1b[31mthree\x1b[0m\n\n<b>four</b>\n")
	once := b.Ended("well", 120, outcome.Failed, "gave up\n")
	once.Reason = "exit code 7"
	slow := b.Ended("slow", 60, outcome.Succeeded, "")
	slow.Ended = slow.Ended.Add(20 * time.Minute)
	b.Remember(b.Ended("report", 240, outcome.Succeeded, ""), b.Ended("report", 180, outcome.Failed, ""),
		b.Ended("report", 120, outcome.Failed, ""), last,
		once, b.Ended("well", 60, outcome.Succeeded, ""), b.Ended("slept", 120, outcome.Missed, ""),
		b.Ended("slept", 60, outcome.Succeeded, ""),
		b.Ended("slow", 240, outcome.Succeeded, ""), b.Ended("slow", 180, outcome.Succeeded, ""),
		b.Ended("slow", 120, outcome.Succeeded, ""), slow,
		b.Ended("long-ago", 60*24*7, outcome.Failed, ""), b.Ended("long-ago", 60, outcome.Succeeded, ""))
	b.ticked()
	b.has("/", b.get("/", 200), `<p class="verdict bad">`, "trouble: report timed out", "3 in a row since",
		">09:00 UTC</time>, for 2 h 59 m", "two\nthree\n&lt;b&gt;four", "not one\n",
		"/runs/"+last.ID, "once, the last 1 h 59 m ago (exit code 7)", "gave up", "</span> well</span> since",
		"missed the slot of 2026-03-01 10:00:00 UTC",
		"its last run took 20 m 2 s, usually 2.0 s", "not >long-ago</a></th></th>")
	b.has("/", b.get("/", 200), "not took unusually long")
}
