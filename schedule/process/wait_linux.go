package process

import (
	"math"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file waits for the ends of processes: of children, of orphans that become children, and of
// processes that stay zombies for another one to reap.

// hasSubreaper says that this system has BecomeSubreaper.
const hasSubreaper = true

// BecomeSubreaper makes this process, and the program that it may become, the parent of what its
// descendants leave behind (PR_SET_CHILD_SUBREAPER in prctl(2)).
func BecomeSubreaper() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// isOrphan reports whether the process is a child of this process that another process started.
// A child in the group of this process does not count: os/exec has started it, and waits for it.
func (m member) isOrphan(own member) bool {
	if m.parent != own.PID || m.group == own.group {
		return false
	}
	started.Lock()
	defer started.Unlock()
	return started.lives[m.PID] == nil
}

// ownsAlone reports whether an orphan can come from no other process that this one has started than
// those that lead the groups of the family: no other has lived since the orphan began.
func (f Family) ownsAlone(orphan time.Duration) bool {
	started.Lock()
	defer started.Unlock()
	for pid, other := range started.lives {
		living := other.to == 0
		if slices.Contains(f.Groups, pid) || living && other.adopts {
			continue
		}
		if living || other.to >= orphan {
			return false
		}
	}
	return true
}

// began reports when the family's first command began that this process has started; 0 if it
// has started no such command.
func (f Family) began() (from time.Duration) {
	started.Lock()
	defer started.Unlock()
	for _, group := range f.Groups {
		if life := started.lives[group]; life != nil && (from == 0 || life.from < from) {
			from = life.from
		}
	}
	return from
}

// sinceBoot returns the time since the boot by the clock of Stat.start.
func sinceBoot() time.Duration {
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	return time.Duration(now.Nano())
}

// AdoptOrphans makes this process the parent of what its descendants leave behind, and reaps that
// when it ends.
var AdoptOrphans = sync.OnceFunc(func() {
	BecomeSubreaper()
	go reapOrphans()
})

// reapOrphans reaps orphans that have ended, and does not return. It looks through the processes at
// most once a second.
func reapOrphans() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	for range ended {
		own, _ := readMember(os.Getpid())
		for pid := range processes {
			if m, living := readMember(pid); !living && m.isOrphan(own) {
				unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
		}
		time.Sleep(time.Second)
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
	p := &Process{PID: pid, Done: make(chan struct{}), peakBefore: unknownPeak}
	go p.wait(nil)
	if stat.State == 'Z' {
		<-p.Done
	}
	return p, true
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

// peek is tryWait that leaves a zombie, for the process that becomes its parent.
func (p *Process) peek(options int) (ended bool) {
	info, err := awaitState(unix.P_PID, p.PID, options, (*unix.Rusage)(unsafe.Pointer(&p.Usage)))
	if err == unix.EINTR || err == nil && int(info.pid) != p.PID {
		return false
	}
	p.status = waitStatus(info.code, info.status)
	return true
}

// A childState is siginfo_t of SIGCHLD (sigaction(2)): three numbers, the gap that aligns a
// pointer, and the fields of SIGCHLD.
type childState struct {
	_, _, code       int32
	_                [0]uintptr
	pid, uid, status int32 // pid is 0 if no child has ended
	_                [128]byte
}

// awaitState waits for the end of a child, and leaves it a zombie (waitid(2) with WNOWAIT). For the
// kind of the id see waitid(2).
func awaitState(kind, id, options int, usage *unix.Rusage) (state childState, err error) {
	err = unix.Waitid(kind, id, (*unix.Siginfo)(unsafe.Pointer(&state)), options|unix.WEXITED|unix.WNOWAIT, usage)
	return state, err
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
