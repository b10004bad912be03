//go:build schedtrace

package process

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// traceFork writes a line about the fork of a command into the file that the environment names. It
// is for binaries that are built with -tags schedtrace: see spec/README.md.
func traceFork(spec Spec) {
	path, given := syscall.Getenv("SCHED_TRACE")
	if !given || !slices.Equal(spec.Command.Argv(), spec.Task.Command.Argv()) {
		return
	}
	line := map[string]any{"what": "fork", "task": spec.Task.Name}
	for _, pair := range spec.Variables {
		if run, is := strings.CutPrefix(pair, "SCHED_RUN="); is {
			line["run"] = run
		}
		if slot, is := strings.CutPrefix(pair, "SCHED_SLOT="); is {
			line["slot"] = slot
		}
	}
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	line["at"] = now.Nano()
	text, _ := json.Marshal(line)
	if file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
		file.Write(append(text, '\n'))
		file.Close()
	}
}
