package work

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"sched/schedule/process"
)

// adoptOrphans makes this process the parent of what its descendants leave behind (prctl(2)), as the
// first process of a container is anyway. So it can tell the background runs of its own ticks from
// those of others.
func adoptOrphans() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// backgroundRuns returns the processes that supervise background runs of our ticks: descendants of this
// process with process.StateVariable in their environment, which commands and hooks do not have.
func backgroundRuns() (runs []backgroundRun) {
	parents := map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if state, parent, _ := process.ParseStat(text); err == nil && state != 'Z' {
			parents[pid] = parent
		}
	}
	for pid := range parents {
		if !descends(pid, parents) {
			continue
		}
		hasState := func(pair []byte) bool { return bytes.HasPrefix(pair, []byte(process.StateVariable+"=")) }
		if slices.ContainsFunc(process.ReadProc(pid, "environ"), hasState) {
			argv := process.ReadProc(pid, "cmdline")
			runs = append(runs, backgroundRun{pid, len(argv) > 1 && string(argv[1]) == "start"})
		}
	}
	return runs
}

// descends reports whether this process is an ancestor of another one.
func descends(pid int, parents map[int]int) bool {
	for n := 0; n < len(parents); n++ { // they were not all read at the same moment
		parent, found := parents[pid]
		if !found {
			return false
		}
		if parent == os.Getpid() {
			return true
		}
		pid = parent
	}
	return false
}
