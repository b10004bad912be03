// Package witness is the process that starts the supervisor of a tick, and waits for it. Where that
// did not end well the process becomes a supervisor in its place: what descendants leave behind
// becomes its children, so it is the parent of the commands by then.
//
// All of it happens while this package sets itself up, and a witness has no main. Go sets up
// packages in the order of their imports and paths (Package initialization in the specification of
// Go): this one needs os alone, and so comes before the hundred that sched has besides, of which a
// witness needs none. It has started the supervisor when another process of sched would be about to
// begin, and is a third as much work and memory. Were the order another one, it would be slower,
// and as right.
//
// A witness is no shell: a shell that waits takes the exit codes of all its children, also those of
// the commands that were the supervisor's (docs/internals/decisions.md#the-witness-is-no-shell).
//
// Non-goals: what a supervisor does (package supervisor).
package witness

import (
	"io"
	"os"
	"syscall"
)

// The descriptors that a witness and its supervisor inherit from the tick.
const (
	File   = 3 // the file of the supervisor, locked
	Socket = 4
)

const command = "witness"

// Arguments returns the arguments of a process of sched, after its path, that is the witness of the
// supervisor with the id.
func Arguments(id string) []string { return []string{command, id} }

func init() {
	if id, ok := called(os.Args); ok {
		os.Exit(watch(os.Args[0], id))
	}
}

// called reads the arguments of a process. False where they, or what it has inherited, are not
// those of a witness.
func called(args []string) (id string, ok bool) {
	if len(args) != 3 || args[1] != command {
		return "", false
	}
	var file, socket syscall.Stat_t
	if syscall.Fstat(File, &file) != nil || syscall.Fstat(Socket, &socket) != nil {
		return "", false
	}
	return args[2], file.Mode&syscall.S_IFMT == syscall.S_IFREG && socket.Mode&syscall.S_IFMT == syscall.S_IFSOCK
}

// watch starts the supervisor with the program at the path self, waits for it, and returns 0 when
// it has ended well. Otherwise it returns only if this process cannot take its place.
func watch(self, id string) (code int) {
	keepOrphans()
	supervisor, err := syscall.ForkExec(self, []string{self, "start", id}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, File, Socket},
	})
	if err == nil && await(supervisor) == 0 {
		return 0
	}
	err = syscall.Exec(self, []string{self, "finish", "--tick", id}, os.Environ())
	io.WriteString(os.NewFile(File, ""), "sched: nobody goes on with these runs: exec "+self+": "+err.Error()+"\n")
	return 1
}

// reap waits for a child of this process, and returns 0 if it has ended with that code, else 1.
func reap(child int) (code int) {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(child, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err == nil && status.Exited() && status.ExitStatus() == 0:
			return 0
		default:
			return 1
		}
	}
}
