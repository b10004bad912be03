package oneserver

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
)

func TestWhatAMachineKnowsToBeClaimed(t *testing.T) {
	dir, now := t.TempDir(), time.Now().UTC().Truncate(time.Minute)
	tasks := []*schedule.Task{
		{Name: "report", OneServer: true},
		{Name: "import", OneServer: true, RunMissed: true, MissedWithin: 24 * time.Hour},
		{Name: "local"},
	}
	record := func(task string, ago time.Duration, o outcome.Outcome, reason string) outcome.Record {
		return outcome.Record{Run: outcome.NewID(), Task: task, Mutex: task, Slot: now.Add(-ago), Server: "web-1", Outcome: o, Reason: reason, Ended: now}
	}
	asked := record("report", 9*time.Minute, outcome.Succeeded, "")
	asked.Origin = "sched trigger by ann"
	records := []outcome.Record{
		record("report", 5*time.Minute, outcome.Succeeded, ""),
		record("report", 6*time.Minute, outcome.Failed, "exit code 1"),
		record("report", 7*time.Minute, outcome.Skipped, Taken(mutex.Holder{Run: "run-1", Host: "web-2"})),
		record("report", 8*time.Minute, outcome.Skipped, Taken(mutex.Holder{})),
		asked,
		record("report", 10*time.Minute, outcome.Skipped, "nobody knows "+outcome.AnotherServer+": it is down"),
		record("report", 11*time.Minute, outcome.Missed, ""),
		record("report", 2*time.Hour, outcome.Succeeded, ""),
		record("import", 20*time.Hour, outcome.Lost, ""),
		record("import", 26*time.Hour, outcome.Succeeded, ""),
		record("local", time.Minute, outcome.Succeeded, ""),
	}
	db, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Add(context.Background(), records); err != nil {
		t.Fatal(err)
	}
	db.Close()
	live := record("report", time.Minute, "", "")
	file, err := runfile.Create(dir, live)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	var got []string
	for _, slot := range Lately(dir, tasks, now) {
		got = append(got, slot.Task+" "+now.Sub(slot.At).String())
		if keep := slot.Until.Sub(slot.At); keep != time.Hour && slot.Task == "report" || keep != 25*time.Hour && slot.Task == "import" {
			t.Errorf("%s is kept for %s", slot.Task, keep)
		}
	}
	slices.Sort(got)
	if want := "import 20h0m0s, report 1m0s, report 5m0s, report 6m0s, report 7m0s, report 8m0s"; strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}
