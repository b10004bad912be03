package plan

import (
	"slices"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/load"
)

func TestSlotsAreSettledByThemselvesOrInARange(t *testing.T) {
	sched, err := load.Text([]byte("tasks: [{name: each, cron: '* * * * *', command: x}]"),
		t.TempDir()+"/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	task, s := sched.Tasks[0], settledSlots{}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	s.add("each", minute(0), minute(0))
	s.add("each", minute(3).Add(7*time.Second), minute(3).Add(7*time.Second)) // by hand
	s.add("each", minute(5), minute(8))
	s.add("each", minute(6), minute(6)) // one that ran, in a row around it
	s.add("other", minute(1), minute(1))
	if first := s.firstOpen(task, noon); !first.Equal(minute(1)) {
		t.Errorf("the first that is open is %s", first)
	}
	if n := s.countInRanges(task, noon, minute(10)); n != 4 {
		t.Errorf("%d are in ranges", n)
	}
	if n := s.countInRanges(task, minute(1), minute(7)); n != 2 {
		t.Errorf("%d of the first are in ranges", n)
	}
	if s.hasSingle("each", minute(7)) || !s.has("each", minute(7)) || !s.hasSingle("each", minute(6)) ||
		s.has("each", minute(9)) {
		t.Error("what is settled by itself, and what in a row")
	}
}

// A task that is switched off is in the schedule, and is named once.
func TestATaskThatIsSwitchedOffIsNamedOnce(t *testing.T) {
	off := &schedule.Task{Name: "off"}
	missed := map[string][]miss{"off": {{}}, "gone": {{}}}
	b := &backfill{ledger: &Ledger{Schedule: &schedule.Schedule{Tasks: []*schedule.Task{off}}}, leftMissed: missed}
	if names := tasksWithMisses(b); !slices.Equal(names, []string{"off", "gone"}) {
		t.Error(names)
	}
}
