package history_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A tick adds records that ended; any other command reads them.
func ExampleDB() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	ctx, slot := context.Background(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	db, err := history.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.Add(ctx, []state.Row{
		{ID: outcome.NewID(), Task: "report", Mutex: "report", Slot: slot, Result: state.Result{Outcome: outcome.Failed, Reason: "exit code 7"}},
		{ID: outcome.NewID(), Task: "report", Mutex: "report", Slot: slot.Add(time.Minute), Result: state.Result{Outcome: outcome.Succeeded}},
	})
	records, err := db.Find(ctx, state.Query{Task: "report"})
	for _, r := range records {
		fmt.Println(r.Slot.Format(time.TimeOnly), r.Outcome)
	}
	fmt.Println(err)
	// Output:
	// 12:01:00 succeeded
	// 12:00:00 failed
	// <nil>
}
