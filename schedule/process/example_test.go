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

func ExampleParseEnvFile() {
	pairs, err := process.ParseEnvFile(`
export DB_HOST=127.0.0.1   # a comment
DB_PASSWORD='p$ss # w"rd'
DB_URL="mysql://shop@${DB_HOST}:${DB_PORT}/shop"
`, func(name string) (string, bool) { return "3306", name == "DB_PORT" })
	for _, pair := range pairs {
		fmt.Println(pair)
	}
	fmt.Println(err)

	_, err = process.ParseEnvFile("A=b\nhunter2", nil)
	fmt.Println(err)
	// Output:
	// DB_HOST=127.0.0.1
	// DB_PASSWORD=p$ss # w"rd
	// DB_URL=mysql://shop@127.0.0.1:3306/shop
	// <nil>
	// line 2: there is no "="
}
