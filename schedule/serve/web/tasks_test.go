package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule/outcome"
	"sched/schedule/overdue"
	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/testing/controltest"
	"sched/testing/storetest"
)

var namesOfRows = regexp.MustCompile(`<tr><th scope="row">(?:<input[^>]*>)?<a href="[^"]*">([^<]*)</a>`)

func rowsOf(page string) (all string) {
	for _, m := range namesOfRows.FindAllStringSubmatch(page, -1) {
		all += m[1] + " "
	}
	return strings.TrimSpace(all)
}

// The order of the tasks is in the URL. Tasks that have no value in a column are last.
func TestTheTasksAreOrderedByAColumn(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	b.Remember(b.Ended("hourly", 60, outcome.Failed, ""), b.Ended("nasty", 30, outcome.Succeeded, ""))
	for order, want := range map[string]string{
		"":      "hourly a/b nasty off",
		"name":  "a/b hourly nasty off",
		"-name": "off nasty hourly a/b",
		"next":  "hourly a/b nasty off",
		"last":  "nasty hourly a/b off",
		"-last": "hourly nasty a/b off",
		"nix":   "hourly a/b nasty off",
	} {
		if got := rowsOf(b.get("/tasks?sort="+order, 200)); got != want {
			t.Errorf("ordered by %q: %s, want %s", order, got, want)
		}
	}
	b.has("the head", b.get("/tasks?sort=next", 200), `aria-sort="ascending"><a href="?sort=-next">Next</a>`)
	b.has("the tags", b.get("/tasks?sort=next", 200), `<a class="tag" href="?sort=next&amp;tag=x">x</a>`)
}

// Runs of sched test count in no statistic: the strip, the timeline and the chart leave them out.
func TestTheStripAndTheChartLeaveOutTests(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	tested := b.Ended("hourly", 30, outcome.Failed, "a test")
	tested.Test = true
	b.Remember(b.Ended("hourly", 60, outcome.Succeeded, ""), tested)
	for _, path := range []string{"/tasks", "/timeline"} {
		b.has(path, b.get(path, 200), "the last 1: 1 succeeded")
	}
	b.has("the chart", b.get("/tasks/hourly", 200), "1 run, the longest")
}

// A list may become shorter while somebody looks at its last page.
func TestAPageAfterTheLastOneIsTheLastOne(t *testing.T) {
	var text strings.Builder
	text.WriteString("timezone: UTC\ntasks:\n")
	for i := range tasksOfAPage + 1 {
		fmt.Fprintf(&text, "  - {name: task-%02d, every: day, command: \"true\"}\n", i)
	}
	b := newBox(t, text.String(), serve.ScopeRead)
	for _, path := range []string{"/tasks?page=", "/tasks?sort=last&page=", "/timeline?page="} {
		b.has(path+"1", b.get(path+"1", 200), ">task-00</a>", "not >task-40</a>", "page 1 of 2")
		b.has(path+"9", b.get(path+"9", 200), ">task-40</a>", "not >task-00</a>", "page 2 of 2")
	}
}

// A row offers what can be done with its task now, and nothing else.
func TestARowOffersWhatCanBeDone(t *testing.T) {
	b := newBox(t, shop, serve.ScopeOperate)
	b.Remember(b.Ended("hourly", 60, outcome.Failed, ""), b.Ended("nasty", 30, outcome.Succeeded, ""))
	b.send("POST", "/tasks/nasty/pause", url.Values{}, 303)
	page := b.get("/tasks", 200)
	b.has("/tasks", page, `aria-label="Retry hourly"`, `aria-label="Trigger hourly"`, `aria-label="Pause hourly"`, `aria-label="Resume nasty"`,
		`not aria-label="Pause nasty"`, `not aria-label="Retry nasty"`, `not aria-label="Trigger off"`, `not aria-label="Stop `)
}

// Several tasks are chosen by boxes. The page that asks back says what will happen to each, and
// which are left out. Only its form does anything.
func TestSeveralTasksAreRetriedOrPausedAtOnce(t *testing.T) {
	b := newBox(t, shop, serve.ScopeOperate)
	failed := b.Ended("hourly", 60, outcome.Failed, "")
	b.Remember(failed, b.Ended("nasty", 30, outcome.Succeeded, ""), b.Ended("a/b", 30, outcome.TimedOut, ""))
	asks := b.get("/act?do=retry&task=hourly&task=nasty&task=a/b&back=sort%3Dname", 200)
	b.has("the question", asks, "Retry 2 tasks", `name="target" value="`+failed.ID+`"`, "Left out",
		"nasty</a>: its last run did not fail", `href="/tasks?sort=name"`)
	b.has("/audit", b.get("/audit", 200), "Nobody has changed anything")

	var targets []string
	for _, m := range regexp.MustCompile(`name="target" value="([^"]*)"`).FindAllStringSubmatch(asks, -1) {
		targets = append(targets, m[1])
	}
	to := b.send("POST", "/act", url.Values{"do": {"retry"}, "target": targets, "reason": {"the disk was full"},
		"back": {"sort=name"}}, 303)
	if to != "/tasks?sort=name" {
		t.Errorf("it leads to %s", to)
	}
	if n := strings.Count(b.get("/audit", 200), "the disk was full"); n != 2 {
		t.Errorf("%d retries are in the audit log, want 2", n)
	}

	b.has("all of a filter", b.get("/act?do=pause&all=yes&tag=x", 200), "Pause hourly<",
		"hourly</b></a> will not start", "not nasty", "until somebody resumes it")
	b.send("POST", "/act", url.Values{"do": {"pause"}, "target": {"hourly", "a/b"}, "end": {"3600"}}, 303)
	b.has("/pauses", b.get("/pauses", 200), "hourly", "a/b", "in 1 h 0 m")

	wrong := b.send("POST", "/act", url.Values{"do": {"trigger"}, "target": {"hourly", "nix"}}, 409)
	b.has("half of it fails", wrong, "1 of 2 could not be done; the rest is done", "nix: ")
	b.has("nobody", b.get("/act?do=retry", 200), "There is nothing to do")
	b.get("/act?do=nix&task=hourly", 400)
}

// A run that waits is cancelled from the row of its task.
func TestAWaitingRunIsCancelledFromItsRow(t *testing.T) {
	b := newBox(t, shop, serve.ScopeOperate)
	b.has("nothing waits", b.get("/tasks", 200), `not aria-label="Cancel`)
	run := strings.TrimPrefix(b.send("POST", "/tasks/hourly/trigger", nil, 303), "/runs/")
	b.has("one waits", b.get("/tasks", 200), `aria-label="Cancel hourly"`, `not aria-label="Cancel a/b"`)
	b.has("the question", b.get("/act?do=cancel&task=hourly", 200), `name="target" value="`+run+`"`)
	b.send("POST", "/act", url.Values{"do": {"cancel"}, "target": {run}, "reason": {"asked by mistake"}}, 303)
	b.has("it was", b.get("/tasks", 200), `not aria-label="Cancel`)
	b.has("/audit", b.get("/audit", 200), "asked by mistake")
}

// A run that waits, or goes on, has no outcome yet: pictures of outcomes leave it out.
func TestARunThatHasNotEndedIsNoFailure(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	db, err := state.Open(b.State(), state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	row := state.Row{ID: outcome.NewID(), Task: "hourly", Mutex: "hourly",
		Slot: controltest.Noon.Add(-time.Minute), Server: "web-1", Snapshot: json.RawMessage(`{"name":"hourly"}`),
		Wait: state.Wait{For: state.ForTime, NotBefore: controltest.Noon.Add(time.Hour)}}
	if _, err := db.Runs().Request(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/tasks?q=hourly", "/timeline?q=hourly"} {
		b.has(path, b.get(path, 200), "no runs yet", "not the last 1")
	}
}

// A page of a task says what the task has to do, and from when on it is overdue without that.
func TestATaskSaysFromWhenOnItIsOverdue(t *testing.T) {
	b := newBox(t, `
timezone: Europe/Berlin
tasks:
  - {name: heartbeat, every: hour, command: "true", expect: {every: 2h, within: 5m}, on_overdue: "true"}
  - {name: free, every: hour, command: "true"}
`, serve.ScopeRead)
	s, _, err := b.Load()
	if err != nil {
		t.Fatal(err)
	}
	db, err := state.Open(b.State(), state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	watch := &overdue.Watch{DB: db, Tasks: s.Expecting(), Server: "a", Now: controltest.Now}
	if _, _, err := watch.Look(nil); err != nil {
		t.Fatal(err)
	}
	at := controltest.Noon.Add(2 * time.Hour).In(s.Location).Format("15:04 MST")
	b.has("/tasks/heartbeat", b.get("/tasks/heartbeat", 200),
		"overdue from "+at+" on, if no run has succeeded until then (expect.every: 2 h 0 m)",
		"a success every 2 h 0 m", "its end within 5 m 0 s")
	b.has("/tasks/free", b.get("/tasks/free", 200), "not overdue", "not Expect")
}

// The page of a task says what `sched why` and `sched show` say: what a held mutex means for the
// next run, the spread, and what keeps a message from being sent each time.
func TestTheTaskPageSaysWhatTheCommandsSay(t *testing.T) {
	b := newBox(t, `
name: shop
timezone: UTC
store: redis://unused
tasks:
  - name: long
    cron: 17 * * * *
    spread: 40m
    without_overlapping: true
    command: "true"
    on_failure: [{webhook: https://example.com/hook, at_most: 1 per 1h, when: changed}]
`, serve.ScopeRead)
	b.Store = storetest.New()
	holder := mutex.Holder{Run: failedID, Host: "web-2", Task: "long", Since: controltest.Noon.Add(-time.Hour)}
	if _, err := b.Store.Acquire(t.Context(), "long", holder); err != nil {
		t.Fatal(err)
	}
	b.ticked()
	b.has("/tasks/long", b.get("/tasks/long", 200), "No runs on this server yet.",
		"on web-2); the next run will be skipped if that goes on until then.",
		"<code>17 * * * *</code> in UTC, and ", "m 0 s later (spread: 40m)",
		"<code>on_failure</code> webhook example.com, when changed, at most 1 per 1h")
}
