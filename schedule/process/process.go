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

// reapChild waits for a child of this process and reaps it. It reports whether the child has ended
// with exit code 0.
func reapChild(child int) (succeeded bool) {
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

// End ends the process and the rest of its group as Family.End does. It returns the ids of the
// processes that survived KILL and were left behind. If the process itself is among them, Done is
// not closed.
func (p *Process) End(ctx context.Context, killAfter time.Duration) (survivors []int) {
	return p.endFamily(ctx, Family{Groups: []int{p.PID}}, killAfter)
}

// EndRun is End that on Linux also ends what the process started outside its group for the attempt
// of the run, as far as the task's user may signal it (Family.User).
func (p *Process) EndRun(
	ctx context.Context, run, user string, attempt int, killAfter time.Duration,
) (survivors []int) {
	return p.endFamily(ctx, Family{Groups: []int{p.PID}, Run: run, User: user, Attempt: attempt}, killAfter)
}

func (p *Process) endFamily(ctx context.Context, f Family, killAfter time.Duration) (survivors []int) {
	survivors = f.End(ctx, killAfter)
	if slices.Contains(survivors, p.PID) {
		return survivors
	}
	select {
	case <-p.Done:
	case <-time.After(killPatience):
		survivors = append(survivors, p.PID)
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
func (p *Process) EndWithin(ctx context.Context, limit, killAfter time.Duration) (survivors []int, inTime bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-p.Done:
		return nil, true
	case <-ctx.Done():
		return p.End(context.Background(), killAfter), false
	}
}

// A Family is a command and all that it started.
type Family struct {
	Groups []int // process groups
	// Run and Attempt name the processes that were started for this attempt of the run, or for a
	// later attempt, and that have left the groups, as with setsid(1). Only Linux can find them. If
	// Run is empty, the family has only the groups.
	Run     string
	Attempt int
	// User is the user of the task; if it is empty, the user of this process. A process that has
	// left the groups belongs to the family only if that user may signal it (kill(2)): anybody can
	// give a program the id of a run, and programs that become root keep it.
	User string
}

// killPatience is how long a process may take to end after KILL. A process that takes longer hangs
// in the kernel, as for a disk that does not answer: nothing can end it.
const killPatience = 5 * time.Second

// End ends the processes, which may be children of other processes. It sends TERM, and after
// killAfter, or when ctx is done, KILL to the processes that are left. It returns when all have
// ended. Processes that have not ended killPatience after KILL are left behind: survivors has their
// ids.
func (f Family) End(ctx context.Context, killAfter time.Duration) (survivors []int) {
	ctx, cancel := context.WithTimeout(ctx, killAfter)
	defer cancel()
	f.signalGroups(syscall.SIGTERM)
	if f.endBy(ctx, syscall.SIGTERM) == nil {
		return nil
	}
	ctx, cancel = context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	f.signalGroups(syscall.SIGKILL)
	for _, m := range f.endBy(ctx, syscall.SIGKILL) {
		survivors = append(survivors, m.pid)
	}
	return survivors
}

func (f Family) signalGroups(signal syscall.Signal) {
	for _, group := range f.Groups {
		SignalGroup(group, signal)
	}
}

// endBy sends the signal to each member that is not in one of the groups, and waits for the end of
// all; ctx bounds the wait. It returns the members that are left. It looks through all processes of
// the machine only when the members that it has found have ended, because they may have started
// others meanwhile.
func (f Family) endBy(ctx context.Context, signal syscall.Signal) (left []member) {
	groupsSignalled := true // signalGroups has signalled the processes that were in the groups
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left = slices.DeleteFunc(left, func(m member) bool { return !m.alive() })
		if len(left) == 0 {
			if left = f.members(); len(left) == 0 {
				return nil
			}
			for _, m := range left {
				if !groupsSignalled || !slices.Contains(f.Groups, m.group) {
					send(m.pid, signal)
				}
			}
		}
		groupsSignalled = false
		select {
		case <-ctx.Done():
			return f.members()
		case <-time.After(pause):
		}
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
