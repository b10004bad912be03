package api

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex/redistest"
	"sched/schedule"
	"sched/schedule/actions"
	"sched/schedule/actions/actionstest"
	"sched/schedule/api/access"
	"sched/schedule/outcome"
	"sched/schedule/remote"
	"sched/schedule/servers"
	"sched/schedule/view"
)

// With a store the runs of other servers are shown, and what only their server can do is refused with its name.
func TestRunsOfOtherServers(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	store := redistest.Dial(t, "redis://"+redis.Addr())
	b := newBox(t, shop, func(c *Config) {
		look := c.Schedules.View
		c.Schedules.View = func(s *schedule.Schedule) view.Source {
			source := look(s)
			source.Controls.Store = store
			return source
		}
		act := c.Schedules.Actor
		c.Schedules.Actor = func(s *schedule.Schedule, by string) actions.Actor {
			actor := act(s, by)
			actor.Controls.Store = store
			return actor
		}
	})
	running := servers.Running{Run: outcome.NewIDAt(actionstest.Noon), Task: "hourly", Slot: actionstest.Noon, PID: 7, Since: actionstest.Noon}
	ended := b.Ended("a/b", 60, outcome.Failed, "")
	ended.Server = "web-2"
	ctx := context.Background()
	if _, err := servers.Announce(ctx, store, time.Now, servers.Server{Name: "web-2", Minute: actionstest.Noon, Running: []servers.Running{running}}); err != nil {
		t.Fatal(err)
	}
	if err := servers.Publish(ctx, store, []outcome.Record{ended}); err != nil {
		t.Fatal(err)
	}
	b.wants("the servers", b.call(call{scope: access.Read, method: "GET", route: "/servers"}), 200, `"name": "web-2"`, running.Run)
	b.Remember(b.Ended("hourly", 30, outcome.Succeeded, ""), b.Ended("hourly", 90, outcome.Skipped, ""), b.Ended("hourly", 120, outcome.Failed, ""))
	var all []string
	for query := "?all=true&limit=1"; query != ""; {
		got := decode[page[view.Record]](t, b.call(call{scope: access.Read, method: "GET", route: "/runs", query: query}).body)
		for _, r := range got.Items {
			all = append(all, r.Server+" "+r.Task+" "+string(r.Outcome))
		}
		if query = ""; got.Next != nil {
			query = "?all=true&limit=1&cursor=" + *got.Next
		}
	}
	if want := []string{"web-1 hourly succeeded", "web-2 a/b failed", "web-1 hourly failed"}; !slices.Equal(all, want) {
		t.Errorf("what ran everywhere: %q, want %q", all, want)
	}
	b.wants("what failed everywhere of a task", b.call(call{scope: access.Read, method: "GET", route: "/runs", query: "?all=true&outcome=failed&task=hourly"}), 200, `"next": null`, `"server": "web-1"`)
	b.wants("what was skipped everywhere", b.call(call{scope: access.Read, method: "GET", route: "/runs", query: "?all=true&outcome=skipped"}), 400, "servers do not tell each other")
	b.wants("the tasks", b.call(call{scope: access.Read, method: "GET", route: "/tasks"}), 200, `"host": "web-2"`, ended.Run)
	for _, run := range []string{running.Run, ended.Run} {
		b.wants("the run", b.call(call{scope: access.Read, method: "GET", route: "/runs/{id}", values: []string{run}}), 200, `"server": "web-2"`)
		b.wants("its log", b.call(call{scope: access.Read, method: "GET", route: "/runs/{id}/log", values: []string{run}}), 409, "the output of run "+run+" is on web-2", "POST /api/v1/runs/"+run+"/log asks web-2")
		b.wants("its log as it comes", b.call(call{scope: access.Read, method: "GET", route: "/runs/{id}/log/stream", values: []string{run}}), 409, "web-2")
		b.wants("its retry", b.call(call{scope: access.Operate, method: "POST", route: "/runs/{id}/retry", values: []string{run}}), 409, "web-2")
	}

	stop := func(run string) answer {
		return b.call(call{scope: access.Operate, method: "POST", route: "/runs/{id}/stop", values: []string{run}, body: `{"reason":"it hangs"}`})
	}
	b.wants("the end of one that has ended", stop(ended.Run), 409, "is not running: it failed")
	b.wants("the end of one that lives", stop(running.Run), 202, `"stop_by": "my-operate on `, `"state": "running"`)
	b.wants("once more", stop(running.Run), 202, `"stop_by": "my-operate on `)
	asked, err := remote.Requests(ctx, store, "web-2")
	if err != nil || len(asked) != 1 || asked[0].Run != running.Run || asked[0].Reason != "it hangs" {
		t.Errorf("asked: %+v, %v", asked, err)
	}
	read := call{scope: access.Operate, method: "POST", route: "/runs/{id}/log", values: []string{ended.Run}}
	b.wants("a log is asked for", b.call(read), 202, `"there": false`, `"server": "web-2"`)
	look := call{scope: access.Read, method: "GET", route: "/runs/{id}/log", values: []string{ended.Run}}
	b.wants("it has not come", b.call(look), 409, "web-2 was asked for it", "its next tick answers")
	asked, err = remote.Requests(ctx, store, "web-2")
	if err != nil || len(asked) != 2 || asked[1].Kind != remote.Logs {
		t.Fatalf("asked: %+v, %v", asked, err)
	}
	came := remote.Answer{ID: asked[1].ID, Done: true, Log: &remote.Log{Text: []byte("line 8\nline 9\n"), Offset: 70, Size: 84}}
	if err := remote.Reply(ctx, store, "web-2", came); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := b.call(look)
		b.wants("it has come", got, 200, "line 8\nline 9\n")
		if got.header.Get("Sched-Log-Offset") != "70" || got.header.Get("Sched-Log-Size") != "84" {
			t.Errorf("%v", got.header)
		}
	}
	b.wants("the audit log", b.call(call{scope: access.Read, method: "GET", route: "/audit"}), 200, `"action": "stop"`, `"action": "read"`, "it hangs", running.Run)

	redis.Close()
	tasks := b.call(call{scope: access.Read, method: "GET", route: "/tasks"})
	b.wants("the tasks without the store", tasks, 200, `"name": "hourly"`)
	if tasks.header.Get("Sched-Problem") == "" {
		t.Errorf("nothing is said of it: %v", tasks.header)
	}
	got := b.call(call{scope: access.Read, method: "GET", route: "/servers"})
	b.wants("the servers without it", got, 503)
	if got.problem(t).Hint == "" {
		t.Errorf("no hint: %s", got.body)
	}
}
