package process

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Stat is what /proc/PID/stat says of a process (proc(5)). It is zero if there is no such
// process.
type Stat struct {
	Name          string // of its program, at most 15 bytes
	State         byte   // Z for a zombie
	Parent, Group int
	session       int
	flags         uint64
	start         string // when it started, in ticks after boot
	// hasEnvironment says that the process has memory for its environment, even if that is empty.
	// It has none while it executes a program, and is false if this process may not read it.
	hasEnvironment bool
}

// isLiving reports whether the process is there, and has not ended.
func (s Stat) isLiving() bool { return s.Group != 0 && s.State != 'Z' && s.State != 'X' }

// ReadStat returns the Stat of a process.
func ReadStat(pid int) Stat {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return parseStat(text)
}

// parseStat reads a line of /proc/PID/stat. Field 2 is the program's name in parentheses, and may
// hold anything.
func parseStat(line []byte) (s Stat) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	fields := bytes.Fields(line[end+1:])
	field := func(number int) string {
		if i := number - 3; i < len(fields) {
			return string(fields[i])
		}
		return ""
	}
	if len(fields) < 3 {
		return s
	}
	if open >= 0 && open < end {
		s.Name = strings.TrimSpace(string(line[open+1 : end]))
	}
	s.State, s.start = fields[0][0], field(22)
	s.Parent, _ = strconv.Atoi(field(4))
	s.Group, _ = strconv.Atoi(field(5))
	s.session, _ = strconv.Atoi(field(6))
	s.flags, _ = strconv.ParseUint(field(9), 10, 64)
	envEnd := field(51)
	s.hasEnvironment = envEnd != "" && envEnd != "0"
	return s
}

// NameAndParent returns the name of a process's program, and its parent; false if there is no such
// process.
func NameAndParent(pid int) (name string, parent int, ok bool) {
	stat := ReadStat(pid)
	return stat.Name, stat.Parent, stat.State != 0
}

// isAlive reports whether a process has not ended. For its start see Survivor.
func isAlive(pid int, start string) bool {
	now := ReadStat(pid)
	return now.isLiving() && (start == "" || now.start == start)
}

// processes yields each process of the machine.
func processes(yield func(pid int) bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && !yield(pid) {
			return
		}
	}
}

// runOf returns the run and the attempt for which a process was started; none for a process that
// was started for no run, or whose environment this process may not read.
func runOf(pid int) (run string, attempt int) { return runIn(Environment(pid)) }

// runIn returns the run and the attempt that an environment names.
func runIn(env [][]byte) (run string, attempt int) {
	for _, pair := range env {
		if value, ok := bytes.CutPrefix(pair, []byte("SCHED_RUN=")); ok {
			run = string(value)
		} else if value, ok := bytes.CutPrefix(pair, []byte("SCHED_ATTEMPT=")); ok {
			attempt, _ = strconv.Atoi(string(value))
		}
	}
	return run, attempt
}

// hasOpen reports whether a process has the file open, as far as this process may see.
func hasOpen(pid int, file *os.File) bool {
	wanted, err := file.Stat()
	if err != nil {
		return false
	}
	open, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
	return slices.ContainsFunc(open, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && os.SameFile(info, wanted)
	})
}

// Environment returns the environment with which a process was started, in the form NAME=VALUE;
// none if this process may not read it. While a process executes another program, which takes less
// than a millisecond, it has no environment: Environment looks again, for at most a tenth of a
// second.
func Environment(pid int) [][]byte {
	const maxWait = 100 * time.Millisecond
	pairs, err := readProc(pid, "environ")
	for end := time.Now().Add(maxWait); len(pairs) == 0 && err == nil && time.Now().Before(end); {
		wasExecuting := isExecuting(pid)
		pairs, err = readProc(pid, "environ") // if it was not, it may have begun and ended since the first read
		if !wasExecuting {
			break // it has no environment
		}
		time.Sleep(time.Millisecond)
	}
	return pairs
}

// isExecuting reports whether a process whose environment this process may read executes a program
// at this moment.
func isExecuting(pid int) bool {
	const flagKernelThread = 0x200000 // PF_KTHREAD in proc_pid_stat(5)
	stat := ReadStat(pid)
	return !stat.hasEnvironment && !exiting(pid) && stat.flags&flagKernelThread == 0
}

// exiting reports whether the first thread of a process has ended, or is about to (PF_EXITING in
// proc_pid_stat(5)). As long as it is not, the kernel gives the children of other threads to it,
// and none to other processes.
func exiting(pid int) bool {
	const flagExiting = 4
	stat := ReadStat(pid)
	return stat == (Stat{}) || stat.flags&flagExiting != 0
}

// Arguments returns the arguments of a process, the name of its program first; none if this process
// may not read them.
func Arguments(pid int) [][]byte {
	arguments, _ := readProc(pid, "cmdline")
	return arguments
}

// readProc reads a file of a process that is a list of texts (proc(5)).
func readProc(pid int, name string) ([][]byte, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	if len(text) == 0 {
		return nil, err
	}
	return bytes.Split(text, []byte{0}), err
}

// Age returns how long ago a process was started, by a clock that nobody sets; 0 if that cannot be
// read.
func Age(pid int) time.Duration {
	const ticks = 100 // of a second: USER_HZ of every architecture that Go knows
	started, err := strconv.ParseInt(ReadStat(pid).start, 10, 64)
	var now unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return max(0, time.Duration(now.Nano())-time.Duration(started)*time.Second/ticks)
}
