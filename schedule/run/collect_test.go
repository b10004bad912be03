package run

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// The process that was responsible for a run is gone. The row alone decides what becomes of the
// run.
func TestHowFarARunHadComeWhenItsProcessWasGone(t *testing.T) {
	for _, row := range []struct {
		what string
		row  state.Row
		want stage
	}{
		{"its row was written, and nothing was started", state.Row{Phase: state.Ready}, commandStarted},
		{"its command was about to be started",
			state.Row{Phase: state.Running, Attempt: state.Attempt{Number: 1}}, commandStarted},
		{"its command was started", state.Row{Phase: state.Running, Attempt: state.Attempt{Number: 1, PID: 4711}},
			commandStarted},
		{"it waited for its mutex", state.Row{Phase: state.Ready, Wait: state.Wait{For: state.ForMutex}}, inQueue},
		{"it waited for a seat", state.Row{Phase: state.Ready, Wait: state.Wait{For: state.ForSeat}}, inQueue},
		{"its turn had come, and it was paused",
			state.Row{Phase: state.Ready, Wait: state.Wait{For: state.ForPause}}, inQueue},
		{"it waited for its second attempt",
			state.Row{Phase: state.Ready, Attempt: state.Attempt{Number: 1}, Wait: state.Wait{For: state.ForTime}},
			betweenAttempts},
		{"a tick has taken its deferred retry",
			state.Row{Phase: state.Ready, Attempt: state.Attempt{Number: 2}, Wait: state.Wait{For: state.ForMutex}},
			betweenAttempts},
		{"its hooks were being fired", state.Row{Phase: state.Finishing, Attempt: state.Attempt{Number: 1},
			Result: state.Result{Outcome: outcome.Failed}}, resultWritten},
	} {
		if got := stageOf(row.row); got != row.want {
			t.Errorf("%s: stage %d, not %d", row.what, got, row.want)
		}
	}
}

// A run that cannot be finished because its task cannot be read is lost. It was said to be still
// running.
func TestARunWhoseTaskCannotBeReadIsNotSaidToRun(t *testing.T) {
	storage := StorageAt(t.TempDir(), nil)
	defer storage.DB.Close()
	killed := NewCaller(storage, state.Tick, nil)
	r := firstAttempt(t, killed, schedule.Retry{}, false)
	killed.Self.Close()
	file, err := sql.Open("sqlite", filepath.Join(storage.Dir, "sched.db"))
	if err == nil {
		_, err = file.Exec(`UPDATE definition SET body = '{"Name": 1}'`)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}

	_, err = NewCaller(storage, state.Finish, nil).FinishNewest("report", nil)
	if err == nil || errors.As(err, new(*AliveError)) || !strings.Contains(err.Error(), "cannot unmarshal") {
		t.Errorf("FinishNewest: %v", err)
	}
	if row, err := storage.DB.Runs().Row(t.Context(), r.row.ID); err != nil || row.Outcome != outcome.Lost {
		t.Errorf("%+v, %v", row, err)
	}
}
