package process_test

import (
	"fmt"
	"os"

	"sched/schedule"
	"sched/schedule/process"
)

// A command runs in a process group of its own, in the folder of its task and with the environment
// of the caller and the task.
func ExampleSpec_Start() {
	task := schedule.Task{Env: map[string]string{"GREETING": "hello"}}
	p, err := process.Spec{
		Task:      &task,
		Command:   schedule.Command{Line: `echo "$GREETING from $SCHED_TASK"; exit 3`, Shell: []string{"/bin/sh", "-c"}},
		Dir:       "/",
		CallerEnv: []string{"PATH=/usr/bin:/bin"},
		Variables: []string{"SCHED_TASK=report"},
		Output:    os.Stdout,
	}.Start()
	if err != nil {
		fmt.Println(process.StartExitCode(err), err)
		return
	}
	<-p.Done
	fmt.Println(process.ExitText(p.ExitCode()))
	// Output:
	// hello from report
	// exit code 3
}
