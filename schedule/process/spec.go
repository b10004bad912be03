package process

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
)

// A Spec describes a command or a hook of a task that is about to be started, as the user of the
// task, with the task's umask, priority and environment.
type Spec struct {
	Task      *schedule.Task
	Command   schedule.Command
	Dir       string
	CallerEnv []string // the environment of the process that starts it
	Variables []string // the SCHED_ ones
	Output    *os.File // nil: nowhere
	// Locks are inherited by the command, unless it runs as another user: a process that it leaves
	// behind could keep a lock of ours, or take it again.
	Locks []*os.File

	// KeepZombie keeps the ended command a zombie until Process.Reap: if this process is killed
	// before, the process that becomes the parent still learns the exit code. It does nothing on
	// systems without a subreaper.
	KeepZombie bool
	Limits     schedule.Limits // for the command itself, not for hooks
	Cgroup     *Cgroup         // that keeps the limits of memory and CPU; nil: the process keeps what it can
	// Lenient starts the command even if files of env_file cannot be used, or if only the folder of
	// the schedule can be entered, and not Dir.
	Lenient bool
}

// Forking is called before a command is forked. Package testing/trace replaces it.
var Forking = func(Spec) {}

// Start starts the command. It starts a process of sched that becomes the command (Become)
//
//   - if the task has one of `user`, `group`, `umask` and `nice`,
//   - or if the process itself has to keep a limit: files, or memory without a cgroup.
//
// StartExitCode has the exit code of an error.
func (spec Spec) Start() (*Process, error) {
	Forking(spec)
	limits := schedule.Limits{Files: spec.Limits.Files} // that the process itself has to keep
	if spec.Cgroup == nil {
		limits.Memory = spec.Limits.Memory
	}
	if spec.Task.As != (schedule.As{}) || limits != (schedule.Limits{}) {
		locks := spec.Locks
		if runsAsOther(spec.Task.As) {
			locks = nil
		}
		s := setup{Argv: spec.Command.Argv(), Dir: spec.Dir, Locks: len(locks), Limits: limits}
		return spec.startAs(s, locks...)
	}
	return spec.startDirectly()
}

// startDirectly starts the command without a process of sched in between.
func (spec Spec) startDirectly() (*Process, error) {
	var fromFiles []string
	if len(spec.Task.EnvFiles) > 0 {
		err := retryOnShortage(func() (err error) {
			fromFiles, err = ReadEnvFiles(spec.Task.EnvFiles, Environ(spec.CallerEnv, *spec.Task))
			return err
		})
		if err != nil && !spec.Lenient {
			return nil, err
		}
	}
	env := Environ(spec.CallerEnv, *spec.Task, slices.Concat(fromFiles, envOverFiles(spec.Task), spec.Variables)...)
	return Program{
		Argv:       spec.Command.Argv(),
		Dir:        spec.Dir,
		Env:        env,
		Output:     spec.Output,
		Inherit:    spec.Locks,
		keepZombie: spec.KeepZombie,
		cgroup:     spec.Cgroup,
	}.spawn()
}

// runsAsOther reports whether a task runs as another user than sched, or may do so.
func runsAsOther(as schedule.As) bool {
	user, err := accountOf(as)
	return err != nil || user.change && user.uid != os.Geteuid()
}

// startAs starts a process of sched that becomes the user and then the command (Become). The files
// are its descriptors from 3 on.
func (spec Spec) startAs(s setup, files ...*os.File) (*Process, error) {
	var refusal, refusalWriter *os.File
	err := retryOnShortage(func() (err error) {
		refusal, refusalWriter, err = os.Pipe()
		return err
	})
	if err != nil {
		return nil, err
	}
	defer refusalWriter.Close()
	files = append(slices.Clone(files), refusalWriter)
	s.RefusalDescriptor = 2 + len(files)
	s.As, s.Lenient, s.Folder = spec.Task.As, spec.Lenient, spec.Task.Folder
	s.EnvFiles = spec.Task.EnvFiles
	s.Variables = slices.Concat(envOverFiles(spec.Task), spec.Variables)
	// In a session of its own the process has no terminal: with the terminal of root it could type
	// into root's shell.
	p, err := Program{
		Path:       Self(),
		Argv:       []string{"sched", BecomeArgument},
		Dir:        "/",
		Env:        spec.setupEnviron(s),
		Output:     spec.Output,
		Inherit:    files,
		Attr:       &syscall.SysProcAttr{Setsid: true},
		refusal:    refusal,
		keepZombie: spec.KeepZombie,
		cgroup:     spec.Cgroup,
	}.Fork()
	if err != nil {
		refusal.Close()
	}
	return p, err
}

// setupEnviron returns the environment of the process that becomes the command. It has the setup.
// Of the caller it has only what the user of the task may know.
func (spec Spec) setupEnviron(s setup) []string {
	caller := spec.CallerEnv
	if user, err := accountOf(s.As); err != nil || user.uid != os.Geteuid() && user.given {
		caller = MachineVariables(caller)
	} else if user.given { // HOME may be another one, and Become sets the right one
		caller = slices.DeleteFunc(slices.Clone(caller), isAccountVariable)
	}
	text, _ := json.Marshal(s) // texts and numbers
	return append(Environ(caller, *spec.Task, spec.Variables...), setupVariable+"="+string(text))
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
	Adopts  bool // it calls BecomeSubreaper

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

// started has the processes that this process has started, by their ids. It is locked during a
// fork, so that reapOrphans takes no process for an orphan.
var started = struct {
	sync.Mutex
	lives map[int]*life
}{lives: map[int]*life{}}

// A life says when a process lived: see sinceBoot.
type life struct {
	from, to time.Duration // to is 0 while it lives
	adopts   bool          // Program.Adopts
}

// forkExec is the call of the kernel; tests let it fail.
var forkExec = syscall.ForkExec

// shortagePatience is how long retryOnShortage tries. Otherwise a moment without room would cost a
// run its hooks for good.
const shortagePatience = 30 * time.Second

// retryOnShortage calls start, which starts a process or opens a file for one. It calls start again
// while the machine has no room for another process, or for another open file, for shortagePatience
// at most.
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

// errNotFound is the error of a program without a path that no folder of PATH has.
var errNotFound = errors.New("there is no such command in PATH")

// lookPath finds a program as execvp(3) would in the folder dir with the PATH of env. If env has
// two PATHs, the last one counts.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path, _ := Lookup(env)("PATH")
	if file := FindProgram(name, path, dir); file != "" {
		return file, nil
	}
	return "", fmt.Errorf("%s: %w", name, errNotFound)
}

// FindProgram returns the file of a program in the folders of a PATH. It returns "" if no folder
// has the program. A relative folder of PATH begins at the folder dir.
func FindProgram(name, path, dir string) string {
	for _, folder := range filepath.SplitList(path) {
		file := filepath.Join(folder, name)
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}
