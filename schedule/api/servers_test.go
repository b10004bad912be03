package api

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex/redistest"
	"sched/schedule"
	"sched/schedule/actions/actionstest"
	"sched/schedule/api/access"
	"sched/schedule/outcome"
	"sched/schedule/servers"
	"sched/schedule/view"
)

// With a store the runs of other servers are shown, and what only their server can do is refused with its name.
func TestRunsOfOtherServers(t *testing.T) {
	redis := miniredis.RunT(t)
	store := redistest.Dial(t, "redis://"+redis.Addr())
	b := newBox(t, shop, func(c *Config) {
		look := c.Schedules.View
		c.Schedules.View = func(s *schedule.Schedule) view.Source {
			source := look(s)
			source.Controls.Store = store
			return source
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
	b.wants("the tasks", b.call(call{scope: access.Read, method: "GET", route: "/tasks"}), 200, `"host": "web-2"`, ended.Run)
	for _, run := range []string{running.Run, ended.Run} {
		b.wants("the run", b.call(call{scope: access.Read, method: "GET", route: "/runs/{id}", values: []string{run}}), 200, `"server": "web-2"`)
		b.wants("its log", b.call(call{scope: access.Read, method: "GET", route: "/runs/{id}/log", values: []string{run}}), 409, "the output of run "+run+" is on web-2", "ask on web-2")
		b.wants("its log as it comes", b.call(call{scope: access.Read, method: "GET", route: "/runs/{id}/log/stream", values: []string{run}}), 409, "web-2")
		b.wants("its end", b.call(call{scope: access.Operate, method: "POST", route: "/runs/{id}/stop", values: []string{run}}), 409, "web-2")
		b.wants("its retry", b.call(call{scope: access.Operate, method: "POST", route: "/runs/{id}/retry", values: []string{run}}), 409, "web-2")
	}

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
