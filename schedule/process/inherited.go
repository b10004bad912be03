package process

import (
	"os"
	"strconv"
	"syscall"
)

// CloseOnExecFrom has no process that this one starts from now on inherit a descriptor from first on, but for those that are passed to
// it (Fork). The descriptors stay open here.
func CloseOnExecFrom(first int) {
	if closeRange(first) {
		return
	}
	open, _ := os.ReadDir("/dev/fd")
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= first {
			syscall.CloseOnExec(fd)
		}
	}
}
