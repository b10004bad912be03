package view

import (
	"context"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/overdue"
	"sched/schedule/state"
)

// An Expect says how long a run of a task may take, and how often the task has to succeed.
type Expect struct {
	Within *float64 `json:"within"` // seconds; null for no bound
	Every  *float64 `json:"every"`  // seconds; null for no bound
}

// An Overdue says in which way a task is overdue.
type Overdue struct {
	Kind  string `json:"kind"`  // within or every
	Since string `json:"since"` // when the run began, or the last success ended
	Run   string `json:"run"`   // the run that takes too long; "" if a success is overdue
	Text  string `json:"text"`
}

func expectOf(t *schedule.Task) *Expect {
	if t.Expect == (schedule.Expect{}) {
		return nil
	}
	return &Expect{secondsOrNil(t.Expect.Within), secondsOrNil(t.Expect.Every)}
}

// overdueNow returns how tasks are overdue, as far as the last tick found it and it is still so. It
// reads nothing if the schedule expects nothing.
func overdueNow(ctx context.Context, s Source, all *Records, names []string) map[string][]Overdue {
	if len(s.Schedule.Expecting()) == 0 {
		return nil
	}
	open, err := overdue.Open(ctx, all.DB)
	if err != nil {
		s.Problem("what is overdue cannot be read: %v", err)
	}
	live := map[string]bool{}
	for _, row := range all.Live {
		live[row.ID] = true
	}
	rows := map[string][]Overdue{}
	for _, name := range names {
		t, err := FindTask(s.Schedule, name)
		if err != nil || len(open[name]) == 0 || t.Expect == (schedule.Expect{}) || !s.Schedule.Active(t) {
			continue
		}
		for _, i := range overdue.StillOpen(open[name], live, newestSuccess(ctx, all, name)) {
			row := Overdue{Kind: string(i.Kind), Since: i.Since.UTC().Format(time.RFC3339), Text: i.Text(s.Now())}
			if i.Kind == overdue.Within {
				row.Run = i.ID
			}
			rows[name] = append(rows[name], row)
		}
	}
	return rows
}

func newestSuccess(ctx context.Context, all *Records, name string) (ended time.Time) {
	found, _ := all.Find(ctx, state.Query{Task: name, Outcomes: []outcome.Outcome{outcome.Succeeded}, Limit: 1})
	for _, r := range found {
		ended = r.Ended
	}
	return ended
}
