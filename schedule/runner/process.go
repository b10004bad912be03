package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"sched/schedule"

	"sched/schedule/text"
)

// Exit codes of a command that could not be started, as shells give them (POSIX, 2.8.2).
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// A process is a command in a process group of its own, so that it can be ended with everything
// that it started. It is started and waited for with the calls of the kernel: os/exec tries out
// what the kernel can do first, which costs every background run a process more.
type process struct {
	pid     int
	done    chan struct{} // closed when the command has ended; then the fields below are set
	status  syscall.WaitStatus
	usage   syscall.Rusage
	refusal string // of a stage: why it did not become the command
}

// spawn starts argv. Relative programs are found from dir and the PATH of env, as a shell there
// would: not from our own. What it prints goes to output (nil: nowhere), its stdin is empty, and it
// inherits the extra descriptors as 3, 4 and so on.
func spawn(argv []string, dir string, env []string, output *os.File, extra ...*os.File) (*process, error) {
	path, err := lookPath(argv[0], dir, env)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, folderError(dir, fs.ErrNotExist)
	}
	return fork(path, argv, dir, env, output, extra, &syscall.SysProcAttr{Setpgid: true}, nil)
}

// folderError says that nothing can run in a folder. It is no error of a program that was not found.
func folderError(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist", dir)
	}
	return fmt.Errorf("the folder %s: %v", dir, text.WithoutPath(err))
}

// fork is spawn for a program that was found. Where said is not nil it reads from there why a stage did not
// become the command, and closes it.
func fork(path string, argv []string, dir string, env []string, output *os.File, extra []*os.File, how *syscall.SysProcAttr, said *os.File) (*process, error) {
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
	p := &process{pid: pid, done: make(chan struct{})}
	go p.wait(said)
	return p, nil
}

func (p *process) wait(said *os.File) {
	defer close(p.done)
	if said != nil {
		reason, _ := io.ReadAll(said) // up to exec(2), or the end of the stage
		said.Close()
		p.refusal = string(reason)
	}
	for {
		_, err := syscall.Wait4(p.pid, &p.status, 0, &p.usage)
		if err != syscall.EINTR {
			return
		}
	}
}

// startExitCode returns the code that a shell would give for the error of spawn.
func startExitCode(err error) int {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotFound) {
		return exitNotFound
	}
	return exitNotExecutable
}

// exitCode returns the command's exit code: 128 plus the signal if one ended it, as in a shell.
func (p *process) exitCode() int {
	if p.status.Signaled() {
		return 128 + int(p.status.Signal())
	}
	return p.status.ExitStatus()
}

// end sends TERM to the group, and KILL when some of it is left after killAfter, or at once when
// ctx is done. It returns when the command has ended and its group is empty or killed.
func (p *process) end(ctx context.Context, killAfter time.Duration) {
	endGroup(ctx, p.pid, killAfter)
	<-p.done
}

// endGroup ends a process group that may not be ours: TERM, and KILL to what is left after killAfter.
func endGroup(ctx context.Context, group int, killAfter time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, killAfter)
	defer cancel()
	syscall.Kill(-group, syscall.SIGTERM)
	syscall.Kill(-group, syscall.SIGCONT) // a stopped process cannot obey
	for pause := time.Millisecond; groupAlive(group); pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-ctx.Done():
			syscall.Kill(-group, syscall.SIGKILL)
			return
		case <-time.After(pause):
		}
	}
}

// groupAlive reports whether the group has processes that are not just waiting to be waited for: as
// PID 1 of a container, a program that was not made for it never does.
func groupAlive(group int) bool { return syscall.Kill(-group, 0) == nil && !onlyZombies(group) }

var errNotFound = errors.New("there is no such command in PATH")

// lookPath finds a program like execvp(3) in dir with the PATH of env.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var path string
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			path = value
		}
	}
	for _, place := range filepath.SplitList(path) {
		file := filepath.Join(place, name)
		if !filepath.IsAbs(place) {
			file = filepath.Join(dir, file)
		}
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, errNotFound)
}

// environ returns what a command or hook of the run finds in its environment: the caller's, then
// the task's, then the SCHED_ variables; of two with one name the later.
func environ(base []string, task schedule.Task, more ...string) []string {
	env := make([]string, 0, len(base)+len(task.Env)+len(more))
	at := make(map[string]int, cap(env))
	set := func(pair string) {
		name, _, _ := strings.Cut(pair, "=")
		if i, ok := at[name]; ok {
			env[i] = pair
			return
		}
		at[name] = len(env)
		env = append(env, pair)
	}
	for _, pair := range base {
		if !strings.HasPrefix(pair, StateVariable+"=") && !strings.HasPrefix(pair, StoreVariable+"=") {
			set(pair)
		}
	}
	for name, value := range task.Env {
		set(name + "=" + value)
	}
	for _, pair := range more {
		set(pair)
	}
	return env
}
