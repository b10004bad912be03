// Package process starts the commands and hooks of tasks, each in a process group of its own and as
// the user that the task names; waits for them, measures them, and ends them with all that they
// started.
//
// It takes from the task what the task says of its command: folder, environment, user, umask,
// priority. It finds the processes of a run by the run's id in their environment, and not by their
// numbers: the kernel gives numbers away again.
//
// Non-goals: when a command starts, how long it may take, and what its exit code means for its run
// (package run).
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Process is a command in a process group of its own, so that it can be ended with everything
// that it started. It is started and waited for with the calls of the kernel: os/exec tries out
// what the kernel can do first, which costs every background run a process more.
type Process struct {
	PID  int
	Done chan struct{} // closed when the command has ended

	// Set before Done is closed.
	Usage   syscall.Rusage
	Refusal string // why a process that was to become the command (Become) did not; "" if it did
	status  syscall.WaitStatus

	peakBefore int64 // the peak memory from before it was the command, in units of ru_maxrss
	keepZombie bool  // it stays a zombie when it has ended, until Reap

	mu        sync.Mutex
	reapAsked bool // Reap was called
}

// wait waits for the end of the process, and sets the fields that say how it ended.
func (p *Process) wait(refusal *os.File) {
	defer p.markEnded()
	if refusal != nil {
		text, _ := io.ReadAll(refusal) // up to execve(2), or the end of the process
		refusal.Close()
		p.Refusal = p.readPeak(string(text))
	}
	if p.awaitEnd() {
		return
	}
	for !p.tryWait(0) {
	}
}

// markEnded closes Done, and reaps the process if Reap was called before.
func (p *Process) markEnded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	started.Lock()
	if life := started.lives[p.PID]; life != nil { // nil of an adopted one
		life.to = sinceBoot()
	}
	started.Unlock()
	close(p.Done)
	if p.reapAsked {
		p.reap()
	}
}

// Reap reaps a process that was started with Spec.KeepZombie. If the process lives, that happens
// when it ends. It may be called several times.
func (p *Process) Reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reapAsked || !p.keepZombie {
		return
	}
	p.reapAsked = true
	if p.Ended() {
		p.reap()
	}
}

// reap has the kernel forget the zombie of the process, and how it ended. It does not wait: the
// process has ended.
func (p *Process) reap() { syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil) }

// AwaitChild waits for a child of this process and reaps it. It reports whether the child has ended
// with exit code 0.
func AwaitChild(child int) (succeeded bool) {
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(child, &status, 0, nil); err != syscall.EINTR {
			return err == nil && status.Exited() && status.ExitStatus() == 0
		}
	}
}

// PeakMemory returns the peak memory of a process that has ended and of its children that it waited
// for, in bytes. It is 0 if that is not known. ru_maxrss (getrusage(2)) of a command begins with
// the memory that sched had when the command replaced it, so a smaller peak cannot be measured
// (docs/internals/decisions.md#peak-memory-below-our-own-is-not-known).
func (p *Process) PeakMemory() int64 {
	const rounding = 1 << 20 // the kernel counts memory by processor, and adds that up now and then
	peak := int64(p.Usage.Maxrss) * maxrssUnit
	if peak <= p.peakBefore*maxrssUnit+rounding {
		return 0
	}
	return peak
}

// ownPeak is the peak memory of this process, in units of ru_maxrss.
func ownPeak() int64 {
	var own syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	return int64(own.Maxrss)
}

// readPeak takes the peak memory from what a process wrote that was to become the command
// (writePeak), and returns the rest.
func (p *Process) readPeak(text string) (rest string) {
	line, rest, _ := strings.Cut(text, "\n")
	peak, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return text
	}
	p.peakBefore = max(p.peakBefore, peak)
	return rest
}

// writePeak writes the peak memory of this process, which is about to become a command, to the
// descriptor.
func writePeak(descriptor int) {
	syscall.Write(descriptor, []byte(strconv.FormatInt(ownPeak(), 10)+"\n"))
}

// ExitCode returns the exit code of a process that has ended: 128 plus the signal if one ended it,
// as in a shell.
func (p *Process) ExitCode() int {
	if p.status.Signaled() {
		return 128 + int(p.status.Signal())
	}
	return p.status.ExitStatus()
}

// End ends the process and all that it started, as Family.End does. It returns the processes that
// survived KILL and were left behind. If the process itself is among them, Done is not closed.
func (p *Process) End(ctx context.Context, killAfter time.Duration) (survivors []Survivor) {
	return p.EndFamily(ctx, Family{}, killAfter)
}

// EndFamily is End that also ends the other processes of the family.
func (p *Process) EndFamily(ctx context.Context, f Family, killAfter time.Duration) (survivors []Survivor) {
	f.Groups = append(f.Groups, p.PID)
	survivors, _ = f.End(ctx, killAfter)
	if slices.ContainsFunc(survivors, func(s Survivor) bool { return s.PID == p.PID }) {
		return survivors
	}
	select {
	case <-p.Done:
	case <-time.After(killPatience):
		survivors = append(survivors, Survivor{PID: p.PID})
	}
	return survivors
}

// Ended reports whether Done is closed.
func (p *Process) Ended() bool {
	select {
	case <-p.Done:
		return true
	default:
		return false
	}
}

// EndWithin waits for the process, and ends it (End) if it takes longer than limit, or if ctx is
// done. It reports whether the process ended by itself, and else which processes were left behind.
func (p *Process) EndWithin(ctx context.Context, limit, killAfter time.Duration) (survivors []Survivor, inTime bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-p.Done:
		return nil, true
	case <-ctx.Done():
		return p.End(context.Background(), killAfter), false
	}
}

// A Family is a command and all that it started. On Linux it has
//
//   - the processes in its groups, and those that its other fields name,
//   - their descendants, whatever environment and session these have,
//   - and the sessions that they began.
//
// A sched inside a command is another matter: the runs of that sched do not belong to the family.
// On other systems a family has only the groups.
type Family struct {
	Groups []int // process groups
	// Run and Attempt name the processes that were started for this attempt of the run, or for a
	// later attempt: by their environment.
	Run     string
	Attempt int
	// User is the user of the task; if it is empty, the user of this process. A process counts by
	// its environment only if that user may signal it (kill(2)): anybody can give a program the id
	// of a run, and programs that become root keep it.
	User string
	// Output is the file into which the command prints, and Locks are what the command inherits
	// beside it. A process that lost its parent, and became a child of this process
	// (BecomeSubreaper), belongs to the family if it has the output open; or if it began after the
	// command, and has a lock open, or nothing else lived since then that it can come from. Without
	// Output none belongs to it.
	Output *os.File
	Locks  []*os.File
}

// A Survivor is a process that did not end by KILL.
type Survivor struct {
	PID   int
	Start string // in ticks after boot: with the pid it names one process and no later one; "" if that is not known
}

// String returns the text that ParseSurvivor reads.
func (s Survivor) String() string { return strconv.Itoa(s.PID) + "@" + s.Start }

// ParseSurvivor reads what Survivor.String wrote.
func ParseSurvivor(text string) (s Survivor) {
	pid, start, _ := strings.Cut(text, "@")
	s.PID, _ = strconv.Atoi(pid)
	s.Start = start
	return s
}

// Alive reports whether the process has not ended.
func (s Survivor) Alive() bool { return s.PID > 0 && member{Survivor: s}.alive() }

// killPatience is how long a process may take to end after KILL. A process that takes longer hangs
// in the kernel, as for a disk that does not answer, or belongs to a user whose processes this one
// may not signal: nothing that we do can end it.
const killPatience = 5 * time.Second

// End ends the processes, which may be children of other processes. It sends TERM, and after
// killAfter, or when ctx is done, KILL to the processes that are left; killed says so. It returns
// when all have ended. Processes that have not ended killPatience after KILL are left behind.
func (f Family) End(ctx context.Context, killAfter time.Duration) (survivors []Survivor, killed bool) {
	ctx, cancel := context.WithTimeout(ctx, killAfter)
	defer cancel()
	h := hunt{family: f}
	h.look() // before the first signal, because a process that ends is no parent any more
	if h.endBy(ctx, syscall.SIGTERM, f.Groups) {
		return nil, false
	}
	ctx, cancel = context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	if h.endBy(ctx, syscall.SIGKILL, nil) {
		return nil, true
	}
	for _, m := range h.found {
		survivors = append(survivors, m.Survivor)
	}
	return survivors, true
}

// A hunt is what is known of a family that is being ended.
type hunt struct {
	family Family
	looked bool     // at least once
	found  []member // the members that lived when this process looked last
}

// endBy sends the signal to the groups and to each member, and waits for the end of all; ctx bounds
// the wait. It reports whether all have ended. It looks through all processes of the machine only
// when the members that it has found have ended, because they may have started others meanwhile.
func (h *hunt) endBy(ctx context.Context, signal syscall.Signal, groups []int) (ended bool) {
	h.signalFound(signal, groups)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		alive := slices.DeleteFunc(slices.Clone(h.found), func(m member) bool { return !m.alive() })
		if len(alive) > 0 {
			h.found = alive
		} else if h.look(); len(h.found) == 0 {
			return true
		} else {
			h.signalFound(signal, nil)
		}
		select {
		case <-ctx.Done():
			h.look()
			return len(h.found) == 0
		case <-time.After(pause):
		}
	}
}

// signalFound signals the groups, and the members that live. Members in groups of the family get
// the signal by their group, all at once, so that none forks meanwhile.
func (h *hunt) signalFound(signal syscall.Signal, groups []int) {
	groups = slices.Clone(groups)
	for _, m := range h.found {
		switch {
		case !m.alive():
		case !slices.Contains(h.family.Groups, m.group):
			send(m.PID, signal)
		case !slices.Contains(groups, m.group):
			groups = append(groups, m.group)
		}
	}
	for _, group := range groups {
		SignalGroup(group, signal)
	}
}

// SignalGroup signals a process group. After TERM it lets stopped processes go on, so that they can
// obey.
func SignalGroup(group int, signal syscall.Signal) { send(-group, signal) }

// send signals a process or, by its negative number, a group.
func send(id int, signal syscall.Signal) {
	syscall.Kill(id, signal)
	if signal == syscall.SIGTERM {
		syscall.Kill(id, syscall.SIGCONT)
	}
}

// Exit codes of a command that could not be started, as shells give them (POSIX, 2.8.2).
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// StartExitCode returns the exit code that a shell would give for an error of Spec.Start.
func StartExitCode(err error) int {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotFound) {
		return exitNotFound
	}
	return exitNotExecutable
}

// ExitText returns an exit code with what it usually means.
func ExitText(code int) string {
	switch {
	case code == exitNotFound:
		return "exit code 127: a command was not found"
	case code == exitNotExecutable:
		return "exit code 126: a command cannot be executed"
	case code > 128 && code <= 128+64: // what is above is no signal; ssh(1) gives 255
		return fmt.Sprintf("exit code %d: killed by a signal (%s)", code, syscall.Signal(code-128))
	}
	return fmt.Sprintf("exit code %d", code)
}
