package past_test

import (
	"context"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
)

func TestAround(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(10, "a", outcome.Succeeded), rec(20, "b", outcome.Skipped), rec(30, "a", outcome.Failed),
		rec(40, "a", outcome.Succeeded))
	for _, tt := range []struct {
		asked string
		task  string
		at    time.Time
		want  past.Around
	}{
		{"between two", "a", minute(25), past.Around{First: minute(10), Before: minute(20), After: minute(30),
			TaskFirst: minute(10), TaskSince: 2}},
		{"at one", "b", minute(20), past.Around{First: minute(10), Before: minute(10), After: minute(20),
			TaskFirst: minute(20), TaskSince: 1}},
		{"before all, and more than the limit", "a", minute(1),
			past.Around{First: minute(10), Before: time.Time{}, After: minute(10),
				TaskFirst: minute(10), TaskSince: 2}},
		{"after all", "a", minute(41), past.Around{First: minute(10), Before: minute(40), After: time.Time{},
			TaskFirst: minute(10), TaskSince: 0}},
		{"a task nobody knows", "c", minute(25),
			past.Around{First: minute(10), Before: minute(20), After: minute(30),
				TaskFirst: time.Time{}, TaskSince: 0}},
	} {
		if got, err := past.Of(db).Around(context.Background(), tt.task, tt.at, 2); err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v; want %+v", tt.asked, got, err, tt.want)
		}
	}
	if got, err := past.Of(openTest(t, t.TempDir())).Around(context.Background(), "a", noon, 2); err != nil ||
		got != (past.Around{}) {
		t.Errorf("nothing: got %+v, %v", got, err)
	}
}
