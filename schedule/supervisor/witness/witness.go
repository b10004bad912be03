// Package witness is the process that starts the supervisor of a tick, and waits for it. Where that did not end well the process
// becomes a supervisor in its place: what descendants leave behind becomes its children, so it is the parent of the commands by then.
//
// All of it happens while this package sets itself up, and a witness has no main. Go sets up packages in the order of their
// imports and paths (Package initialization in the specification of Go): this one needs os alone, and so comes
// before the hundred that sched has besides, of which a witness needs none. It has started the supervisor when another
// process of sched would be about to begin, and is a third as much work and memory. Were the order another one, it would be slower, and as right.
//
// A witness is no shell: a shell that waits takes the exit codes of all its children, also those of the commands that were the
// supervisor's (docs/decisions.md#the-witness-is-no-shell).
//
// Non-goals: what a supervisor does (package supervisor).
package witness

import (
	"io"
	"os"
	"strconv"
	"syscall"
)

// The descriptors that a witness and its supervisor inherit from the tick.
const (
	File   = 3 // the file of the supervisor, locked
	Socket = 4
)

const command = "witness"

// Arguments returns those of a process of sched, after its path, that is the witness of the supervisor with the id, which will have so many
// descriptors open.
func Arguments(id string, descriptors int) []string {
	return []string{command, id, strconv.Itoa(descriptors)}
}

func init() {
	if id, descriptors, ok := called(os.Args); ok {
		os.Exit(watch(os.Args[0], id, descriptors))
	}
}

// called reads the arguments of a process. False where they, or what it has inherited, are not those of a witness.
func called(args []string) (id string, descriptors int, ok bool) {
	if len(args) != 4 || args[1] != command {
		return "", 0, false
	}
	var file, socket syscall.Stat_t
	if syscall.Fstat(File, &file) != nil || syscall.Fstat(Socket, &socket) != nil {
		return "", 0, false
	}
	descriptors, err := strconv.Atoi(args[3])
	return args[2], descriptors, err == nil && file.Mode&syscall.S_IFMT == syscall.S_IFREG && socket.Mode&syscall.S_IFMT == syscall.S_IFSOCK
}

// watch starts the supervisor with the program at the path self, waits for it, and returns 0 when it has ended well. Otherwise it returns
// only if this process cannot take its place.
func watch(self, id string, descriptors int) (code int) {
	keepOrphans()
	supervisor, err := syscall.ForkExec(self, []string{self, "start", id}, &syscall.ProcAttr{
		Env: os.Environ(), Files: room(descriptors),
	})
	LeaveProgram()
	if err == nil && await(supervisor) == 0 {
		return 0
	}
	err = syscall.Exec(self, []string{self, "finish", "--tick", id}, os.Environ())
	io.WriteString(os.NewFile(File, ""), "sched: nobody goes on with these runs: exec "+self+": "+err.Error()+"\n")
	return 1
}

// room returns the descriptors that a supervisor inherits: ours, and so many that are closed. When it reaches the last of them, its table of
// descriptors grows, which costs nothing before execve(2). Later, while several threads share the table, each growth waits
// until the kernel's readers are done (RCU): 5 to 25 ms at 64, 128, 256 descriptors and so on, in which the
// supervisor starts no command.
func room(descriptors int) []uintptr {
	const closed = ^uintptr(0)
	const others = 8 // that a fork needs besides
	files := []uintptr{0, 1, 2, File, Socket}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return files
	}
	descriptors = min(descriptors, int(min(limit.Cur, 1<<20))-others)
	for len(files) < descriptors {
		files = append(files, closed)
	}
	return files
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
