package runfile_test

import (
	"fmt"
	"os"

	"sched/schedule/outcome"
	"sched/schedule/runfile"
)

// The process that begins a run keeps its file locked. Once it has died, however, another may take and finish the run.
func ExampleTake() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)

	run, err := runfile.Create(dir, outcome.Record{Run: outcome.NewID(), Task: "report"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _, err = runfile.Take(dir, run.Record.Run)
	fmt.Println(err)

	run.Close() // as the kernel does for a process that is killed
	taken, state, err := runfile.Take(dir, run.Record.Run)
	fmt.Println(state.Begin.Task, state.Result, err)
	taken.Close()
	// Output:
	// the run is alive
	// report <nil> <nil>
}
