package claims

import (
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/outcome"
)

// A server leaves the slots of a task to the servers that the task prefers, for a second at most.
func TestWhoLeavesASlotToOthers(t *testing.T) {
	locks, now := New(Tick{Server: "web-1", Began: time.Now()}), time.Now()
	slot := func(prefer ...string) schedule.Slot {
		return schedule.Slot{Task: &schedule.Task{OneServer: true, Prefer: prefer}, At: now}
	}
	for _, tt := range []struct {
		slot schedule.Slot
		want bool
	}{{slot("web-2"), true}, {slot("web-1", "web-2"), false}, {slot(), false}} {
		if wait := locks.waitForPreferred(tt.slot); tt.want != (wait > 0) || wait > preferredHeadStart {
			t.Errorf("%s waits for %s", tt.slot.Task.Prefer, wait)
		}
	}
	if locks.Replay = true; locks.waitForPreferred(slot("web-2")) != 0 {
		t.Error("a tick whose minute was given waits")
	}
}

func TestASlotThatAnotherServerClaimedSaysWhich(t *testing.T) {
	holder := mutex.Holder{Run: outcome.NewID(), Host: "web-2"}
	for server, want := range map[string]string{
		"web-1": "another server has this slot by run ", "web-2": "another tick has this slot by run ",
	} {
		got := ClaimReason(&schedule.Task{}, holder, server)
		if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "on web-2") {
			t.Error(got)
		}
	}
	if got := ClaimReason(&schedule.Task{}, mutex.Holder{}, "web-1"); got != "another tick had this slot, some time ago" {
		t.Error(got)
	}
}
