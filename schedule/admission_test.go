package schedule_test

import (
	"errors"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/load"
)

// parse returns the tasks of a schedule.
func parse(t *testing.T, tasks string) []*schedule.Task {
	t.Helper()
	s, err := load.Text([]byte("timezone: UTC\ntasks:\n"+tasks), "/srv/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Tasks
}

func TestTheFirstReasonCounts(t *testing.T) {
	tasks := parse(t, `
- {name: plain, cron: "* * * * *", command: "true"}
- {name: mondays, cron: "* * * * *", command: "true", days: [monday], start_deadline: 5s}
- {name: soon, cron: "* * * * *", command: "true", start_deadline: 5s}
- {name: often, cron: "*/10 * * * * *", command: "true"}
`)
	plain, mondays, soon, often := tasks[0], tasks[1], tasks[2], tasks[3]
	for _, row := range []struct {
		name   string
		task   *schedule.Task
		late   time.Duration
		paused string
		kind   schedule.RefusalKind
		want   string
	}{
		{"nothing is in the way", plain, time.Hour, "", schedule.NotRefused, ""},
		{"a condition comes before a pause", mondays, time.Hour, "paused", schedule.RefusedByCondition, "not on Sunday"},
		{"a pause comes before a deadline", soon, time.Hour, "paused", schedule.RefusedByCheck, "paused"},
		{"within its deadline", soon, 5 * time.Second, "", schedule.NotRefused, ""},
		{"past its deadline", soon, 6 * time.Second, "", schedule.RefusedTooLate,
			"it could not start within 5.0 s of its time, and 6.0 s have passed"},
		{"before its next slot", often, 9 * time.Second, "", schedule.NotRefused, ""},
		{"at its next slot", often, 10 * time.Second, "", schedule.RefusedTooLate,
			"it could not start before its next slot"},
	} {
		now := func() time.Time { return noon.Add(row.late) }
		pause := func(*schedule.Task, time.Time) string { return row.paused }
		if got := schedule.Refuse(schedule.Slot{Task: row.task, At: noon}, now, pause); got.Reason != row.want ||
			got.Kind != row.kind {
			t.Errorf("%s: %+v, want %d, %q", row.name, got, row.kind, row.want)
		}
	}
}

// A claim is kept whatever becomes of the mutex: no other server runs a slot that was skipped here.
func TestASlotIsClaimedBeforeItsMutexIsTaken(t *testing.T) {
	held := errors.New("held")
	for _, row := range []struct {
		name      string
		task      schedule.Task
		claim     error
		acquire   error
		want      string
		wantError error
	}{
		{"it needs nothing", schedule.Task{}, held, held, "", nil},
		{"its mutex alone", schedule.Task{WithoutOverlapping: true}, held, nil, "acquire ", nil},
		{"its slot alone", schedule.Task{OneServer: true}, nil, held, "claim ", nil},
		{"both", schedule.Task{OneServer: true, WithoutOverlapping: true}, nil, held, "claim acquire ", held},
		{"the slot is taken", schedule.Task{OneServer: true, WithoutOverlapping: true}, held, nil, "claim ", held},
	} {
		asked := ""
		_, err := schedule.TakeLocks(&row.task,
			func() error { asked += "claim "; return row.claim },
			func() (int, error) { asked += "acquire "; return 1, row.acquire })
		if asked != row.want || err != row.wantError {
			t.Errorf("%s: asked for %q, %v", row.name, asked, err)
		}
	}
}

func TestASlotHasOneKeyForAllServers(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	plain, late := &schedule.Task{Name: "a"}, &schedule.Task{Name: "b", RunMissed: true, MissedWithin: 24 * time.Hour}
	for _, tt := range []struct {
		slot  schedule.Slot
		key   string
		until time.Time
	}{
		{schedule.Slot{Task: plain, At: noon}, "a@20260301T120000Z", noon.Add(time.Hour)},
		{schedule.Slot{Task: plain, At: noon.In(time.FixedZone("", 3600))}, "a@20260301T120000Z", noon.Add(time.Hour)},
		{schedule.Slot{Task: plain, At: noon.Add(10 * time.Second)}, "a@20260301T120010Z",
			noon.Add(time.Hour + 10*time.Second)},
		{schedule.Slot{Task: late, At: noon}, "b@20260301T120000Z", noon.Add(25 * time.Hour)},
	} {
		if key, until := tt.slot.ClaimKey(), tt.slot.ClaimedUntil(); key != tt.key || !until.Equal(tt.until) {
			t.Errorf("%s at %s: %s until %s", tt.slot.Task.Name, tt.slot.At, key, until)
		}
	}
}
