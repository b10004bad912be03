package tick

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule/run"
)

// Hundreds of slots of one minute each asked which runs wait, and read the files of all these runs.
// A tick knows the runs that it has begun itself, or found a moment ago. It sees at once when a run
// waits no more.
func TestATickLooksOnceForTheRunsThatWait(t *testing.T) {
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
	tick.launcher.queued.readAt = time.Now().Add(time.Hour) // it does not look again
	begin(w.tick().prepare(unstopped).launcher, 1)
	for i, want := range []string{"already waiting for 0 ms", ""} {
		if got := tick.launcher.waitsAlready(slots[i].Task); (got != "") != (want != "") ||
			!strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, not %q", slots[i].Task.Name, got, want)
		}
	}
	first.FailBeforeStart(errors.New("it waits no more"), nil)
	if got := tick.launcher.waitsAlready(slots[0].Task); got != "" {
		t.Errorf("a waits no more: %q", got)
	}
	tick.launcher.queued.readAt = time.Time{}
	if got := tick.launcher.waitsAlready(slots[1].Task); !strings.HasPrefix(got, "already waiting for ") {
		t.Errorf("b waits by now: %q", got)
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
