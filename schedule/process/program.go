package process

import (
	"cmp"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"sched/schedule/cgroup"
)

// A Program describes a process that is about to be started.
type Program struct {
	Path    string
	Argv    []string
	Dir     string
	Env     []string
	Output  *os.File   // nil: nowhere
	Stderr  *os.File   // nil: where Output goes
	Inherit []*os.File // its descriptors 3, 4 and so on
	Attr    *syscall.SysProcAttr
	Adopts  bool // it calls BecomeSubreaper

	// The Process reads Process.Refusal from this pipe, and closes it. The pipe is nil for a
	// process that is the command at once.
	refusal    *os.File
	keepZombie bool          // see Spec.KeepZombie
	cgroup     *cgroup.Group // in which it starts; nil: where this process is
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
	files := []uintptr{null.Fd(), output.Fd(), cmp.Or(p.Stderr, output).Fd()}
	for _, file := range p.Inherit {
		files = append(files, file.Fd())
	}
	p.cgroup.StartIn(p.Attr)
	var pid int
	err = retryOnShortage(func() (err error) {
		started.Lock()
		defer started.Unlock()
		from := sinceBoot()
		pid, err = forkExec(p.Path, p.Argv, &syscall.ProcAttr{Dir: p.Dir, Env: p.Env, Files: files, Sys: p.Attr})
		if err == nil {
			started.lives[pid] = &life{from: from, adopts: p.Adopts}
		}
		return err
	})
	runtime.KeepAlive(output)
	runtime.KeepAlive(p.Stderr)
	runtime.KeepAlive(p.Inherit) // until here, or the garbage collector may close what the command inherits
	if err != nil {
		return nil, &os.PathError{Op: "exec", Path: p.Path, Err: err}
	}
	process := &Process{
		PID:        pid,
		Done:       make(chan struct{}),
		peakBefore: ownPeak(),
		keepZombie: p.keepZombie && hasSubreaper,
	}
	go process.wait(p.refusal)
	return process, nil
}

// forkExec is the call of the kernel; tests let it fail.
var forkExec = syscall.ForkExec
