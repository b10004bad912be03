package supervise

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/load"
	"sched/schedule/outcome"
	"sched/schedule/run"
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
	caller := run.NewCaller(holding.StorageAt(s.StateDir, nil), state.Tick, os.Environ())
	defer caller.DB.Close()
	r, err := caller.Begin(state.Row{ID: outcome.NewID(), Task: "t", Mutex: "t", Slot: time.Now(), Server: "here"}, s.Tasks[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	terminate, end := context.WithCancelCause(context.Background())
	go func() {
		for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
			if begun, _ := caller.DB.Hooks(t.Context(), r.Own.ID); len(begun) > 0 && begun[0].PID != 0 {
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

// A run of the foreground is stopped after it was written down that it begins, and before its
// command has started: nothing runs.
func TestAForegroundRunThatIsStoppedBeforeItsStartRunsNothing(t *testing.T) {
	for _, signalled := range []bool{false, true} {
		storage := holding.StorageAt(t.TempDir(), nil)
		defer storage.DB.Close()
		proof := filepath.Join(t.TempDir(), "proof")
		task := &schedule.Task{Name: "report", Mutex: "report", Dir: storage.Dir, Folder: storage.Dir,
			Command: schedule.Command{List: []string{"touch", proof}}, Retry: schedule.Retry{Attempts: 1}}
		caller := run.NewCaller(storage, state.Tick, os.Environ())
		defer caller.Self.Close()
		row := state.Row{ID: outcome.NewID(), Task: "report", Mutex: "report", Slot: time.Now().UTC()}
		prepared, err := caller.Prepare(row, task, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := prepared.BeginToExecute()
		if err != nil {
			t.Fatal(err)
		}
		terminate, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		want := "sched stop by ada"
		if signalled {
			want = "before attempt 1"
			cancel(errors.New("by SIGTERM"))
		} else if err := storage.DB.Runs().AskStop(t.Context(), row.ID, state.Stop{By: "ada", At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		ended := Execute(r, terminate, t.Context())
		if ended.Outcome != outcome.Stopped || !strings.Contains(ended.Reason, want) {
			t.Errorf("it ended as %s, %s", ended.Outcome, ended.Reason)
		}
		if _, err := os.Stat(proof); err == nil {
			t.Errorf("its command ran, although it was stopped: %s", want)
		}
	}
}
