package supervisor

import (
	"os"
	"syscall"

	"sched/schedule/process"
)

// WitnessCommand is the first argument of a process of sched that is a witness (Witness).
const WitnessCommand = "witness"

// Witness starts the supervisor with the id, and waits for it. Where that did not end well this process, with the program at the
// path self, becomes a supervisor in its place: what descendants leave behind becomes its children, so it is their parent by then.
//
// A witness is no shell: a shell that waits takes the exit codes of all its children, also those of the commands that were the
// supervisor's (docs/decisions.md#the-witness-is-no-shell).
func Witness(self, id string, env []string) error {
	process.KeepOrphans()
	supervisor, err := syscall.ForkExec(self, []string{self, "start", id}, &syscall.ProcAttr{
		Env: env, Files: []uintptr{0, 1, 2, fileDescriptor, socketDescriptor},
	})
	if err == nil && process.AwaitChild(supervisor) == 0 {
		return nil
	}
	return &os.PathError{Op: "exec", Path: self, Err: syscall.Exec(self, []string{self, "finish", "--tick", id}, env)}
}
