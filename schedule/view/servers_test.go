package view

import (
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/pause"
	"sched/testing/storetest"
)

func TestATaskThatNoTickingServerRunsIsATrouble(t *testing.T) {
	store := storetest.New()
	for _, s := range []cluster.Server{{Name: "web-1", Labels: []string{"role=web"}}, {Name: "web-2"}} {
		if _, _, err := cluster.Announce(t.Context(), store, time.Now, s); err != nil {
			t.Fatal(err)
		}
	}
	of := &Health{Schedule: &schedule.Schedule{Tasks: []*schedule.Task{
		{Name: "of-web", Servers: []string{"role=web"}, Enabled: true},
		{Name: "of-db", Servers: []string{"db-*"}, Enabled: true},
		{Name: "of-all", Enabled: true},
		{Name: "off", Servers: []string{"db-1"}},
	}}}
	got := unservedTasks(t.Context(), Source{Controls: pause.Source{Store: store}}, of)
	want := "no server runs it: servers is db-*, and those that tick are web-1 (labels: role=web); web-2"
	if len(got) != 1 || got[0].Task != "of-db" || got[0].Text != want {
		t.Errorf("%+v", got)
	}
}
