package plan

import (
	"context"
	"os"
	"strings"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/state"
)

// validSchedule returns what tells the valid schedule of this tick from others. Machine is kept
// because `servers` of a task depends on it.
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
	s := validSchedule(l.Schedule)
	known, err := l.tx.Values().KnowsValid(ctx, s)
	if err != nil || known {
		return err
	}
	if s.Text, err = l.Schedule.Archive(); err != nil {
		l.addProblem("the last valid schedule is not kept: %v", err)
		return nil
	}
	s.Times = dueTimes(l.Schedule)
	return l.tx.Values().KeepValid(ctx, s)
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

// dueTimes returns the due times of the active tasks, by their names.
func dueTimes(s *schedule.Schedule) map[string]string {
	times := map[string]string{}
	for task := range s.ActiveTasks() {
		times[task.Name] = timesOf(task)
	}
	return times
}

// timesOf returns a text that is the same for two tasks that are due at the same times.
func timesOf(task *schedule.Task) string {
	times := task.When.String() + " " + task.When.Location.String()
	if task.When.Shift > 0 {
		times += " " + task.When.Shift.String()
	}
	if bounds := task.Bounds(); bounds != "" {
		times += " " + bounds
	}
	return times
}
