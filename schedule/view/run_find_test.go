package view

import (
	"context"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/pause"
)

// For an hour the clock was a year ahead. Until that year was over, `sched logs TASK` showed the
// output of that hour.
func TestTheNewestRunIsNoneOfTheFuture(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 3, 6, 10, 0, 30, 0, time.UTC)
	ran := func(began time.Time) outcome.Record {
		return outcome.Record{
			Run: outcome.NewIDAt(began), Task: "each", Mutex: "each", Slot: began.Truncate(time.Minute), Outcome: outcome.Succeeded,
			Started: began, Ended: began.Add(time.Second),
		}
	}
	old, ahead, replay, newest := ran(now.Add(-time.Hour)), ran(now.AddDate(1, 0, 0)), ran(now.Add(-10*time.Minute)), ran(now.Add(-20*time.Minute))
	replay.Slot = now.AddDate(0, -1, 0).Truncate(time.Minute) // with --at: by start it is the newest
	db, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	each := &schedule.Task{Name: "each", When: cron.When{Location: time.UTC}}
	s := Source{Schedule: &schedule.Schedule{StateDir: dir, Location: time.UTC, Tasks: []*schedule.Task{each}},
		Controls: pause.Source{Dir: dir, ReadOnly: true}, Now: func() time.Time { return now }, Problem: t.Logf}
	for _, step := range []struct {
		add  outcome.Record
		want string
	}{{ahead, ahead.Run}, {old, old.Run}, {newest, newest.Run}, {replay, replay.Run}} {
		if err := db.Add(context.Background(), []outcome.Record{step.add}); err != nil {
			t.Fatal(err)
		}
		if got, err := s.NewestRun(t.Context(), "each"); err != nil || got.Run != step.want {
			t.Errorf("after the run of %s: that of %s, %v", step.add.Started, got.Started, err)
		}
		tasks := s.Tasks(t.Context(), func(*schedule.Task) bool { return true }, now, 0)
		if tasks.Err != nil || tasks.Items[0].LastRun.Run != step.want {
			t.Errorf("after the run of %s list has that of %s, %v", step.add.Started, tasks.Items[0].LastRun.Started, tasks.Err)
		}
	}
}
