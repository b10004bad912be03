package process

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// An exit says how a process ended.
type exit struct {
	status syscall.WaitStatus
	usage  syscall.Rusage
}

// Exit codes of a command that could not be started, as shells give them (POSIX, 2.8.2).
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// StartExitCode returns the exit code that a shell would give for an error of Spec.Start.
func StartExitCode(err error) int {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotFound) {
		return exitNotFound
	}
	return exitNotExecutable
}

// ExitText returns an exit code with what it usually means.
func ExitText(code int) string {
	switch {
	case code == exitNotFound:
		return "exit code 127: a command was not found"
	case code == exitNotExecutable:
		return "exit code 126: a command cannot be executed"
	case code > 128 && code <= 128+64: // what is above is no signal; ssh(1) gives 255
		return fmt.Sprintf("exit code %d: killed by a signal (%s)", code, syscall.Signal(code-128))
	}
	return fmt.Sprintf("exit code %d", code)
}
