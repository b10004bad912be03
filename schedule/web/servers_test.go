package web

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex/redistest"
	"sched/schedule"
	"sched/schedule/actions/actionstest"
	"sched/schedule/api"
	"sched/schedule/api/access"
	"sched/schedule/outcome"
	"sched/schedule/servers"
	"sched/schedule/view"
)

// With a store the pages are about all of its servers, and say what only the server of a run can do.
func TestPagesOfOtherServers(t *testing.T) {
	redis := miniredis.RunT(t)
	store := redistest.Dial(t, "redis://"+redis.Addr())
	b := newBox(t, shop, access.Operate, func(c *api.Config) {
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
	other := servers.Server{Name: "web-2", Version: "1.2.3", Minute: actionstest.Noon, File: "/srv/shop.yaml", Digest: "0123", Running: []servers.Running{running}}
	if _, err := servers.Announce(ctx, store, time.Now, other); err != nil {
		t.Fatal(err)
	}
	if err := servers.Publish(ctx, store, []outcome.Record{ended}); err != nil {
		t.Fatal(err)
	}
	b.has("/servers", b.get("/servers", 200), "web-2", "1.2.3", "another text", "/srv/shop.yaml", "/runs/"+running.Run)
	b.has("/", b.get("/", 200), "running", ">a/b</a>", "failed")
	for _, run := range []string{running.Run, ended.Run} {
		b.has("its page", b.get("/runs/"+run, 200), "web-2: only there it can be stopped or retried", "not Stop…", "not Retry…", `not id="log"`)
	}
	redis.Close()
	b.has("/ without the store", b.get("/", 200), ">hourly</a>", "other servers are left out")
	b.get("/servers", 503)
}
