package run

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// await waits for a child of this process, and reports whether it has ended well. Meanwhile it
// reaps orphans that end. It does not reap processes that the child itself had started and has left
// behind: process.Adopt needs their exit codes.
func await(child int) (well bool) {
	for {
		unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if exiting(child) {
			return reap(child)
		}
		unix.Wait4(-1, nil, unix.WNOHANG, nil)
	}
}

// exiting reports whether the first thread of a process has ended, or is about to (PF_EXITING in
// field 9 of proc_pid_stat(5)). As long as it is not, the kernel gives the children of other
// threads to it, and none to other processes.
func exiting(pid int) bool {
	const flagExiting = 4
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if err != nil || len(fields) < 7 {
		return true
	}
	flags, err := strconv.ParseUint(string(fields[6]), 10, 64)
	return err != nil || flags&flagExiting != 0
}
