package tick

import (
	"testing"
	"time"

	"sched/schedule/load"
)

func TestWhatIsAccountedFor(t *testing.T) {
	s, err := load.Text([]byte("tasks: [{name: each, cron: '* * * * *', command: x}]"), t.TempDir()+"/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	task, k := s.Tasks[0], accounted{}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	k.add("each", minute(0), minute(0))
	k.add("each", minute(3).Add(7*time.Second), minute(3).Add(7*time.Second)) // by hand
	k.add("each", minute(5), minute(8))
	k.add("each", minute(6), minute(6)) // one that ran, in a row around it
	k.add("other", minute(1), minute(1))
	if first := k.firstOpen(task, noon); !first.Equal(minute(1)) {
		t.Errorf("the first that is open is %s", first)
	}
	if n := k.inRanges(task, noon, minute(10)); n != 4 {
		t.Errorf("%d are in ranges", n)
	}
	if n := k.inRanges(task, minute(1), minute(7)); n != 2 {
		t.Errorf("%d of the first are in ranges", n)
	}
	if k.itself("each", minute(7)) || !k.has("each", minute(7)) || !k.itself("each", minute(6)) || k.has("each", minute(9)) {
		t.Error("what is accounted for by itself, and what in a row")
	}
}
