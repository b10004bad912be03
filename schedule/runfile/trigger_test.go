package runfile

import (
	"errors"
	"os"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// A process that is killed between the mark and the rename leaves a draft; one that goes on with the hook makes the request
// of it, once. Without the mark nothing is asked for yet.
func TestATriggerIsLeftOnce(t *testing.T) {
	dir, ended := t.TempDir(), time.Now().UTC()
	r := Request{Run: outcome.TriggeredID("cause", "after 1", ended), Task: "effect", At: ended, Triggered: true}
	if other := outcome.TriggeredID("cause", "after 2", ended); other == r.Run {
		t.Error("two hooks of a run ask for one run")
	}
	waiting := func() int {
		all, err := Requests(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	full := errors.New("the disk is full")
	if err := AddTrigger(dir, r, func() error { return full }); err != full || waiting() != 0 {
		t.Errorf("without a mark: %v, and %d wait", err, waiting())
	}
	if err := ResumeTrigger(dir, r.Run); err != nil || waiting() != 0 {
		t.Errorf("where there is no draft: %v, and %d wait", err, waiting())
	}
	if err := r.write(triggerDraft(dir, r.Run)); err != nil || waiting() != 0 {
		t.Fatalf("a draft waits already: %v, %d", err, waiting())
	}
	SweepDrafts(dir, time.Now().Add(48*time.Hour))
	if err := ResumeTrigger(dir, r.Run); err != nil || waiting() != 1 {
		t.Errorf("after a kill: %v, and %d wait", err, waiting())
	}
	if err := os.Remove(requestPath(dir, r.Run)); err != nil {
		t.Fatal(err)
	}
	if err := ResumeTrigger(dir, r.Run); err != nil || waiting() != 0 {
		t.Errorf("after it was answered: %v, and %d wait", err, waiting())
	}
}
