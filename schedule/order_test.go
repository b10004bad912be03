package schedule_test

import (
	"testing"
	"time"

	"sched/schedule"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestATickThatIsBehindRunsFirstWhatHasWaitedLongest(t *testing.T) {
	a, b, c := &schedule.Task{Name: "a"}, &schedule.Task{Name: "b"}, &schedule.Task{Name: "c"}
	at := func(task *schedule.Task, second int) schedule.Slot {
		return schedule.Slot{Task: task, At: noon.Add(time.Duration(second) * time.Second)}
	}
	names := func(slots []schedule.Slot) (text string) {
		for _, slot := range slots {
			text += slot.Task.Name + slot.At.Format("05 ")
		}
		return text
	}
	behind := func(schedule.Slot) bool { return true }
	var queue schedule.ForegroundOrder
	slots := []schedule.Slot{at(a, 0), at(a, 10), at(b, 10), at(c, 10), at(a, 20), at(b, 20)}
	reordered := func() string {
		queue.Reorder(slots, 1, behind)
		return names(slots[1:])
	}
	if got := reordered(); got != "a10 b10 c10 a20 b20 " {
		t.Errorf("before any ran: %s", got)
	}
	queue.Ran(a)
	queue.Ran(c)
	queue.Reorder(slots, 1, func(schedule.Slot) bool { return false })
	queue.Reorder(slots, 2, behind)
	if got := names(slots[1:]); got != "a10 b10 c10 a20 b20 " {
		t.Errorf("not behind, and not the first of its instant: %s", got)
	}
	if got := reordered(); got != "b10 a10 c10 a20 b20 " {
		t.Errorf("after a and c: %s", got)
	}
	queue.Ran(a)
	if got := reordered(); got != "b10 c10 a10 a20 b20 " {
		t.Errorf("after a again: %s", got)
	}
}
