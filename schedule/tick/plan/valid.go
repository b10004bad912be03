package plan

import (
	"context"
	"os"
	"strings"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/state"
)

// validSchedule returns what the database keeps of a valid schedule. Machine is kept because
// `servers` of a task depends on it.
func validSchedule(s *schedule.Schedule) state.ValidSchedule {
	return state.ValidSchedule{
		File: s.File, Digest: s.Digest, Since: clock.Now(),
		Machine: strings.Join(append([]string{s.Machine.Name}, s.Machine.Labels...), " "),
	}
}

// keepValid writes the schedule of this tick down as the last valid one, if it is valid. A schedule
// whose text cannot be read is only a problem to report.
func keepValid(ctx context.Context, l *Ledger) error {
	if !l.Valid {
		return nil
	}
	var readError error
	err := l.tx.Values().KeepValid(ctx, validSchedule(l.Schedule), func() (text []byte, err error) {
		text, readError = l.Schedule.Archive()
		return text, readError
	})
	if readError != nil {
		l.addProblem("the last valid schedule is not kept: %v", readError)
		return nil
	}
	return err
}

// LastValid returns the last valid text of the schedule in file, for load.Archive. The error is
// os.ErrNotExist if there is no such text. LastValid changes nothing in the folder.
func LastValid(dir, file string) ([]byte, error) {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	last, err := db.Values().LastValid(context.Background(), file)
	if err == nil && last.Digest == "" {
		err = os.ErrNotExist
	}
	return last.Text, err
}
