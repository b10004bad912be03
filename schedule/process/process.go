package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"sched/schedule/humanize"
)

// A Process is a command in a process group of its own, so that it can be ended with everything
// that it started. It is started and waited for with the calls of the kernel: os/exec tries out
// what the kernel can do first, which costs every background run a process more.
type Process struct {
	PID  int
	Done chan struct{} // closed when the command has ended; then the next three fields are set

	status  syscall.WaitStatus
	Usage   syscall.Rusage
	Refusal string // why a process that was to become the command (Become) did not; "" if it did

	ownPeak    int64 // the peak memory that is not the command's, in units of ru_maxrss
	keepZombie bool  // it stays a zombie when it has ended, until Reap

	mu        sync.Mutex
	reapAsked bool // Reap was called
}

// A Program describes a process that is about to be started.
type Program struct {
	Path    string
	Argv    []string
	Dir     string
	Env     []string
	Output  *os.File   // nil: nowhere
	Inherit []*os.File // its descriptors 3, 4 and so on
	Attr    *syscall.SysProcAttr

	// The Process reads Process.Refusal from this pipe, and closes it. The pipe is nil for a
	// process that is the command at once.
	refusal    *os.File
	keepZombie bool    // see Spec.KeepZombie
	cgroup     *Cgroup // in which it starts; nil: where this process is
}

// spawn starts a program in a group of its own. It finds a relative program from the folder and the
// PATH of that program, as a shell there would, and not from the folder and the PATH of this
// process.
func (p Program) spawn() (*Process, error) {
	path, err := lookPath(p.Argv[0], p.Dir, p.Env)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(p.Dir); err != nil || !info.IsDir() {
		return nil, folderError(p.Dir, fs.ErrNotExist)
	}
	p.Path, p.Attr = path, &syscall.SysProcAttr{Setpgid: true}
	return p.Fork()
}

// folderError is the error of a command that has no folder to run in. It does not wrap err: a
// folder that does not exist is not a program that was not found (StartExitCode).
func folderError(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist", dir)
	}
	return fmt.Errorf("the folder %s: %v", dir, humanize.WithoutPath(err))
}

// Fork starts the program at its path. Its stdin is empty.
func (p Program) Fork() (*Process, error) {
	var null *os.File
	err := retryOnShortage(func() (err error) {
		null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer null.Close()
	output := cmp.Or(p.Output, null)
	files := []uintptr{null.Fd(), output.Fd(), output.Fd()}
	for _, file := range p.Inherit {
		files = append(files, file.Fd())
	}
	p.cgroup.startIn(p.Attr)
	var pid int
	err = retryOnShortage(func() (err error) {
		pid, err = forkExec(p.Path, p.Argv, &syscall.ProcAttr{Dir: p.Dir, Env: p.Env, Files: files, Sys: p.Attr})
		return err
	})
	runtime.KeepAlive(output)
	runtime.KeepAlive(p.Inherit) // until here, or the garbage collector may close what the command inherits
	if err != nil {
		return nil, &os.PathError{Op: "exec", Path: p.Path, Err: err}
	}
	started := &Process{
		PID:        pid,
		Done:       make(chan struct{}),
		ownPeak:    ownPeak(),
		keepZombie: p.keepZombie && hasSubreaper,
	}
	go started.wait(p.refusal)
	return started, nil
}

// forkExec is the call of the kernel; tests let it fail.
var forkExec = syscall.ForkExec

// shortagePatience is how long retryOnShortage tries. Otherwise a moment without room would cost a
// run its hooks for good.
const shortagePatience = 30 * time.Second

// retryOnShortage calls start, which starts a process or opens a file for one. It calls start again
// while the machine has no room for another process, or for another open file, for half a minute at
// most.
func retryOnShortage(start func() error) error {
	end := time.Now().Add(shortagePatience)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		err := start()
		if !isShortage(err) || time.Now().After(end) {
			return err
		}
		time.Sleep(pause)
	}
}

// isShortage reports whether an error says that there is no room: EAGAIN and ENOMEM for a process,
// EMFILE and ENFILE for a file.
func isShortage(err error) bool {
	isErrno := func(errno syscall.Errno) bool { return errors.Is(err, errno) }
	return slices.ContainsFunc([]syscall.Errno{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE}, isErrno)
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
// when it ends. Safe to be called again.
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
	if peak <= p.ownPeak*maxrssUnit+rounding {
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
	p.ownPeak = max(p.ownPeak, peak)
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
// of the run.
func (p *Process) EndRun(ctx context.Context, run string, attempt int, killAfter time.Duration) (survivors []int) {
	return p.endFamily(ctx, Family{[]int{p.PID}, run, attempt}, killAfter)
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

// EndWithin waits for a process, and ends its group when it takes longer or ctx is done. It reports
// whether the process ended by itself. A process that does not end by KILL either, because it hangs
// in the kernel, is left behind after a while.
func (p *Process) EndWithin(ctx context.Context, limit, killAfter time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.Done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	p.End(context.Background(), killAfter)
	return false
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
