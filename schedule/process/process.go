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
	"io"
	"math"
	"os"
	"slices"
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
		before, rest := readPeak(string(text))
		p.Refusal, p.peakBefore = rest, max(p.peakBefore, before)
	}
	e, ended := awaitEnd(p.PID, p.keepZombie)
	for !ended {
		e, ended = tryWait(p.PID, 0, p.keepZombie)
	}
	p.status, p.Usage = e.status, e.usage
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

// ExitCode returns the exit code of a process that has ended: 128 plus the signal if one ended it,
// as in a shell.
func (p *Process) ExitCode() int {
	if p.status.Signaled() {
		return 128 + int(p.status.Signal())
	}
	return p.status.ExitStatus()
}

// End ends the process and all that it started, as the function End does. It returns the processes
// that survived KILL and were left behind. If the process itself is among them, Done is not closed.
func (p *Process) End(ctx context.Context, killAfter time.Duration) (survivors []Survivor) {
	return p.EndFamily(ctx, Family{}, killAfter)
}

// EndFamily is End that also ends the other processes of the family.
func (p *Process) EndFamily(ctx context.Context, f Family, killAfter time.Duration) (survivors []Survivor) {
	f.Groups = append(f.Groups, p.PID)
	survivors, _ = End(ctx, f, killAfter)
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

// Adopt returns a process that another process started, and that has become a child of this process
// (BecomeSubreaper). A process that has ended is Ended at once. Adopt returns false for any other
// process.
func Adopt(pid int) (*Process, bool) {
	isChild, isZombie := childState(pid)
	if !isChild {
		return nil, false
	}
	const unknownPeak = math.MaxInt32 // another process forked it
	p := &Process{PID: pid, Done: make(chan struct{}), peakBefore: unknownPeak}
	go p.wait(nil)
	if isZombie {
		<-p.Done
	}
	return p, true
}

// Unreaped are processes whose ends the kernel keeps until they are written down. If this process
// were killed in between, nobody would know how they ended.
type Unreaped []*Process

// Add adds a process that was started with Spec.KeepZombie.
func (u *Unreaped) Add(p *Process) { *u = append(*u, p) }

// Reap reaps the processes: how they ended is written down now.
func (u *Unreaped) Reap() {
	for _, p := range *u {
		p.Reap()
	}
	*u = nil
}
