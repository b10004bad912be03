package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"

	"sched/schedule/text"
)

// A Process is a command in a process group of its own, so that it can be ended with everything
// that it started. It is started and waited for with the calls of the kernel: os/exec tries out
// what the kernel can do first, which costs every background run a process more.
type Process struct {
	PID     int
	Done    chan struct{} // closed when the command has ended; then the fields below are set
	status  syscall.WaitStatus
	Usage   syscall.Rusage
	Refusal string // of a process that was to become the command (Become): why it did not
}

// spawn starts argv. Relative programs are found from dir and the PATH of env, as a shell there
// would: not from those of this process. What it prints goes to output (nil: nowhere), its stdin is empty, and it
// inherits the extra descriptors as 3, 4 and so on.
func spawn(argv []string, dir string, env []string, output *os.File, extra ...*os.File) (*Process, error) {
	path, err := lookPath(argv[0], dir, env)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, folderError(dir, fs.ErrNotExist)
	}
	return Fork(path, argv, dir, env, output, extra, &syscall.SysProcAttr{Setpgid: true}, nil)
}

// folderError is the error of a command that has no folder to run in. It does not wrap err: a folder that does not exist is
// not a program that was not found (StartExitCode).
func folderError(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist", dir)
	}
	return fmt.Errorf("the folder %s: %v", dir, text.WithoutPath(err))
}

// Fork starts the program at path. Where said is not nil, the Process reads from there why it did not become the command
// (Process.Refusal), and closes it.
func Fork(path string, argv []string, dir string, env []string, output *os.File, extra []*os.File, how *syscall.SysProcAttr, said *os.File) (*Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	if output == nil {
		output = null
	}
	files := []uintptr{null.Fd(), output.Fd(), output.Fd()}
	for _, file := range extra {
		files = append(files, file.Fd())
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: dir, Env: env, Files: files, Sys: how})
	runtime.KeepAlive(output)
	runtime.KeepAlive(extra) // until here, or the garbage collector may close what the command inherits
	if err != nil {
		return nil, &os.PathError{Op: "exec", Path: path, Err: err}
	}
	p := &Process{PID: pid, Done: make(chan struct{})}
	go p.wait(said)
	return p, nil
}

// wait waits for the end of the process, and sets what there is to know of it.
func (p *Process) wait(said *os.File) {
	defer close(p.Done)
	if said != nil {
		reason, _ := io.ReadAll(said) // up to execve(2), or the end of the process
		said.Close()
		p.Refusal = string(reason)
	}
	for {
		_, err := syscall.Wait4(p.PID, &p.status, 0, &p.Usage)
		if err != syscall.EINTR {
			return
		}
	}
}

// ExitCode returns the command's exit code: 128 plus the signal if one ended it, as in a shell.
func (p *Process) ExitCode() int {
	if p.status.Signaled() {
		return 128 + int(p.status.Signal())
	}
	return p.status.ExitStatus()
}

// End sends TERM to the group, and KILL when some of it is left after killAfter, or at once when
// ctx is done. It returns when the command has ended and its group is empty or killed.
func (p *Process) End(ctx context.Context, killAfter time.Duration) {
	EndGroup(ctx, p.PID, killAfter)
	<-p.Done
}

// EndWithin waits for a process, and ends its group when it takes longer or ctx is done. It reports
// whether the process ended by itself. A process that does not end by KILL either, since it hangs in the kernel, is left
// behind after killAfter.
func (p *Process) EndWithin(ctx context.Context, limit, killAfter time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.Done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	EndGroup(context.Background(), p.PID, killAfter)
	select {
	case <-p.Done:
	case <-time.After(killAfter):
	}
	return false
}
