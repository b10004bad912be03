package state

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// Each step sets in the database what it sets in the copy of the row, whatever both had before.
func TestAStepChangesTheRowAndItsCopyAlike(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	ours, others := owned(t, db), owned(t, db)
	zero := 0
	became := Result{Outcome: outcome.Failed, Kind: outcome.Timeout, Reason: "late", Ended: noon.Add(time.Hour),
		ExitCode: &zero, UserCPU: time.Second, SystemCPU: time.Minute, PeakMemory: 4096, Limits: "none"}
	for name, step := range map[string]Step{
		"Take":        Take(),
		"HandOver":    HandOver(others.ID),
		"GiveBack":    GiveBack(Wait{For: ForPause, Since: noon, Until: noon.Add(time.Hour)}, "paused"),
		"WaitFor":     WaitFor(ForSeat),
		"Acquire":     Acquire(true, "db#1", time.Minute),
		"Hold":        Hold(false, "db#1"),
		"Start":       Start(Attempt{Number: 2, At: noon.Add(time.Minute), PID: 7, Boot: "b2", Leased: noon}),
		"Fork":        Fork(8),
		"StopCommand": StopCommand(outcome.Timeout, "it takes long"),
		"AwaitRetry":  AwaitRetry(became, noon),
		"Defer":       Defer(became, noon, []string{"lost"}),
		"Settle":      Settle(became, []string{"a note", "another note"}),
		"End":         End(Ending{Result: became, Triggered: []outcome.Triggered{{Task: "b", Run: "1"}}, Unreported: true}),
	} {
		row := due(name, noon, ours.ID)
		row.Phase, row.Locked, row.Seat, row.Notes = Running, true, "db#0", []string{"a note"}
		if name == "GiveBack" || name == "WaitFor" || name == "Acquire" || name == "Start" {
			row.Phase = Ready
		}
		row.Attempt = Attempt{Number: 1, At: noon, PID: 5, Boot: "b1", Leased: noon}
		row.Wait = Wait{For: ForMutex, NotBefore: noon, Until: noon, Since: noon.Add(-time.Minute), Waited: time.Second}
		row.Result = Result{Kind: outcome.Paused, Reason: "before", ExitCode: new(int), PeakMemory: 1, Survivors: "1@2"}
		add(t, db, row)
		row = get(t, db, row.ID)
		if err := ours.Apply(ctx, step, &row); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := get(t, db, row.ID)
		text, _ := json.Marshal(row)
		if stored, _ := json.Marshal(got); string(stored) != string(text) || !reflect.DeepEqual(got.Notes, row.Notes) {
			t.Errorf("%s: the database has\n%s\nand the copy is\n%s", name, stored, text)
		}
	}
}

// A row that is written anew, because its database was damaged, would count them twice.
func TestAnAttemptBeginsWithoutTheValuesOfTheOneBefore(t *testing.T) {
	row := Row{Phase: Ready, Result: Result{Values: map[string]float64{"cost": 1}}}
	Start(Attempt{Number: 2}).change(&row)
	if row.Values != nil || row.Attempt.Number != 2 {
		t.Errorf("%+v", row)
	}
}
