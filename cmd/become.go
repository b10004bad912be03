package cmd

import (
	"os"

	"sched/schedule/runner"
)

// become is a process between sched and a command that runs as somebody else: it becomes that command.
// Only what sched itself calls is one.
func become(args []string) (code int, ok bool) {
	if len(args) != 2 || args[0] != runner.StageArgument {
		return 0, false
	}
	return runner.Stage(args[1], os.Environ())
}
