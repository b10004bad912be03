package tick

import (
	"errors"
	"strings"
	"testing"

	"sched/schedule/run"
	"sched/schedule/tick/claims"
)

// A slot is skipped while another run of its task waits, whichever tick has begun that run.
func TestATickSeesAtOnceWhichRunsWait(t *testing.T) {
	w := newWorld(t, 1, `
  - {name: a, cron: "* * * * *", background: true, without_overlapping: wait, command: "true"}
  - {name: b, cron: "* * * * *", background: true, without_overlapping: wait, command: "true"}
`)
	tick := w.tick().prepare(unstopped)
	slots := w.schedule.Due(tick.tick.Minute)
	begin := func(s *launcher, i int) *run.Run {
		begun, ok := s.beginWaiting(s.newRow(slots[i]), slots[i], claims.Refusal{Cause: claims.Held, Reason: "held"})
		if !ok {
			t.Fatalf("%s does not wait", slots[i].Task.Name)
		}
		t.Cleanup(begun.Close)
		return begun
	}
	first := begin(tick.launcher, 0)
	if got := claims.WaitsAlready(tick.tick.Storage.DB, slots[1].Task); got != "" {
		t.Errorf("b does not wait yet: %q", got)
	}
	begin(w.tick().prepare(unstopped).launcher, 1)
	for _, slot := range slots {
		if got := claims.WaitsAlready(tick.tick.Storage.DB, slot.Task); !strings.HasPrefix(got, "already waiting for ") {
			t.Errorf("%s waits: %q", slot.Task.Name, got)
		}
	}
	run.FailBeforeStart(first, errors.New("it waits no more"), nil)
	if got := claims.WaitsAlready(tick.tick.Storage.DB, slots[0].Task); got != "" {
		t.Errorf("a waits no more: %q", got)
	}
}
