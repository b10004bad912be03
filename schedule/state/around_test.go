package state_test

import (
	"context"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

func TestAround(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(10, "a", outcome.Succeeded), rec(20, "b", outcome.Skipped), rec(30, "a", outcome.Failed),
		rec(40, "a", outcome.Succeeded))
	for _, tt := range []struct {
		asked string
		task  string
		at    time.Time
		want  state.Around
	}{
		{"between two", "a", minute(25), state.Around{First: minute(10), Before: minute(20), After: minute(30),
			TaskFirst: minute(10), TaskSince: 2}},
		{"at one", "b", minute(20), state.Around{First: minute(10), Before: minute(10), After: minute(20),
			TaskFirst: minute(20), TaskSince: 1}},
		{"before all, and more than the limit", "a", minute(1),
			state.Around{First: minute(10), Before: time.Time{}, After: minute(10),
				TaskFirst: minute(10), TaskSince: 2}},
		{"after all", "a", minute(41), state.Around{First: minute(10), Before: minute(40), After: time.Time{},
			TaskFirst: minute(10), TaskSince: 0}},
		{"a task nobody knows", "c", minute(25),
			state.Around{First: minute(10), Before: minute(20), After: minute(30),
				TaskFirst: time.Time{}, TaskSince: 0}},
	} {
		if got, err := db.Past().Around(context.Background(), tt.task, tt.at, 2); err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v; want %+v", tt.asked, got, err, tt.want)
		}
	}
	if got, err := openTest(t, t.TempDir()).Past().Around(context.Background(), "a", noon, 2); err != nil ||
		got != (state.Around{}) {
		t.Errorf("nothing: got %+v, %v", got, err)
	}
}
