package servers_test

import (
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/redistest"
	"sched/schedule/servers"
)

func TestAServerThatIsGoneIsForgotten(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		for _, name := range []string{"web-1", "web-2"} {
			if _, err := servers.Announce(t.Context(), r, time.Now, servers.Server{Name: name, Minute: time.Now(), File: "/srv/shop/schedule.yaml", Digest: "d"}); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []bool{true, false} {
			if found, err := servers.ForgetServer(t.Context(), r, "web-1"); found != want || err != nil {
				t.Errorf("%t, %v", found, err)
			}
		}
		all, err := servers.List(t.Context(), r)
		if err != nil || len(all) != 1 || all[0].Name != "web-2" {
			t.Errorf("%v, %v", all, err)
		}
		files, err := servers.Schedules(t.Context(), r)
		if err != nil || len(files) != 1 || files[0].Server != "web-2" {
			t.Errorf("%v, %v", files, err)
		}
	})
}
