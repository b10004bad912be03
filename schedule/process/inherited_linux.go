package process

import (
	"math"

	"golang.org/x/sys/unix"
)

// closeRange is CloseOnExecFrom with one system call; false before Linux 5.11.
func closeRange(first int) bool {
	return unix.CloseRange(uint(first), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil
}
