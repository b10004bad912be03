package run

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"sched/schedule/process"
)

// This file is the witness: the process that starts the supervisor of a tick, and waits for it. If
// the supervisor does not end well, the process becomes a supervisor in its place. On Linux it is
// the parent of the commands by then, because processes that its descendants leave behind become
// its children.
//
// A witness is no shell: a shell that waits takes the exit codes of all its children, also of the
// commands that the supervisor had started (docs/internals/decisions.md#the-witness-is-no-shell).

// The descriptors that a witness and its supervisor inherit from the tick.
const (
	fileDescriptor   = 3 // the file of the supervisor, locked
	socketDescriptor = 4
)

// WitnessCommand is the command of sched that is a witness. The id of the supervisor follows it.
const WitnessCommand = "witness"

// IsWitness reports whether a process was started as a witness: by its arguments after the path,
// and by what it has inherited.
func IsWitness(args []string) bool {
	if len(args) != 2 || args[0] != WitnessCommand {
		return false
	}
	var file, socket unix.Stat_t
	if unix.Fstat(fileDescriptor, &file) != nil || unix.Fstat(socketDescriptor, &socket) != nil {
		return false
	}
	return file.Mode&unix.S_IFMT == unix.S_IFREG && socket.Mode&unix.S_IFMT == unix.S_IFSOCK
}

// Witness starts the supervisor with the program at the path self, waits for it, and returns 0 when
// it has ended well. Otherwise it returns only if this process cannot take its place.
func Witness(self, id string, environ []string) (code int) {
	process.KeepOrphans()
	supervisor, err := syscall.ForkExec(self, []string{self, "start", id}, &syscall.ProcAttr{
		Env: environ, Files: []uintptr{0, 1, 2, fileDescriptor, socketDescriptor},
	})
	if err == nil && await(supervisor) {
		return 0
	}
	err = syscall.Exec(self, []string{self, "finish", "--tick", id}, environ)
	io.WriteString(os.NewFile(fileDescriptor, ""), "sched: nobody goes on with these runs: exec "+self+": "+err.Error()+"\n")
	return 1
}

// reap waits for a child of this process, and reports whether it has ended well.
func reap(child int) (well bool) {
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(child, &status, 0, nil); err != syscall.EINTR {
			return err == nil && status.Exited() && status.ExitStatus() == 0
		}
	}
}
