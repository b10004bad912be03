package tick

import (
	"context"
	"os"
	"strings"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/placement"
	"sched/schedule/state"
)

// This file is about the last valid schedule: the database keeps the text of a schedule, so that an
// edit that breaks the file does not stop the tasks.

// validSchedule returns what the database keeps of a valid schedule. Machine is kept because
// `servers` of a task depends on it.
func validSchedule(s *schedule.Schedule) state.ValidSchedule {
	return state.ValidSchedule{
		File: s.File, Digest: s.Digest, Since: clock.Now(),
		Machine: strings.Join(append([]string{s.Machine.Name}, s.Machine.Labels...), " "),
	}
}

// machineOf returns the machine for which the schedule was kept.
func machineOf(last state.ValidSchedule) placement.Machine {
	words := strings.Split(last.Machine, " ")
	return placement.Machine{Name: words[0], Labels: words[1:]}
}

// keepValid writes the schedule of this tick down as the last valid one, if it is valid. A schedule
// whose text cannot be read is only a problem to report.
func (l *Ledger) keepValid(ctx context.Context) error {
	if !l.Valid {
		return nil
	}
	var readError error
	err := l.plan.Values().KeepValid(ctx, validSchedule(l.Schedule), func() (text []byte, err error) {
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
