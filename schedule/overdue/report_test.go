package overdue

import (
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/state"
	"sched/testing/redistest"
)

// Two servers, each with a state folder of its own, find the same incident of a one_server task.
func TestOneServerTellsAndASuccessOnTheOtherCounts(t *testing.T) {
	// newMachine sets the clock of the boot
	redistest.OnEachStoreInTurn(t, func(t *testing.T, open func() mutex.Store) {
		r := open()
		task := every(time.Hour)
		task.OneServer = true
		task.Command = schedule.Command{List: []string{"true"}}
		a := newMachine(t, task)
		b := &Watch{DB: openDB(t), Tasks: a.watch.Tasks, Server: "b", Now: func() time.Time { return a.now }}
		ask := Elsewhere(r, "a")
		a.watch.Elsewhere, b.Elsewhere = ask, ask
		look := func(w *Watch) (began int, told int) {
			found, unreported, err := w.Look(nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range unreported {
				storage := holding.Storage{Dir: t.TempDir(), DB: w.DB, Store: r}
				if claimInStore(storage, i) == nil {
					told++
				}
				if _, err := w.Report(run.NewCaller(storage, state.Tick, nil), task, i); err != nil {
					t.Fatal(err)
				}
			}
			return len(found), told
		}
		look(a.watch)
		look(b)
		a.pass(50 * time.Minute)
		publish := func(id string) {
			row := state.Row{ID: id, Task: "report", Slot: a.now,
				Result: state.Result{Ended: a.now, Outcome: outcome.Succeeded}, Server: "b"}
			if err := cluster.Publish(t.Context(), r, []state.Row{row}, nil); err != nil {
				t.Fatal(err)
			}
		}
		publish(outcome.NewIDAt(a.now))
		a.pass(20 * time.Minute)
		if began, _ := look(a.watch); began != 0 {
			t.Error("overdue although the other server succeeded")
		}
		a.pass(time.Hour)
		_, first := look(a.watch)
		began, second := look(b)
		if began != 1 || first+second != 1 {
			t.Errorf("found %d, told %d and %d times", began, first, second)
		}
		if _, again := look(b); again != 0 {
			t.Error("told again")
		}
		publish(outcome.NewIDAt(a.now))
		look(a.watch)
		look(b)
		for _, w := range []*Watch{a.watch, b} {
			if open, err := Open(t.Context(), w.DB); err != nil || len(open["report"]) != 0 {
				t.Errorf("a success left %v, %v", open, err)
			}
		}
	})
}
