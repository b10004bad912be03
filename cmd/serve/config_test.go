package serve

import (
	"testing"

	"sched/cmd/app"
	"sched/schedule"
	"sched/schedule/run"
)

func TestAfterAnEditServeStopsRunsWithTheNewStoreAndStateFolder(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	a := &app.App{}
	live := &liveStore{app: a}
	for _, row := range []struct{ dir, server string }{
		{first, "redis://old"},
		{first, "redis://new"},
		{second, "redis://new"},
	} {
		s := &schedule.Schedule{Name: "shop", StateDir: row.dir, Store: schedule.Store{Servers: []string{row.server}}}
		var used run.Caller
		live.use(s, func() { used = a.Caller(s) })
		if server := used.Store.Config().Servers[0]; server != row.server || used.Dir != row.dir {
			t.Errorf("runs are stopped with %s in %s, and the schedule has %s", server, used.Dir, row.server)
		}
	}
	a.Close()
}
