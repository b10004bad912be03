package serve

import (
	"slices"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/view"
	"sched/testing/controltest"
	"sched/testing/redistest"
)

// With a store the runs of other servers are shown. An action that only their server can do is
// refused, and the answer names that server.
func TestRunsOfOtherServers(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	b := newBox(t, shop)
	b.Store = redistest.Dial(t, "redis://"+redis.Addr())
	running, ended := controltest.Running("hourly"), b.Ended("a/b", 60, outcome.Failed, "")
	b.Elsewhere(cluster.Server{Name: "web-2", Minute: controltest.Noon, Running: []cluster.Running{running}}, ended)
	b.wants("the servers", b.call(call{scope: ScopeRead, method: "GET", route: "/servers"}), 200, `"name": "web-2"`, running.Run)
	b.Remember(b.Ended("hourly", 30, outcome.Succeeded, ""), b.Ended("hourly", 90, outcome.Skipped, ""),
		b.Ended("hourly", 120, outcome.Failed, ""))
	var all []string
	for query := "?all_servers=true&limit=1"; query != ""; {
		got := decode[page[view.Record]](t,
			b.call(call{scope: ScopeRead, method: "GET", route: "/runs", query: query}).body)
		for _, r := range got.Items {
			all = append(all, r.Server+" "+r.Task+" "+string(r.Outcome))
		}
		if query = ""; got.Next != nil {
			query = "?all_servers=true&limit=1&cursor=" + *got.Next
		}
	}
	if want := []string{"web-1 hourly succeeded", "web-2 a/b failed", "web-1 hourly failed"}; !slices.Equal(all, want) {
		t.Errorf("what ran everywhere: %q, want %q", all, want)
	}
	b.wants("what failed everywhere of a task",
		b.call(call{scope: ScopeRead, method: "GET", route: "/runs",
			query: "?all_servers=true&outcome=failed&task=hourly"}), 200, `"next": null`, `"server": "web-1"`)
	b.wants("what was skipped everywhere",
		b.call(call{scope: ScopeRead, method: "GET", route: "/runs", query: "?all_servers=true&outcome=skipped"}), 400,
		"servers do not tell each other")
	b.wants("the tasks", b.call(call{scope: ScopeRead, method: "GET", route: "/tasks"}), 200, `"host": "web-2"`, ended.ID)
	there := func(command, run string) string {
		return "is on web-2: `sched " + command + " " + humanize.ShortRun(run) + "` there"
	}
	for _, run := range []string{running.Run, ended.ID} {
		b.wants("the run", b.call(call{scope: ScopeRead, method: "GET", route: "/runs/{id}", values: []string{run}}),
			200, `"server": "web-2"`)
		b.wants("its log", b.call(call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log",
			values: []string{run}}), 409, there("logs", run))
		b.wants("its log as it comes", b.call(call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log/stream",
			values: []string{run}}), 409, there("logs", run))
		b.wants("its retry", b.call(call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/retry",
			values: []string{run}}), 409, there("retry", run))
		end := there("stop", run)
		if run == ended.ID {
			end = "is on web-2, and is not running: it failed"
		}
		b.wants("its end", b.call(call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/stop",
			values: []string{run}}), 409, end)
	}
	b.looksAtEverything(running.Run)
	b.looksAtEverything(ended.ID)

	redis.Close()
	tasks := b.call(call{scope: ScopeRead, method: "GET", route: "/tasks"})
	b.wants("the tasks without the store", tasks, 200, `"name": "hourly"`)
	if tasks.header.Get("Sched-Problem") == "" {
		t.Errorf("nothing is said of it: %v", tasks.header)
	}
	got := b.call(call{scope: ScopeRead, method: "GET", route: "/servers"})
	b.wants("the servers without it", got, 503)
	if got.problem(t).Hint == "" {
		t.Errorf("no hint: %s", got.body)
	}
}
