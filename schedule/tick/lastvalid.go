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

// validSchedule is what the database keeps of a valid schedule. Tasks with `servers` are compared
// with what the machine was then.
func validSchedule(s *schedule.Schedule) state.ValidSchedule {
	return state.ValidSchedule{
		File: s.File, Digest: s.Digest, Since: clock.Now(),
		Machine: strings.Join(append([]string{s.Machine.Name}, s.Machine.Labels...), " "),
	}
}

// machineOf returns what the machine was when the schedule was kept.
func machineOf(kept state.ValidSchedule) placement.Machine {
	words := strings.Split(kept.Machine, " ")
	return placement.Machine{Name: words[0], Labels: words[1:]}
}

// keepValid keeps the schedule of this tick as the last valid one, for the day when an edit breaks
// the file.
func (a *Account) keepValid(ctx context.Context) error {
	if !a.Valid {
		return nil
	}
	var unread error
	err := a.plan.Values().KeepValid(ctx, validSchedule(a.Schedule), func() (text []byte, err error) {
		text, unread = a.Schedule.Archive()
		return text, unread
	})
	if unread != nil {
		a.say("the last valid schedule is not kept: %v", unread)
		return nil
	}
	return err
}

// LastValid returns the last valid text of the schedule in file, for load.Archive; the error is
// os.ErrNotExist if there is no such text. It changes nothing in the folder.
func LastValid(dir, file string) ([]byte, error) {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	kept, err := db.Values().LastValid(context.Background(), file)
	if err == nil && kept.Digest == "" {
		err = os.ErrNotExist
	}
	return kept.Text, err
}
