//go:build schedtrace

package statedir

import (
	"encoding/json"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Trace writes a line into the file that the environment names, with the time by the monotonic
// clock of the machine. Lines of two processes may stand in another order than their times. It is
// for binaries that are built with -tags schedtrace: see spec/README.md.
func Trace(line map[string]any) {
	path, given := syscall.Getenv("SCHED_TRACE")
	if !given {
		return
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	line["at"] = now.Nano()
	text, _ := json.Marshal(line)
	file.Write(append(text, '\n'))
}
