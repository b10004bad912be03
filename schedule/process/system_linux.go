package process

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FindsByRun says that this system can tell which processes were started for a run: by the
// environment in /proc (proc(5)).
const FindsByRun = true

// A member is a process of a Family that was found, and is no zombie. A zombie may stay for ever: a
// program that was not made to be PID 1 of a container never waits for its children.
type member struct {
	pid, group int
	start      string // when it started, in ticks after boot: with the pid it names one process and no later one
}

// members finds the processes of the family that live.
func (f Family) members() (all []member) {
	for pid := range processes {
		m, living := readMember(pid)
		if living && (slices.Contains(f.Groups, m.group) || f.started(pid)) {
			all = append(all, m)
		}
	}
	return all
}

// started reports whether the process was started for the run and attempt of the family, or a later
// attempt.
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

// readMember finds a process by its id. Living is false for what has ended, zombies included.
func readMember(pid int) (m member, living bool) {
	stat := ReadStat(pid)
	living = stat.Group != 0 && stat.State != 'Z' && stat.State != 'X'
	return member{pid, stat.Group, stat.start}, living
}

// runOf returns the run and the attempt for which a process was started; none for a process that
// was started for no run, or whose environment this process may not read.
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

// A Stat is what /proc/PID/stat says of a process (proc(5)). It is zero if there is no such
// process.
type Stat struct {
	State         byte // Z for a zombie
	Parent, Group int
	flags         uint64
	start         string // when it started, in ticks after boot
}

// ReadStat returns the Stat of a process.
func ReadStat(pid int) Stat {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return parseStat(text)
}

// parseStat reads a line of /proc/PID/stat. Field 2 is the program's name in parentheses, and may
// hold anything.
func parseStat(line []byte) (s Stat) {
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	field := func(number int) string {
		if i := number - 3; i < len(fields) {
			return string(fields[i])
		}
		return ""
	}
	if len(fields) < 3 {
		return s
	}
	s.State, s.start = fields[0][0], field(22)
	s.Parent, _ = strconv.Atoi(field(4))
	s.Group, _ = strconv.Atoi(field(5))
	s.flags, _ = strconv.ParseUint(field(9), 10, 64)
	return s
}

// LiveGroups returns the groups of the run's command that live on. The group of the last attempt
// that was written down counts (group 0: none was, and every group of the run counts). Groups of
// the next attempt count, too: sched may have been killed before it could write that attempt down.
// Other groups, which an earlier attempt left behind, are daemons and do not count.
func LiveGroups(run string, group, attempt int) (left []int) {
	for pid := range processes {
		id, n := runOf(pid)
		if id != run {
			continue
		}
		m, living := readMember(pid)
		if living && (group == 0 || m.group == group || n == attempt+1) && !slices.Contains(left, m.group) {
			left = append(left, m.group)
		}
	}
	return left
}

// HasGroup reports whether a process of the group was started for the run. It looks through all
// processes of the machine only if the first process of the group has ended.
func HasGroup(run string, group int) bool {
	if _, living := readMember(group); living {
		id, _ := runOf(group)
		return id == run
	}
	return slices.Contains(LiveGroups(run, group, 0), group)
}

// OpenInOtherRun reports whether a process that was started for another run has the file open, as
// far as this process may see.
func OpenInOtherRun(file *os.File, run string) bool {
	wanted, err := file.Stat()
	if err != nil {
		return false
	}
	for pid := range processes {
		if id, _ := runOf(pid); id == "" || id == run {
			continue
		}
		open, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
		for _, path := range open {
			if info, err := os.Stat(path); err == nil && os.SameFile(info, wanted) {
				return true
			}
		}
	}
	return false
}

// ReadProc returns the environment or the arguments of a process (name: environ or cmdline,
// proc(5)); none if this process may not read them.
func ReadProc(pid int, name string) [][]byte {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	return bytes.Split(text, []byte{0})
}

// hasSubreaper says that this system has BecomeSubreaper.
const hasSubreaper = true

// BecomeSubreaper makes this process, and the program that it may become, the parent of what its
// descendants leave behind (PR_SET_CHILD_SUBREAPER in prctl(2)).
func BecomeSubreaper() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// AwaitChild waits for a child of this process, and reports whether the child has ended with exit
// code 0. Meanwhile it reaps orphans that end. It does not reap processes that the child itself had
// started and has left behind: Adopt needs their exit codes.
func AwaitChild(child int) (succeeded bool) {
	for {
		unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if exiting(child) {
			return reapChild(child)
		}
		unix.Wait4(-1, nil, unix.WNOHANG, nil)
	}
}

// exiting reports whether the first thread of a process has ended, or is about to (PF_EXITING in
// proc_pid_stat(5)). As long as it is not, the kernel gives the children of other threads to it,
// and none to other processes.
func exiting(pid int) bool {
	const flagExiting = 4
	stat := ReadStat(pid)
	return stat == (Stat{}) || stat.flags&flagExiting != 0
}

// Adopt returns a process that another process started, and that has become a child of this process
// (BecomeSubreaper). A process that has ended is Ended at once. Adopt returns false for any other
// process.
func Adopt(pid int) (*Process, bool) {
	stat := ReadStat(pid)
	if stat.Parent != os.Getpid() {
		return nil, false
	}
	const unknownPeak = math.MaxInt32 // another process forked it
	p := &Process{PID: pid, Done: make(chan struct{}), ownPeak: unknownPeak}
	go p.wait(nil)
	if stat.State == 'Z' {
		<-p.Done
	}
	return p, true
}

// ChildGroup returns the process group that was started for the attempt of the run, and whose first
// process is a child of this process; 0 if no such process lives.
func ChildGroup(run string, attempt int) int {
	for pid := range processes {
		if stat := ReadStat(pid); stat.Parent != os.Getpid() || stat.Group != pid {
			continue
		}
		if id, n := runOf(pid); id == run && n == attempt {
			return pid
		}
	}
	return 0
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

// awaitEnd waits for the end of the process with a descriptor that stands for it (pidfd_open(2)): a
// supervisor of a thousand commands would need a thousand threads to wait in wait4(2). It reports
// whether it has waited; false before Linux 5.3.
func (p *Process) awaitEnd() bool {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return false
	}
	syscall.SetNonblock(fd, true) // so that os.File waits without a thread
	file := os.NewFile(uintptr(fd), "a process")
	defer file.Close()
	conn, err := file.SyscallConn()
	if err != nil {
		return false
	}
	ended := false
	conn.Read(func(uintptr) bool {
		ended = p.tryWait(syscall.WNOHANG)
		return ended
	})
	return ended
}

// tryWait sets how the process ended, and reaps it unless it is to stay a zombie. It reports
// whether the process has ended, or whether that cannot be known. Without WNOHANG in the options it
// waits for the end, and a signal may interrupt the wait.
func (p *Process) tryWait(options int) (ended bool) {
	if p.keepZombie {
		return p.peek(options)
	}
	pid, err := syscall.Wait4(p.PID, &p.status, options, &p.Usage)
	return pid == p.PID || err != nil && err != syscall.EINTR
}

// peek is tryWait that leaves a zombie (waitid(2) with WNOWAIT), for the process that becomes its
// parent.
func (p *Process) peek(options int) (ended bool) {
	// siginfo_t of SIGCHLD (sigaction(2)): three numbers, the gap that aligns a pointer, and the
	// fields of SIGCHLD.
	var info struct {
		_, _, code       int32
		_                [0]uintptr
		pid, uid, status int32
		_                [128]byte
	}
	siginfo, usage := (*unix.Siginfo)(unsafe.Pointer(&info)), (*unix.Rusage)(unsafe.Pointer(&p.Usage))
	err := unix.Waitid(unix.P_PID, p.PID, siginfo, options|unix.WEXITED|unix.WNOWAIT, usage)
	if err == unix.EINTR || err == nil && int(info.pid) != p.PID {
		return false
	}
	p.status = waitStatus(info.code, info.status)
	return true
}

// waitStatus returns the status of wait4(2) for the code and the status of waitid(2).
func waitStatus(code, status int32) syscall.WaitStatus {
	const exited, dumped, core = 1, 3, 0x80 // CLD_EXITED, CLD_DUMPED
	switch code {
	case exited:
		return syscall.WaitStatus(status&0xff) << 8
	case dumped:
		return syscall.WaitStatus(status&0x7f) | core
	}
	return syscall.WaitStatus(status & 0x7f)
}

// Self is the program that runs here, also after another one was installed in its place.
func Self() string { return "/proc/self/exe" }

// maxrssUnit is the unit of ru_maxrss (getrusage(2)), in bytes.
const maxrssUnit = 1024

// memoryResource is the limit of memory of a process (getrlimit(2)): of what it can write. Programs
// reserve much more addresses than they use (RLIMIT_AS).
const memoryResource = unix.RLIMIT_DATA
