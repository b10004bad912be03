package tick

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sched/schedule/run"
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
		begun, ok := s.beginWaiting(s.newRow(slots[i]), slots[i], lockRefusal{cause: locksHeld, reason: "held"})
		if !ok {
			t.Fatalf("%s does not wait", slots[i].Task.Name)
		}
		t.Cleanup(begun.Close)
		return begun
	}
	first := begin(tick.launcher, 0)
	if got := tick.launcher.waitsAlready(slots[1].Task); got != "" {
		t.Errorf("b does not wait yet: %q", got)
	}
	begin(w.tick().prepare(unstopped).launcher, 1)
	for _, slot := range slots {
		if got := tick.launcher.waitsAlready(slot.Task); !strings.HasPrefix(got, "already waiting for ") {
			t.Errorf("%s waits: %q", slot.Task.Name, got)
		}
	}
	run.FailBeforeStart(first, errors.New("it waits no more"), nil)
	if got := tick.launcher.waitsAlready(slots[0].Task); got != "" {
		t.Errorf("a waits no more: %q", got)
	}
}

// A dry run once said "would run" of a task whose mutex was held, because it could not read who
// holds it, and did not say so.
func TestADryRunReportsThatItCannotReadWhoHoldsAMutex(t *testing.T) {
	w := newWorld(t, 1, `
  - {name: a, cron: "* * * * *", without_overlapping: true, command: "true"}
`)
	if err := os.MkdirAll(w.storage.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	damaged := []byte(strings.Repeat("no database", 100))
	if err := os.WriteFile(filepath.Join(w.storage.Dir, "sched.db"), damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	tick := w.tick()
	tick.DryRun()
	if reported := strings.Join(w.said, "\n"); !strings.HasPrefix(reported, "which runs hold a mutex is not known: ") {
		t.Errorf("it reports %q", reported)
	}
}
