package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sched/schedule"
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

	// KeepZombie leaves it a zombie when it has ended, until Process.Reap: if this process is
	// killed before, the process that becomes the parent still learns the exit code. It does
	// nothing on systems without a subreaper.
	KeepZombie bool
	Limits     schedule.Limits // for the command itself, not for hooks
	Cgroup     *Cgroup         // that keeps the limits of memory and CPU; nil: the process keeps what it can
	// Lenient starts it even if files of env_file cannot be used, or if only the folder of the
	// schedule can be entered, and not Dir.
	Lenient bool
}

// Forking is called before a command is forked. Package testing/trace replaces it.
var Forking = func(Spec) {}

// Start starts the command, or, if the task has one of `user`, `group`, `umask` and `nice`, or the
// process itself has to keep a limit, a process of sched that becomes the command. For the exit
// code of an error see StartExitCode.
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

// startAs starts a process of sched that becomes the user and then the command (Become). Its
// descriptors from 3 on are the files.
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
	text, err := json.Marshal(s)
	if err != nil {
		refusal.Close()
		return nil, err
	}
	caller := spec.CallerEnv
	if user, err := accountOf(s.As); err != nil || user.uid != os.Geteuid() && user.given {
		caller = MachineVariables(caller)
	} else if user.given { // HOME may be another one, and Become sets the right one
		caller = slices.DeleteFunc(slices.Clone(caller), isAccountVariable)
	}
	env := append(Environ(caller, *spec.Task, spec.Variables...), setupVariable+"="+string(text))
	// In a session of its own the process has no terminal: with the terminal of root it could type
	// into root's shell.
	p, err := Program{
		Path:       Self(),
		Argv:       []string{"sched", BecomeArgument},
		Dir:        "/",
		Env:        env,
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

// errNotFound is the error of a program without a path that no folder of PATH has.
var errNotFound = errors.New("there is no such command in PATH")

// lookPath finds a program as execvp(3) would in the folder dir with the PATH of env. If env has
// two PATHs, the last one counts.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path, _ := Lookup(env)("PATH")
	if file := Find(name, path, dir); file != "" {
		return file, nil
	}
	return "", fmt.Errorf("%s: %w", name, errNotFound)
}

// Find returns the file of a program in the folders of a PATH. It returns "" if no folder has the
// program. A relative folder of PATH begins at the folder dir.
func Find(name, path, dir string) string {
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
