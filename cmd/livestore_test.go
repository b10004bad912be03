package cmd

import (
	"testing"

	"sched/mutex"
	"sched/schedule"
)

func TestAfterAnEditOfTheStoreServeStopsRunsWithTheNewStore(t *testing.T) {
	dir := t.TempDir()
	a := &app{}
	live := &liveStore{app: a}
	for _, server := range []string{"redis://old", "redis://new"} {
		s := &schedule.Schedule{Name: "shop", StateDir: dir, Store: schedule.Store{Servers: []string{server}}}
		var used mutex.Config
		live.use(s, func() { used = a.caller(s).Store.Config() })
		if used.Servers[0] != server {
			t.Errorf("runs are stopped with %s, and the schedule has %s", used.Servers[0], server)
		}
	}
	a.close()
}
