package state

import (
	"testing"
	"time"

	"sched/schedule/outcome"
)

func TestTheLastRunsOfTasks(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	success, failure := ended("task", noon, outcome.Succeeded), ended("task", noon.Add(time.Minute), outcome.Failed)
	skip := ended("task", noon.Add(2*time.Minute), outcome.Skipped)
	tested := ended("task", noon.Add(3*time.Minute), outcome.Succeeded)
	tested.Test, tested.Scheduled = true, false
	add(t, db, success, failure, skip, tested)
	last, err := db.Runs().Last(ctx, []string{"task", "other"})
	if err != nil || len(last) != 1 || last["task"].ID != failure.ID {
		t.Errorf("%v, %v", last, err)
	}
	if r, ok, err := db.Runs().Previous(ctx, "task", failure.ID); r.ID != success.ID || !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if _, ok, err := db.Runs().Previous(ctx, "task", success.ID); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}
