package history

import (
	"context"
	"testing"
	"time"

	"sched/schedule/outcome"
)

func TestAround(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(10, "a", outcome.Succeeded), rec(20, "b", outcome.Skipped), rec(30, "a", outcome.Failed), rec(40, "a", outcome.Succeeded))
	for _, tt := range []struct {
		asked string
		task  string
		at    time.Time
		want  Around
	}{
		{"between two", "a", minute(25), Around{minute(10), minute(20), minute(30), minute(10), 2}},
		{"at one", "b", minute(20), Around{minute(10), minute(10), minute(20), minute(20), 1}},
		{"before all, and more than the limit", "a", minute(1), Around{minute(10), time.Time{}, minute(10), minute(10), 2}},
		{"after all", "a", minute(41), Around{minute(10), minute(40), time.Time{}, minute(10), 0}},
		{"a task nobody knows", "c", minute(25), Around{minute(10), minute(20), minute(30), time.Time{}, 0}},
	} {
		if got, err := db.Around(context.Background(), tt.task, tt.at, 2); err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v; want %+v", tt.asked, got, err, tt.want)
		}
	}
	if got, err := openTest(t, t.TempDir()).Around(context.Background(), "a", noon, 2); err != nil || got != (Around{}) {
		t.Errorf("nothing: got %+v, %v", got, err)
	}
}
