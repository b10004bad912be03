package runner

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sched/schedule"
)

// A slot whose condition has answered in the meantime runs before those that come after it in the file.
func TestWhatHasAnsweredGoesFirst(t *testing.T) {
	w := newWorld(t, 1, `
- {name: late, cron: "* * * * *", command: echo late >> ran, when: "true"}
- {name: next, cron: "* * * * *", command: echo next >> ran}
- {name: last, cron: "* * * * *", command: echo last >> ran, skip: exit 1}
`)
	tick, slots := w.begin()
	queue := tick.queue(len(slots))
	late := tick.conditions.add(t.Context(), slots[0])
	tick.conditions.check(late)
	queue.open++
	queue.answered <- late
	queue.run(slots[1:])
	queue.rest()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(w.schedule.File), "ran"))
	if err != nil || string(text) != "late\nnext\nlast\n" {
		t.Errorf("%v, ran:\n%s", err, text)
	}
}

// How long others wait for a condition.
func TestPatience(t *testing.T) {
	w := newWorld(t, 1, `
- {name: t, cron: "0,20 * * * * *", command: "true", when: "true"}
- {name: other, cron: "0,1 * * * * *", command: "true"}
`)
	tick, slots := w.begin() // t :00, other :00, other :01, t :20
	queue := tick.queue(len(slots))
	first, second := tick.conditions.add(t.Context(), slots[0]), tick.conditions.add(t.Context(), slots[3])
	for _, row := range []struct {
		name string
		slot *conditional
		rest []schedule.Slot
		want time.Duration
	}{
		{"nothing comes after it", first, nil, time.Second},
		{"something is due at the same second", first, slots[1:2], time.Second},
		{"something is due a second later, and the clock shows :00", first, slots[1:], 500 * time.Millisecond},
		{"something is due 20 seconds later", first, slots[3:], time.Second},
		{"the slot of the task before it has not answered", second, nil, 0},
	} {
		if got := queue.patience(row.slot, row.rest); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
	close(first.decided)
	if got := queue.patience(second, nil); got != time.Second {
		t.Errorf("the slot of the task before it is decided: %s", got)
	}
}
