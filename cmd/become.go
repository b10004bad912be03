package cmd

import (
	"os"

	"sched/schedule/process"
)

// become is a process between sched and a command that runs as somebody else: it becomes that command.
// Only what sched itself calls is one.
func become(args []string) (code int, ok bool) {
	if len(args) != 2 || args[0] != process.BecomeArgument {
		return 0, false
	}
	return process.Become(args[1], os.Environ())
}
