package process

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// FindsByRun says that this system can tell which processes were started for a run: by the
// environment in /proc (proc(5)).
const FindsByRun = true

// A member is a process of a Family that was found, and is no zombie. A zombie may stay for ever: a
// program that was not made to be PID 1 of a container never waits for its children.
type member struct {
	Survivor
	parent, group, session int
}

// look finds the members that live. The groups that the family names count at the first look.
// Later the kernel may have given their numbers to others, so then a group or a session counts if a
// member was in it when this process looked last.
func (h *hunt) look() {
	f, known := h.family, h.found
	own, _ := readMember(os.Getpid())
	h.found = nil
	var others []member
	for pid := range processes {
		m, living := readMember(pid)
		isKnown := slices.ContainsFunc(known, func(k member) bool { return k.Survivor == m.Survivor })
		switch {
		case !living || pid == own.PID:
		case isKnown, !h.looked && slices.Contains(f.Groups, m.group), f.started(pid), f.orphaned(m, own):
			h.found = append(h.found, m)
		default:
			others = append(others, m)
		}
	}
	h.looked = true
	h.addRelatives(known, others, own)
}

// addRelatives adds the other processes that descend from members, or are in a group or a session
// of members. The group and the session of this process do not count.
func (h *hunt) addRelatives(known, others []member, own member) {
	parents, groups, sessions := map[int]bool{}, map[int]bool{own.group: false}, map[int]bool{own.session: false}
	runs := map[string]bool{"": true, h.family.Run: true} // of the members
	for _, m := range h.found {
		run, _ := runOf(m.PID)
		runs[run] = true
	}
	for members := slices.Concat(known, h.found); len(members) > 0; {
		for _, m := range members {
			parents[m.PID] = true
			groups[m.group] = m.group != own.group
			sessions[m.session] = m.session != own.session
		}
		members = nil
		others = slices.DeleteFunc(others, func(m member) bool {
			related := parents[m.parent] || groups[m.group] || sessions[m.session]
			if related && !belongsToOtherRun(m.PID, runs) {
				members = append(members, m)
			}
			return related
		})
		h.found = append(h.found, members...)
	}
}

// belongsToOtherRun reports whether a descendant of a command is a process of a sched inside it: a
// command or a hook of a run that is not among runs, or a process that watches such runs.
func belongsToOtherRun(pid int, runs map[string]bool) bool {
	for _, pair := range Environment(pid) {
		if run, ok := bytes.CutPrefix(pair, []byte("SCHED_RUN=")); ok && !runs[string(run)] {
			return true
		}
		if bytes.HasPrefix(pair, []byte(StateVariable+"=")) {
			return true
		}
	}
	return false
}

// started reports whether the process was started for the run and attempt of the family, or a later
// attempt.
func (f Family) started(pid int) bool {
	if f.Run == "" || pid == os.Getpid() {
		return false
	}
	run, attempt := runOf(pid)
	return run == f.Run && attempt >= f.Attempt && maySignal(f.User, pid)
}

// maySignal reports whether a user may signal a process (kill(2)), but for the right of root to
// signal every process. "" is the user of this process. A process of sched that is about to become
// a command of the user (Become) counts as one of the user.
func maySignal(name string, pid int) bool {
	uid := os.Geteuid()
	if name != "" {
		a, err := userAccount(name, false)
		if err != nil {
			return false
		}
		uid = a.uid
	}
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	_, after, _ := bytes.Cut(status, []byte("\nUid:"))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	ids := bytes.Fields(line) // real, effective, saved, of the file system
	has := func(i, id int) bool { return i < len(ids) && string(ids[i]) == strconv.Itoa(id) }
	return has(0, uid) || has(2, uid) || has(0, os.Geteuid()) && runsSched(pid)
}

// refuseTraces keeps other processes of the user of this one from tracing it, also where
// fs.suid_dumpable allows that (proc(5)).
func refuseTraces() { unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// runsSched reports whether a process runs the program of this process.
func runsSched(pid int) bool {
	ours, err := os.Stat(Self())
	theirs, theirErr := os.Stat("/proc/" + strconv.Itoa(pid) + "/exe")
	return err == nil && theirErr == nil && os.SameFile(ours, theirs)
}

// orphaned reports whether the process lost its parent, became a child of this process, and comes
// from the family: see Family.Output.
func (f Family) orphaned(m, own member) bool {
	if f.Output == nil || !m.isOrphan(own) {
		return false
	}
	if hasOpen(m.PID, f.Output) {
		return true
	}
	ticks, _ := strconv.ParseInt(m.Start, 10, 64)
	start := time.Duration(ticks) * (time.Second / 100)
	from := f.began().Truncate(time.Second / 100)
	if from == 0 || start < from || belongsToOtherRun(m.PID, map[string]bool{"": true, f.Run: true}) {
		return false
	}
	hasLock := slices.ContainsFunc(f.Locks, func(lock *os.File) bool { return hasOpen(m.PID, lock) })
	return hasLock || f.ownsAlone(start)
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

// alive reports whether the process has not ended.
func (m member) alive() bool {
	now, living := readMember(m.PID)
	return living && (m.Start == "" || now.Start == m.Start)
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

// readMember finds a process by its id. A process that has ended is not living, nor is a zombie.
func readMember(pid int) (m member, living bool) {
	stat := ReadStat(pid)
	living = stat.Group != 0 && stat.State != 'Z' && stat.State != 'X'
	return member{Survivor{pid, stat.start}, stat.Parent, stat.Group, stat.session}, living
}

// runOf returns the run and the attempt for which a process was started; none for a process that
// was started for no run, or whose environment this process may not read.
func runOf(pid int) (run string, attempt int) {
	for _, pair := range Environment(pid) {
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
	session       int
	flags         uint64
	start         string // when it started, in ticks after boot
	// hasEnvironment says that the process has memory for its environment, even if that is empty.
	// It has none while it executes a program, and is false if this process may not read it.
	hasEnvironment bool
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
	s.session, _ = strconv.Atoi(field(6))
	s.flags, _ = strconv.ParseUint(field(9), 10, 64)
	envEnd := field(51)
	s.hasEnvironment = envEnd != "" && envEnd != "0"
	return s
}

// LiveGroups returns the groups of the run's command that live on. The group of the last attempt
// that was written down counts (group 0: none was, and every group of the run counts). Groups of
// the next attempt count, too: sched may have been killed before it could write that attempt down.
// Other groups, which an earlier attempt left behind, are daemons and do not count. A group that
// was not written down counts only if the task's user may signal its process (Family.User).
func LiveGroups(run, user string, group, attempt int) (left []int) {
	for pid := range processes {
		id, n := runOf(pid)
		if id != run {
			continue
		}
		m, living := readMember(pid)
		isKnown := group != 0 && m.group == group
		isNext := group == 0 || n == attempt+1
		if living && (isKnown || isNext && maySignal(user, pid)) && !slices.Contains(left, m.group) {
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
	return slices.Contains(LiveGroups(run, "", group, 0), group)
}

// Prints reports whether a process of the group has the file at the path open, such as the output
// of a run. It tells a command that has no environment from others that got its number later.
func Prints(group int, path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	for pid := range processes {
		if m, living := readMember(pid); living && m.group == group && hasOpen(pid, file) {
			return true
		}
	}
	return false
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

// OpenInOtherRun reports whether a process that was started for another run has the file open, as
// far as this process may see.
func OpenInOtherRun(file *os.File, run string) bool {
	for pid := range processes {
		if id, _ := runOf(pid); id != "" && id != run && hasOpen(pid, file) {
			return true
		}
	}
	return false
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

// Self is the program that runs here, also after another one was installed in its place.
func Self() string { return "/proc/self/exe" }

// maxrssUnit is the unit of ru_maxrss (getrusage(2)), in bytes.
const maxrssUnit = 1024

// memoryResource is the limit of memory of a process (getrlimit(2)): of what it can write. Programs
// reserve much more addresses than they use (RLIMIT_AS).
const memoryResource = unix.RLIMIT_DATA
