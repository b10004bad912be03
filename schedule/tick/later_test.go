package tick

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/pause"
	"sched/schedule/tick/admission"
	"sched/testing/machine"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clockOf is a clock that can be set, and goes on at the usual pace.
func clockOf(t *testing.T, at time.Time) (set func(time.Duration)) {
	begun := time.Now()
	var offset atomic.Int64
	before := clock.Now
	clock.Now = func() time.Time { return at.Add(time.Since(begun) + time.Duration(offset.Load())) }
	t.Cleanup(func() { clock.Now = before })
	return func(d time.Duration) { offset.Add(int64(d)) }
}

// Each row is a clock that is set while a tick waits for the slot of 10:00:50.
func TestATickWaitsByTheClockOnTheWall(t *testing.T) {
	minute := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		begin int
		by    time.Duration
		want  string
	}{
		{"nobody sets it", 49, 0, ""},
		{"ahead", 10, time.Hour, ""},
		{"ahead by what was left", 10, 40 * time.Second, ""},
		{"back by hours", 10, -2 * time.Hour, "the clock was set back to 2026-01-05 08:00:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := clockOf(t, minute.Add(time.Duration(tt.begin)*time.Second))
			tick := moment{minute: minute, zone: time.UTC}
			reached := make(chan string)
			begun := time.Now()
			go func() { reached <- tick.awaitInstant(t.Context(), schedule.Slot{At: minute.Add(50 * time.Second)}) }()
			time.AfterFunc(50*time.Millisecond, func() { set(tt.by) })
			select {
			case reason := <-reached:
				if len(reason) < len(tt.want) || reason[:len(tt.want)] != tt.want || tt.want == "" && reason != "" {
					t.Errorf("%q", reason)
				}
				if took := time.Since(begun); took > machine.Within(5*time.Second) {
					t.Errorf("it took %s", took)
				}
			case <-time.After(20 * time.Second):
				t.Error("it waits on")
			}
		})
	}
}

func TestWhatEndsTheWaitIsTheReason(t *testing.T) {
	for want, cause := range map[string]error{
		"sched run was stopped by SIGTERM": errors.New("by SIGTERM"),
		"interrupted by ann on web-1":      admission.Interruption{Interrupt: pause.Interrupt{By: "ann", Server: "web-1"}},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		tick := moment{minute: noon, zone: time.UTC}
		time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
		if got := tick.awaitInstant(ctx, schedule.Slot{At: clock.Now().Add(50 * time.Second)}); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
