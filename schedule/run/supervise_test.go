package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sched/schedule/load"
	"sched/schedule/outcome"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// The docs say that a run which its tick had to end was stopped, whatever it was doing.
func TestARunWhoseBeforeHookIsEndedWithItsTickWasStopped(t *testing.T) {
	dir := t.TempDir()
	text := "tasks:\n- {name: t, every: minute, command: 'true', before: exec sleep 60}\n"
	s, err := load.Text([]byte(text), filepath.Join(dir, "schedule.yaml"), load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	caller := NewCaller(holding.StorageAt(s.StateDir, nil), state.Tick, os.Environ())
	defer caller.DB.Close()
	r, err := caller.Begin(state.Row{ID: outcome.NewID(), Task: "t", Mutex: "t", Slot: time.Now(), Server: "here"}, s.Tasks[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	terminate, end := context.WithCancelCause(context.Background())
	go func() {
		for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
			if begun, _ := caller.DB.Hooks(t.Context(), r.row.ID); len(begun) > 0 && begun[0].PID != 0 {
				break
			}
		}
		end(errors.New("by SIGTERM"))
	}()
	row := Execute(r, terminate, context.Background())
	if row.Outcome != outcome.Stopped || row.Reason != "before attempt 1: hook before 1: stopped (by SIGTERM)" {
		t.Errorf("it %s: %s", row.Outcome.Verb(), row.Reason)
	}
}
