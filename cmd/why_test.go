package cmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/cmd/app"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// These stories need a clock that stands still, or a history that nobody could have typed.
func TestWhyAtAFixedTime(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse("2006-01-02 15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "schedule.yaml")
	const text = `
timezone: UTC
history: {keep: 30d, runs_per_task: 3}
tasks:
  - {name: hourly, every: hour, command: "true"}
  - {name: often, every: 20 seconds, command: "true"}
  - {name: workday, every: "day at 8:00", days: weekdays, command: "true"}
  - {name: yearly, every: year, command: "true"}
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	n := 0
	record := func(task, slot string, o outcome.Outcome) state.Row {
		n++
		r := state.Row{ID: strings.Repeat("0", 35) + string(rune('a'+n)), Task: task, Mutex: task, Slot: at(slot),
			Server: "web-1", Result: state.Result{Outcome: o}}
		if o != outcome.Missed {
			r.Started, r.Ended = at(slot).Add(2*time.Second), at(slot).Add(3*time.Second)
		}
		return r
	}
	night := record("hourly", "2026-03-05 22:00:00", outcome.Missed)
	night.LastSlot, night.Slots, night.Reason = at("2026-03-06 06:00:00"), 9, "06:00: no tick came"
	failure := record("hourly", "2026-03-06 09:00:00", outcome.Failed)
	retry := record("hourly", "2026-03-06 09:00:00", outcome.Succeeded)
	retry.Origin = "retry of 1"
	folder := filepath.Join(dir, ".sched")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := state.Open(folder, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Runs().Record(context.Background(), []state.Row{night, failure, retry,
		record("often", "2026-03-06 09:59:20", outcome.Failed), record("often", "2026-03-06 09:59:40", outcome.Failed),
		record("yearly", "2025-01-01 00:00:00", outcome.Succeeded)}, false)
	err = errors.Join(err, db.Values().Cover(context.Background(), at("2026-03-06 09:59:00")), db.Close())
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		asked, now string
		args       []string
		want       []string
		not        string
	}{
		{"a slot inside a range that was missed", "2026-03-06 10:00:10", []string{"hourly", "--at", "2026-03-06 03:00"},
			[]string{"was due", "  missed: 9 times until 06:00: no tick came\n",
				"stands for  9 slots, from 2026-03-05 22:00 UTC to 2026-03-06 06:00 UTC\n"}, "nothing is recorded"},
		{"the last slot of the range", "2026-03-06 10:00:10",
			[]string{"hourly", "--at", "2026-03-06 06:00"}, []string{"  missed: 9 times until 06:00: no tick came\n"}, ""},
		{"a minute inside it that was not due", "2026-03-06 10:00:10", []string{"hourly", "--at", "2026-03-06 03:30"},
			[]string{"was not due", "minute 30 is not in 0"}, "missed"},
		{"the slot after it", "2026-03-06 10:00:10", []string{"hourly", "--at", "2026-03-06 07:00"},
			[]string{"nothing was recorded between 2026-03-05 22:00 UTC and 2026-03-06 09:00 UTC"}, "missed"},
		{"a slot that was tried again", "2026-03-06 10:00:10", []string{"hourly", "--at", "2026-03-06 09:00"},
			[]string{"  failed in 1.0 s\n", "09:00:02 UTC, 2.0 s late\n", "  succeeded in 1.0 s (retry of 1)\n"},
			"nothing"},
		{"the minute that has just begun", "2026-03-06 10:00:10", []string{"hourly"},
			[]string{"hourly was due at 2026-03-06 10:00 UTC (10 s ago)\n",
				"  nothing is recorded yet: the tick of this minute has just begun, or did not come\n",
				"hourly will be due at 2026-03-06 11:00 UTC (in 59 m 50 s)\n",
				"  nothing is known that would stop it\n"}, ""},
		{"slots of this minute that are still to come", "2026-03-06 10:00:25", []string{"often"},
			[]string{"  10:00:20  nothing is recorded yet", "  10:00:40  none of its conditions is in the way\n",
				"  its last 2 runs failed\n"}, "10:01"},
		{"the next minute, right before it", "2026-03-06 10:00:45", []string{"often"},
			[]string{"  10:00:40  nothing is recorded yet", "often will be due at 2026-03-06 10:01 UTC (in 15 s)\n"}, ""},
		{"conditions that keep the next slot", "2026-03-06 10:00:00", []string{"workday"},
			[]string{"  it will be skipped: not on Saturday\n",
				"  its conditions let it run again at 2026-03-09 08:00 UTC\n"}, "nothing is known"},
		{"a slot that was pruned by age", "2026-03-06 10:00:00", []string{"workday", "--at", "2026-02-02 08:00"},
			[]string{"  nothing is recorded any more: it is longer ago than history.keep\n"}, ""},
		{"a slot that was pruned by number", "2026-03-06 10:00:00", []string{"hourly", "--at", "2026-03-05 21:00"},
			[]string{"  nothing is recorded any more: the 3 records that history.runs_per_task keeps are newer\n"}, ""},
		{"a slot whose task left no record since", "2026-03-06 10:00:00",
			[]string{"workday", "--at", "2026-03-05 08:00"},
			[]string{"  nothing was ever recorded of this task: it is new"}, ""},
	} {
		var out strings.Builder
		a := &app.App{}
		a.Out, a.Err, a.Config, a.Now = &out, &out, file, func() time.Time { return at(tt.now) }
		root := newRoot(a, "why")
		root.SetArgs(append([]string{"why", "-c", file}, tt.args...))
		if code := a.Report(root.Execute()); code != 0 {
			t.Errorf("%s: exit code %d\n%s", tt.asked, code, &out)
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", tt.asked, want, &out)
			}
		}
		if tt.not != "" && strings.Contains(out.String(), tt.not) {
			t.Errorf("%s: %q in\n%s", tt.asked, tt.not, &out)
		}
	}
}
