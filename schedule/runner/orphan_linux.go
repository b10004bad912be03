package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// groupIsOf reports whether a process of the group was started for the run: it has the run's id
// in its environment (proc(5)). So a number that the kernel gave to somebody else is left alone.
func groupIsOf(group int, run string) bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil || processGroup(text) != group {
			continue
		}
		env, err := os.ReadFile(filepath.Join(filepath.Dir(stat), "environ"))
		if err == nil && bytes.Contains(env, []byte("SCHED_RUN="+run)) {
			return true
		}
	}
	return false
}

// processGroup reads field 5 of /proc/PID/stat. Field 2 is the program's name in parentheses, and
// may hold anything.
func processGroup(stat []byte) int {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 3 {
		return 0
	}
	group, _ := strconv.Atoi(string(fields[2]))
	return group
}
