package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// groupsOf returns the process groups with a process that was started for the run: the run's id is in its environment
// (proc(5)). The value says whether a process of the group was started for that attempt.
func groupsOf(run string, attempt int) map[int]bool {
	groups, variable := map[int]bool{}, []byte("SCHED_ATTEMPT="+strconv.Itoa(attempt)+"\x00")
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		env, err := os.ReadFile(filepath.Join(filepath.Dir(stat), "environ"))
		if err != nil || !bytes.Contains(env, []byte("SCHED_RUN="+run)) {
			continue
		}
		if text, err := os.ReadFile(stat); err == nil {
			group := processGroup(text)
			groups[group] = groups[group] || bytes.Contains(env, variable)
		}
	}
	delete(groups, 0)
	return groups
}

// onlyZombies reports whether every process of the group has ended.
func onlyZombies(group int) bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if state, _, of := ParseStat(text); err == nil && of == group && state != 'Z' {
			return false
		}
	}
	return true
}

// processGroup reads the group of a process from its /proc/PID/stat.
func processGroup(stat []byte) int {
	_, _, group := ParseStat(stat)
	return group
}

// ParseStat reads fields 3 to 5 of /proc/PID/stat (proc(5)). Field 2 is the program's name in
// parentheses, and may hold anything.
func ParseStat(stat []byte) (state byte, parent, group int) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, 0, 0
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 3 {
		return 0, 0, 0
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	group, _ = strconv.Atoi(string(fields[2]))
	return fields[0][0], parent, group
}

// Orphans returns the groups of the run's command that live on: that of the last attempt that was written down (group 0:
// none was), and where sched was killed before it could do that, any of the next attempt. What else an
// earlier attempt left behind, in groups of its own, is a daemon and does not count.
func Orphans(run string, group, attempt int) (left []int) {
	for g, next := range groupsOf(run, attempt+1) {
		if group == 0 || g == group || next {
			left = append(left, g)
		}
	}
	return left
}

// ReadProc returns the environment or the arguments of a process (name: environ or cmdline, proc(5)); none where this
// process may not read them.
func ReadProc(pid int, name string) [][]byte {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	return bytes.Split(text, []byte{0})
}
