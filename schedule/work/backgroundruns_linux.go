package work

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"sched/schedule/process"
)

// backgroundRuns returns descendants with process.StateVariable set: commands and hooks do not have
// it.
func backgroundRuns() (runs []backgroundRun) {
	parents := map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if stat := process.ReadStat(pid); stat.State != 0 && stat.State != 'Z' {
			parents[pid] = stat.Parent
		}
	}
	for pid := range parents {
		if !descends(pid, parents) {
			continue
		}
		hasState := func(pair []byte) bool { return bytes.HasPrefix(pair, []byte(process.StateVariable+"=")) }
		if slices.ContainsFunc(process.Environment(pid), hasState) {
			runs = append(runs, backgroundRun{pid, supervises(process.Arguments(pid))})
		}
	}
	return withoutForks(runs, parents)
}

// withoutForks corrects processes that were taken for a supervisor and are the child of a
// supervisor. Between fork(2) and execve(2) a process has the arguments of its parent. Such a child
// is about to become a command, or a `sched finish`. A `sched finish` catches no signal: if it were
// told to end with its supervisor, it would fire no hooks.
func withoutForks(runs []backgroundRun, parents map[int]int) []backgroundRun {
	supervisors := map[int]bool{}
	for _, run := range runs {
		supervisors[run.pid] = run.supervisor
	}
	for i, run := range runs {
		runs[i].supervisor = run.supervisor && !supervisors[parents[run.pid]]
	}
	return runs
}

// supervises reports whether these are the arguments of a supervisor, or of a witness in the place
// of a supervisor.
func supervises(argv [][]byte) bool {
	return len(argv) > 2 && (string(argv[1]) == "start" || string(argv[1]) == "finish" && string(argv[2]) == "--tick")
}

func descends(pid int, parents map[int]int) bool {
	for n := 0; n < len(parents); n++ { // the parents were not all read at the same moment
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
