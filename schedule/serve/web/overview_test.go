package web

import (
	"context"
	"strings"
	"testing"
	"time"

	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/testing/controltest"
	"sched/testing/storetest"
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

// On a phone nobody types a command: a notification that could not be delivered leads to its task.
func TestTheOverviewLeadsToTheTaskOfANotification(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	b.Remember(b.Ended("hourly", 60, outcome.Succeeded, ""))
	b.ticked()
	db, err := state.Open(b.State(), state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	owner, err := db.Owners().New(state.Finish)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Release()
	ctx, m := t.Context(), state.Message{ID: "1", HookKey: "hourly on_failure 1", Task: "hourly", Created: controltest.Noon}
	if _, err := db.Messages().Put(ctx, owner, &m); err != nil {
		t.Fatal(err)
	}
	a := state.Attempts{Tries: 1, LastTry: controltest.Noon, FailingSince: controltest.Noon, Error: "mail to ops: full"}
	if err := db.Messages().Failed(ctx, owner, "1", a, controltest.Noon.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	b.has("/", b.get("/", 200), `of hourly: mail to ops: full <a href="/tasks/hourly">hourly</a>`, "not sched history")
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

// Slots that several tasks missed while no tick came are one row, below what failed. Slots that
// were missed at another time have a row of their own.
func TestMissingTicksHideNoFailure(t *testing.T) {
	b := newBox(t, `
timezone: UTC
tasks:
  - {name: a, every: minute, command: "true"}
  - {name: b, every: minute, command: "true"}
  - {name: c, every: hour, command: "true"}
  - {name: lone, every: hour, command: "true"}
  - {name: same, every: hour, command: "true"}
  - {name: time, every: hour, command: "true"}
  - {name: broken, every: hour, command: "true"}
  - {name: again, every: hour, command: "true"}
`, serve.ScopeRead)
	for _, task := range []string{"a", "b", "c", "lone", "same", "time", "again"} {
		missed, last := b.Ended(task, 31, outcome.Missed, ""), 10
		switch task {
		case "a", "b":
			missed.Slots, missed.LastSlot = 2, missed.Slot.Add(time.Minute)
		case "c":
			last = 70
		case "lone":
			missed = b.Ended(task, 120, outcome.Missed, "")
		case "same", "time":
			missed = b.Ended(task, 100, outcome.Missed, "")
		case "again":
			missed = b.Ended(task, 60, outcome.Failed, "")
		}
		b.Remember(missed, b.Ended(task, last, outcome.Succeeded, ""))
	}
	b.Remember(b.Ended("broken", 20, outcome.Failed, ""))
	b.ticked()
	page := b.get("/", 200)
	_, rows, _ := strings.Cut(page, `<table class="incidents">`)
	rows, _, _ = strings.Cut(rows, "</table>")
	last := -1
	for _, text := range []string{">broken</a>", ">again</a>", ">lone</a>", "missed the slot of 2026-03-01 10:00:00 UTC",
		`<a href="/runs?outcome=missed">2 tasks</a>`, "missed the slot of 2026-03-01 10:20:00 UTC each",
		`<a href="/runs?outcome=missed">3 tasks</a>`,
		"missed 5 slots, 2026-03-01 11:29:00 UTC to 2026-03-01 11:30:00 UTC", "<small>c did not run since</small>"} {
		at := strings.Index(rows, text)
		if at <= last {
			t.Errorf("%s stands at %d, after %d", text, at, last)
		}
		last = at
	}
	b.has("the rows", rows, "not >a</a>", "not >b</a>", "not >c</a>")
}

// Slots that were lost because the store did not answer are one row, with the reason, although
// later slots ran. They count beside the missed ones. A slot that another server ran is not lost.
func TestTheOverviewHasSlotsThatWereLostForWantOfTheStore(t *testing.T) {
	b := newBox(t, `
name: shop
timezone: UTC
store: redis://unused
tasks:
  - {name: a, every: hour, one_server: true, command: "true"}
  - {name: b, every: hour, one_server: true, command: "true"}
  - {name: there, every: hour, one_server: true, command: "true"}
  - {name: broken, every: hour, without_overlapping: true, command: "true"}
`, serve.ScopeRead)
	b.Store = storetest.New()
	for _, task := range []string{"a", "b", "there", "broken"} {
		lost := b.Ended(task, 120, outcome.Skipped, "")
		lost.Kind, lost.Reason = outcome.StoreDown, "nobody knows whether another server runs it"
		last := outcome.Succeeded
		if task == "broken" {
			last = outcome.Failed
		}
		b.Remember(lost, b.Ended(task, 60, last, ""))
		if task == "there" {
			ran := b.Ended(task, 120, outcome.Succeeded, "")
			ran.Server = "web-2"
			if err := cluster.Publish(t.Context(), b.Store, []state.Row{ran}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.ticked()
	page := b.get("/", 200)
	b.has("/", page, "3 succeeded, 1 failed, 3 skipped for want of the store", ">broken</a>",
		`<a href="/runs?outcome=store-down">3 tasks</a>`, "store down</span>",
		"skipped the slot of 2026-03-01 10:00:00 UTC each: nobody knows whether another server runs it")
	_, well, _ := strings.Cut(page, `<table class="well">`)
	well, _, _ = strings.Cut(well, "</table>")
	b.has("what went well", well, ">there</a>", "not >a</a>", "not >b</a>")
	list := b.get("/runs?outcome=store-down", 200)
	b.has("the list", list, ">store down</a>", ">broken</a>", "10:00", "not 11:00:00")
}

// Tasks that only succeeded stand beside what failed, the rare ones first. A task that failed has
// both counts.
func TestTheOverviewSaysWhatWentWell(t *testing.T) {
	b := newBox(t, `
timezone: UTC
tasks:
  - {name: often, every: 10 minutes, command: "true"}
  - {name: rare, every: day, command: "true"}
  - {name: mixed, every: hour, command: "true"}
  - {name: slept, every: hour, command: "true"}
`, serve.ScopeRead)
	for ago := 10; ago <= 100; ago += 10 {
		b.Remember(b.Ended("often", ago, outcome.Succeeded, ""))
	}
	backup := b.Ended("rare", 600, outcome.Succeeded, "")
	backup.Ended = backup.Started.Add(42 * time.Minute)
	b.Remember(backup, b.Ended("mixed", 120, outcome.Succeeded, ""), b.Ended("mixed", 60, outcome.Failed, ""),
		b.Ended("slept", 60, outcome.Succeeded, ""), b.Ended("slept", 120, outcome.Missed, ""),
		b.Ended("often", 60*24*7, outcome.Succeeded, ""))
	b.ticked()
	page := b.get("/", 200)
	b.has("/", page, "Went well since Fri 18:00 UTC", "13 runs</span> succeeded", "1 failed, 1 succeeded</a> since Fri 18:00 UTC")
	_, well, _ := strings.Cut(page, `<table class="well">`)
	well, _, _ = strings.Cut(well, "</table>")
	b.has("the table", well, ">rare</a></th><td class=\"n\"><a href=\"/runs?outcome=succeeded&amp;task=rare\">1</a></td><td class=\"n\">42 m 0 s</td>",
		">often</a>", ">10</a>", "not mixed", "not slept")
	if strings.Index(well, "often") < strings.Index(well, "rare") {
		t.Errorf("the backup of the night stands below a task of each minute: %s", well)
	}
}

// A run that waits says on the overview and on its page what it waits for, and until when.
func TestARunThatWaitsSaysForWhat(t *testing.T) {
	b := nightBox(t)
	says := "for 25 m 0 s until its mutex is free, until 2026-03-02 11:35 UTC at the latest"
	b.has("/", b.get("/", 200), ">Waiting</h2>", says)
	b.has("/tasks", b.get("/tasks", 200), "running</span>", says)
	b.has("its page", b.get("/runs/"+waitingID, 200), "waiting</span>", says,
		"Its mutex is held by stock-take since 2026-03-01 11:00:00 UTC (run 000000000002 on web-1).")
	asked := b.send("POST", "/tasks/nightly-backup/trigger", nil, 303)
	b.has(asked, b.get(asked, 200), "waiting</span> until 12:0", "UTC (trigger by ada)", "not is held")
	b.has(asked, b.get(asked, 200), "It has not begun.", "not Download all of it", "the tick at <time")
	b.has("its task", b.get("/tasks/nightly-backup", 200), "</code></a> until 12:0", "not waiting until")
	b.has("the task that runs", b.get("/tasks/stock-take", 200), `/runs/019ca8b9-0000-7000-8000-000000000002/stop"`)
}
