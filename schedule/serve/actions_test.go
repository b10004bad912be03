package serve

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
	"sched/testing/controltest"
)

// row adds a row of the task hourly, and returns its id.
func (b *box) row(change func(*state.Row)) string {
	b.Helper()
	row := state.Row{ID: outcome.NewID(), Task: "hourly", Mutex: "hourly", Slot: controltest.Noon, Server: "web-1",
		Snapshot: json.RawMessage(`{"name":"hourly"}`)}
	change(&row)
	db, err := state.Open(b.State(), state.Patience)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Runs().Request(b.Context(), row); err != nil {
		b.Fatal(err)
	}
	return row.ID
}

// living adds a run whose process lives, and does nothing: it is this one. End ends the run.
func (b *box) living(change func(*state.Row)) (run string, end func()) {
	b.Helper()
	db, err := state.Open(b.State(), state.Patience)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	self := db.Self(state.Supervisor)
	own, err := self.Owned(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { self.Close() })
	run = b.row(func(r *state.Row) {
		r.Phase, r.Owner = state.Ready, own.ID
		change(r)
	})
	return run, func() {
		b.Helper()
		stopped := state.Ending{Result: state.Result{Outcome: outcome.Stopped, Ended: time.Now()}}
		if err := own.Apply(b.Context(), state.End(stopped), &state.Row{ID: run}); err != nil {
			b.Fatal(err)
		}
		for end := time.Now().Add(30 * time.Second); len(b.server.stopping) > 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
}

func (b *box) end(how, run, reason string) answer {
	b.Helper()
	body, _ := json.Marshal(Reason{reason})
	return b.call(call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/" + how,
		values: []string{run}, body: string(body)})
}

// endsWhatWaits cancels and stops runs that wait, live and have ended.
func (b *box) endsWhatWaits() {
	b.Helper()
	asked := decode[view.Request](b, b.call(call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
		values: []string{"hourly"}, body: `{"in": 600}`}).body).Run
	paused := b.row(func(r *state.Row) {
		r.Scheduled, r.Slot = true, controltest.Noon.Add(-90*time.Minute)
		r.Wait, r.Reason = state.Wait{For: state.ForPause, Until: controltest.Noon.Add(time.Hour)}, "paused by me"
	})
	for run, waits := range map[string]string{asked: "it waits until", paused: "it waits for the end of a pause"} {
		b.wants("a run that waits", b.call(call{scope: ScopeRead, method: "GET", route: "/runs/{id}",
			values: []string{run}}), 200, `"state": "waiting"`)
		b.wants("a stop of it", b.end("stop", run, ""), 409, waits, "takes it back")
		b.wants("a part of its id", b.end("cancel", run[:11], ""), 400, "too short")
		b.wants("its end", b.end("cancel", run, "it is too late"), 200, `"state": "ended"`, `"outcome": "skipped"`,
			"cancelled by my-operate: it is too late")
		b.wants("its end, once more", b.end("cancel", run, ""), 409,
			"is not running: it was skipped: cancelled by my-operate")
		b.wants("a stop after it", b.end("stop", run, ""), 409, "is not running")
	}
	deferred := func() string {
		return b.row(func(r *state.Row) {
			r.Phase, r.Attempt = state.Waiting, state.Attempt{Number: 1, At: controltest.Noon}
			r.Wait = state.Wait{For: state.ForTime, NotBefore: controltest.Noon.Add(time.Hour)}
		})
	}
	for _, how := range []string{"cancel", "stop"} {
		b.wants(how+" between two attempts", b.end(how, deferred(), "enough"), 200, `"state": "ended"`, `"outcome": "stopped"`, "by my-operate: enough")
	}
	queued, endQueued := b.living(func(r *state.Row) {
		r.Wait = state.Wait{For: state.ForMutex, Since: controltest.Noon, Until: controltest.Noon.Add(time.Hour)}
	})
	running, endRunning := b.living(func(r *state.Row) {
		r.Phase, r.Attempt, r.Started = state.Running, state.Attempt{Number: 1, At: controltest.Noon}, controltest.Noon
	})
	long := strings.Repeat("x", maxReason+1)
	b.wants("a long reason of a cancel", b.end("cancel", queued, long), 400, "the reason is longer than 500")
	b.wants("a long reason of a stop", b.end("stop", running, long), 400, "the reason is longer than 500")
	b.wants("the run that was not stopped", b.call(call{scope: ScopeRead, method: "GET", route: "/runs/{id}", values: []string{running}}), 200, `"stop_by": ""`)
	b.wants("a run that does not wait", b.end("cancel", running, ""), 409, "does not wait: it is", "/stop stops it")
	b.wants("a run whose process lets it wait on", b.end("cancel", queued, ""), 202, `"state": "queued"`, `"stop_by": "my-operate"`)
	endQueued()
	b.wants("a run whose process does not end it", b.end("stop", running, "enough"), 202, `"stop_by": "my-operate: enough"`)
	endRunning()
	b.wants("what came of it", b.call(call{scope: ScopeRead, method: "GET", route: "/runs/{id}",
		values: []string{running}}), 200, `"outcome": "stopped"`)
}

// The log says that a pause was planned, for when, and that it was taken back.
func TestTheLogOfChangesHasTheTimesOfPlannedPauses(t *testing.T) {
	defer func(now func() time.Time) { clock.Now = now }(clock.Now)
	clock.Now = controltest.Now // by which pauses that are over are forgotten
	b := newBox(t, shop)
	from := b.server.Now().Add(time.Hour).UTC().Truncate(time.Minute)
	body := `{"tasks": ["hourly"], "from": "` + from.Format(time.RFC3339) + `", "for": 600, "reason": "patch day"}`
	b.wants("a plan", b.call(call{scope: ScopeOperate, method: "POST", route: "/pauses", body: body}), 201, `"planned": true`)
	audit := call{scope: ScopeRead, method: "GET", route: "/audit"}
	until := from.Add(10 * time.Minute)
	b.wants("the plan in the log", b.call(audit), 200,
		`"reason": "from `+humanize.MinuteZone(from, time.UTC)+` until `+humanize.MinuteZone(until,
			time.UTC)+`: patch day"`)
	id := "hourly@" + from.Format(time.RFC3339)
	b.wants("its end", b.call(call{scope: ScopeOperate, method: "DELETE", route: "/pauses/{id}", values: []string{id}}), 204)
	b.wants("its end in the log", b.call(audit), 200, `"reason": "what was planned"`)
}

func TestAParamWithoutAValueIsAskedForAsTheAPITakesIt(t *testing.T) {
	b := newBox(t, `tasks: [{name: restore, params: {DAY: {}}, command: "true"}]`)
	hook := b.token(Token{Name: "h", Scope: ScopeHook, Task: "restore"}) // made while the param had a default
	for _, tt := range []struct {
		call         call
		detail, hint string
	}{
		{call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger", values: []string{"restore"}},
			"restore needs a value for DAY, which has no default", `"params": {"DAY": "…"} sets one`},
		{call{method: "POST", route: "/hooks/{key}", values: []string{hook}},
			"a hook sets no params: restore needs a value for DAY, which has no default", HookHint},
	} {
		answer := b.call(tt.call)
		if p := decode[Problem](b, answer.body); answer.status != 400 || p.Detail != tt.detail || p.Hint != tt.hint {
			t.Errorf("%d %s", answer.status, answer.body)
		}
	}
}

// A task may have the name that stands for the pause of all tasks.
func TestThePauseOfATaskCalledEverything(t *testing.T) {
	b := newBox(t, "tasks: [{name: everything, every: hour, command: 'true'}]\n")
	pauses := func() (ids []string) {
		all := b.call(call{scope: ScopeRead, method: "GET", route: "/pauses"}).body
		for _, p := range decode[page[Pausing]](t, all).Items {
			ids = append(ids, p.ID)
		}
		return ids
	}
	for _, body := range []string{"", `{"tasks": ["everything"]}`} {
		b.wants("a pause", b.call(call{scope: ScopeOperate, method: "POST", route: "/pauses", body: body}), 201, "everything")
	}
	if ids := pauses(); !slices.Equal(ids, []string{"everything", "task everything"}) {
		t.Errorf("the ids are %q", ids)
	}
	b.wants("its end", b.call(call{scope: ScopeOperate, method: "DELETE", route: "/pauses/{id}",
		values: []string{"task everything"}}), 204)
	if ids := pauses(); !slices.Equal(ids, []string{"everything"}) {
		t.Errorf("the ids are %q", ids)
	}
}

func TestAHookHasTenCallsAMinute(t *testing.T) {
	var throttle hookThrottle
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for n := range maxHookCalls {
		if wait := throttle.take("a", now.Add(time.Duration(n)*time.Second)); wait != 0 {
			t.Errorf("call %d waits %s", n, wait)
		}
	}
	if wait := throttle.take("a", now.Add(20*time.Second)); wait != 40*time.Second {
		t.Errorf("one more waits %s", wait)
	}
	if wait := throttle.take("b", now.Add(20*time.Second)); wait != 0 {
		t.Errorf("another hook waits %s", wait)
	}
	if wait := throttle.take("a", now.Add(time.Minute)); wait != 0 {
		t.Errorf("after a minute it waits %s", wait)
	}
	if wait := throttle.take("a", now.Add(time.Minute)); wait != time.Second {
		t.Errorf("one of the ten has ended, and the next waits %s", wait)
	}
}

// waitsForARun triggers runs and waits for their end.
func (b *box) waitsForARun() {
	b.Helper()
	trigger := func(query string) answer {
		return b.call(call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"a/b"}, query: query, body: `{"in": 600}`})
	}
	pending := func() (runs []state.Row) {
		s, _, err := b.Load()
		if err != nil {
			b.Error(err)
		}
		for _, row := range b.View(s).Live() {
			if row.Pending() && row.Task == "a/b" {
				runs = append(runs, row)
			}
		}
		return runs
	}
	for _, wrong := range []string{"60", "-1s", "0s", "11m", "soon"} {
		b.wants("to wait "+wrong, trigger("?wait="+wrong), 400, "is not a time to wait")
	}
	before := pending()
	b.wants("a run that does not end", trigger("?wait=10ms"), 202, `"task": "a/b"`)
	if n := len(pending()); n != len(before)+1 {
		b.Fatalf("%d runs wait, and before it %d did", n, len(before))
	}
	before = pending()
	answered := make(chan answer)
	go func() { answered <- trigger("?wait=2m") }()
	var second state.Row
	for end := time.Now().Add(time.Minute); second.ID == "" && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, row := range pending() {
			if !slices.ContainsFunc(before, func(r state.Row) bool { return r.ID == row.ID }) {
				second = row
			}
		}
	}
	b.wants("its end", b.end("cancel", second.ID, "enough"), 200, `"outcome": "skipped"`)
	b.wants("the answer", <-answered, 200, `"run": "`+second.ID, `"record": {`, `"outcome": "skipped"`)
}
