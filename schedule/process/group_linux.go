package process

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// FindsByRun says that this system can tell which processes were started for a run: by the environment in /proc (proc(5)).
const FindsByRun = true

// A member is a process of a Family that was found, and is no zombie. A zombie may stay for ever: a program that was not made
// to be PID 1 of a container never waits for its children.
type member struct {
	pid, group int
	start      string // when it started, in ticks since the boot: with the pid it names one process and no later one
}

// members finds the processes of the family that live.
func (f Family) members() (all []member) {
	eachProcess(func(pid int) {
		m, living := readMember(pid)
		if living && (slices.Contains(f.Groups, m.group) || f.started(pid)) {
			all = append(all, m)
		}
	})
	return all
}

// started reports whether the process was started for the run and attempt of the family, or a later attempt.
func (f Family) started(pid int) bool {
	if f.Run == "" || pid == os.Getpid() {
		return false
	}
	run, attempt := runOf(pid)
	return run == f.Run && attempt >= f.Attempt
}

// alive reports whether the process has not ended.
func (m member) alive() bool {
	now, living := readMember(m.pid)
	return living && now.start == m.start
}

// eachProcess calls do for each process of the machine.
func eachProcess(do func(pid int)) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			do(pid)
		}
	}
}

// readMember reads /proc/PID/stat. Living is false for what has ended, zombies included.
func readMember(pid int) (m member, living bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	state, _, group := ParseStat(stat)
	if err != nil || group == 0 || state == 'Z' || state == 'X' {
		return m, false
	}
	return member{pid, group, startTicks(stat)}, true
}

// startTicks reads field 22 of /proc/PID/stat (proc(5)): when the process started, in ticks since the boot; empty where there is none.
func startTicks(stat []byte) string {
	if fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(fields) > 19 {
		return string(fields[19])
	}
	return ""
}

// runOf returns the run and the attempt for which a process was started; none for a process that was not, or whose
// environment this process may not read.
func runOf(pid int) (run string, attempt int) {
	for _, pair := range ReadProc(pid, "environ") {
		if value, ok := bytes.CutPrefix(pair, []byte("SCHED_RUN=")); ok {
			run = string(value)
		} else if value, ok := bytes.CutPrefix(pair, []byte("SCHED_ATTEMPT=")); ok {
			attempt, _ = strconv.Atoi(string(value))
		}
	}
	return run, attempt
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
	eachProcess(func(pid int) {
		of, n := runOf(pid)
		if of != run {
			return
		}
		m, living := readMember(pid)
		if living && (group == 0 || m.group == group || n == attempt+1) && !slices.Contains(left, m.group) {
			left = append(left, m.group)
		}
	})
	return left
}

// HasGroup reports whether a process of the group was started for the run. It looks through all processes of the machine only
// where the first of the group has ended.
func HasGroup(run string, group int) bool {
	if _, living := readMember(group); living {
		of, _ := runOf(group)
		return of == run
	}
	return slices.Contains(Orphans(run, group, 0), group)
}

// ReadProc returns the environment or the arguments of a process (name: environ or cmdline, proc(5)); none where this
// process may not read them.
func ReadProc(pid int, name string) [][]byte {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	return bytes.Split(text, []byte{0})
}
