package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/schedule"
	"sched/schedule/state"
	"sched/testing/redistest"
	"sched/testing/storetest"
)

// A run that starts between two ticks changes of the announcement only which runs live, and
// makes no server of a machine that does not tick.
func TestBetweenTicksAServerTellsOnlyWhatRuns(t *testing.T) {
	store, dir := storetest.New(), t.TempDir()
	a := &Announcer{Name: "web-1", Dir: dir, Schedule: &schedule.Schedule{File: "/srv/shop/schedule.yaml"},
		DB: state.At(dir, state.Patience), Store: store}
	tell := func() []Server {
		if err := a.TellRuns(ctx); err != nil {
			t.Fatal(err)
		}
		return mustList(t, store)
	}
	if all := tell(); len(all) > 0 {
		t.Errorf("a machine without ticks: %+v", all)
	}
	ticked := web(1)
	ticked.Machine, ticked.Labels = Machine(dir), []string{"role=web"}
	ticked.Running = []Running{{Run: runID(1), Task: "a", Slot: noon, PID: 12, Since: noon}} // it has ended since
	announce(t, store, ticked)
	store.Advance(20 * time.Second)
	all := tell()
	if len(all) != 1 || all[0].Age > time.Second || len(all[0].Running) > 0 || all[0].Digest != ticked.Digest ||
		!all[0].Minute.Equal(noon) || len(all[0].Labels) != 1 {
		t.Errorf("%+v", all)
	}
}

// The detail once read "this server is not server".
func TestATickSaysThatItsServerIsNotAnnounced(t *testing.T) {
	redis := miniredis.RunT(t)
	store := redistest.Dial(t, "redis://"+redis.Addr())
	redis.Close()
	var detail string
	a := &Announcer{Store: store, Detail: func(format string, args ...any) { detail = fmt.Sprintf(format, args...) }}
	a.tell(Server{Name: "web-1"})
	if !strings.HasPrefix(detail, "this server is not announced: ") {
		t.Errorf("the detail is %q", detail)
	}
}
