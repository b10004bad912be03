package run

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// A run that cannot be finished because its task cannot be read is lost. It was said to be still
// running.
func TestARunWhoseTaskCannotBeReadIsNotSaidToRun(t *testing.T) {
	storage := holding.StorageAt(t.TempDir(), nil)
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
	if row, err := storage.DB.Runs().Row(t.Context(), r.Own.ID); err != nil || row.Outcome != outcome.Lost {
		t.Errorf("%+v, %v", row, err)
	}
}
