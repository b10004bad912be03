package servers

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/mutex/redistest"
)

func TestEachServerTellsWhichFileItTicks(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		announce := func(server, file, digest string) {
			t.Helper()
			if _, err := Announce(ctx, r, time.Now, Server{Name: server, Minute: noon, File: file, Digest: digest}); err != nil {
				t.Fatal(err)
			}
		}
		announce("web-2", "/srv/shop/schedule.yaml", "1")
		announce("web-1", "/srv/shop/schedule.yaml", "1")
		announce("web-1", "/srv/blog/schedule.yaml", "7")
		announce("web-1", "/srv/shop/schedule.yaml", "1")
		announce("web-3", "", "") // whose file is not known
		all, err := Schedules(ctx, r)
		want := "[{web-1 /srv/blog/schedule.yaml 7} {web-1 /srv/shop/schedule.yaml 1} {web-2 /srv/shop/schedule.yaml 1}]"
		if err != nil || fmt.Sprint(all) != want {
			t.Errorf("%v %v", all, err)
		}
	})
}

func TestAnEditedFileHasItsNewestText(t *testing.T) {
	member := func(second float64, file, digest string) redis.Z {
		return redis.Z{Score: second * 1000, Member: toJSON(Schedule{"web-1", file, digest})}
	}
	all := newestTexts([]redis.Z{member(1, "/a.yaml", "1"), member(2, "/a.yaml", "2"), member(3, "/b.yaml", "3"), member(4, "/a.yaml", "1"), {Member: "?"}})
	if want := "[{web-1 /a.yaml 1} {web-1 /b.yaml 3}]"; fmt.Sprint(all) != want {
		t.Errorf("%v, not %s", all, want)
	}
}
