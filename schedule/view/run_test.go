package view

import (
	"context"
	"errors"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/outcome"
	"sched/schedule/pause"
	"sched/schedule/state"
)

// For an hour the clock was a year ahead. Until that year was over, `sched logs TASK` showed the
// output of that hour.
func TestTheNewestRunIsNoneOfTheFuture(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 3, 6, 10, 0, 30, 0, time.UTC)
	ran := func(began time.Time) state.Row {
		return state.Row{
			ID: outcome.NewIDAt(began), Task: "each", Mutex: "each", Slot: began.Truncate(time.Minute),
			Result:  state.Result{Outcome: outcome.Succeeded, Ended: began.Add(time.Second)},
			Started: began,
		}
	}
	old, ahead, replay, newest := ran(now.Add(-time.Hour)), ran(now.AddDate(1, 0, 0)), ran(now.Add(-10*time.Minute)),
		ran(now.Add(-20*time.Minute))
	replay.Slot = now.AddDate(0, -1, 0).Truncate(time.Minute) // with --at: by start it is the newest
	db, err := state.Open(dir, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	each := &schedule.Task{Name: "each", When: cron.When{Location: time.UTC}}
	s := Source{Schedule: &schedule.Schedule{StateDir: dir, Location: time.UTC, Tasks: []*schedule.Task{each}},
		Controls: pause.Source{Dir: dir, ReadOnly: true}, Now: func() time.Time { return now }, Problem: t.Logf}
	for _, step := range []struct {
		add  state.Row
		want string
	}{{ahead, ahead.ID}, {old, old.ID}, {newest, newest.ID}, {replay, replay.ID}} {
		if err := db.Runs().Record(context.Background(), []state.Row{step.add}, false); err != nil {
			t.Fatal(err)
		}
		if got, err := NewestRun(t.Context(), s, "each"); err != nil || got.ID != step.want {
			t.Errorf("after the run of %s: that of %s, %v", step.add.Started, got.Started, err)
		}
		tasks := ListTasks(t.Context(), s, func(*schedule.Task) bool { return true }, now, 0)
		if tasks.Err != nil || tasks.Items[0].LastRun.ID != step.want {
			t.Errorf("after the run of %s list has that of %s, %v",
				step.add.Started, tasks.Items[0].LastRun.Started, tasks.Err)
		}
	}
}

// A run is found by a beginning or an end of its id, while it lives as well as when it has ended.
func TestALiveRunIsFoundByAnEndOfItsID(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 20, 12, 0, 30, 0, time.UTC)
	db, err := state.Open(dir, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	owner, err := db.Owners().Enroll(t.Context(), state.Supervisor)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	row := state.Row{ID: outcome.NewIDAt(now), Task: "each", Mutex: "each", Slot: now.Truncate(time.Minute),
		Phase: state.Ready, Owner: owner.ID}
	_, err = db.Runs().Request(t.Context(), row)
	attempt := state.Attempt{Number: 1, At: now}
	if err := errors.Join(err, db.Owners().Owned(owner).Apply(t.Context(), state.Start(attempt), &row)); err != nil {
		t.Fatal(err)
	}
	s := Source{Schedule: &schedule.Schedule{StateDir: dir, Location: time.UTC},
		Controls: pause.Source{Dir: dir, ReadOnly: true}, Now: func() time.Time { return now }, Problem: t.Logf}
	for _, name := range []string{"each", row.ID, row.ID[len(row.ID)-12:], row.ID[len(row.ID)-6:], row.ID[:20]} {
		if got, err := NewestRun(t.Context(), s, name); err != nil || got.ID != row.ID {
			t.Errorf("%s is %q, %v", name, got.ID, err)
		}
	}
	if got, err := NewestRun(t.Context(), s, "nobody"); err == nil {
		t.Errorf("nobody is %q", got.ID)
	}
}

func TestAnOutputIsInTheFolderOfTheOutputs(t *testing.T) {
	const dir = "/state"
	row := state.Row{ID: "1", Task: "a/b"}
	own := OutputOf(dir, row)
	for stored, want := range map[string]string{
		"":                                own,
		"/state/output/c/2.log":           "/state/output/c/2.log",
		"/state/output/../../root/secret": own,
		"/root/secret":                    own,
	} {
		row.Output = stored
		if got := OutputOf(dir, row); got != want {
			t.Errorf("%q: %s", stored, got)
		}
	}
	row = state.Row{ID: "../../../root/secret", Task: "a"}
	if got := OutputOf(dir, row); got != "/state/output/a/..+..+..+root+secret.log" {
		t.Error(got)
	}
}

// The words of a reason decide nothing. A row of an older sched has the request of a person alone.
func TestTheKindOfAStopSaysHowItIsTold(t *testing.T) {
	stopped := func(kind outcome.Kind, stop *state.Stop, reason string) state.Row {
		return state.Row{Stop: stop, Result: state.Result{Outcome: outcome.Stopped, Kind: kind, Reason: reason}}
	}
	ann := &state.Stop{By: "ann"}
	for want, row := range map[string]state.Row{
		"stopped by SIGTERM":                     stopped("", nil, "by SIGTERM"),
		"stopped: sched stop by ann":             stopped(outcome.ByHand, ann, "sched stop by ann"),
		"stopped: sched stop by bob":             stopped("", ann, "sched stop by bob"),
		"stopped by run 3fa2, which replaces it": stopped("", &state.Stop{Reason: "x"}, "by run 3fa2, which replaces it"),
		"stopped before attempt 2":               stopped(outcome.NotBegun, nil, "before attempt 2"),
		"stopped because it is paused by ann":    stopped(outcome.Paused, nil, "because it is paused by ann"),
		"timed out after 20m":                    {Result: state.Result{Outcome: outcome.TimedOut, Reason: "after 20m"}},
	} {
		if got := Describe(row); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
