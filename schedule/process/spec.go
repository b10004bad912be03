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
	Caller    []string // the environment of the caller
	Variables []string // the SCHED_ ones
	Output    *os.File // nil: nowhere
	// Locks are inherited by the command, unless it runs as another user: a process that it leaves
	// behind could keep a lock of ours, or take it again.
	Locks []*os.File

	Keep    bool // the kernel keeps how it ended until Process.Release, for the next parent; only if a process of this system can become the parent of orphans
	Lenient bool // start it even if files of env_file cannot be used, or only the schedule's folder can be entered
}

// Start starts it, directly if the task has none of `user`, `group`, `umask` and `nice`. For the
// exit code of an error see StartExitCode.
func (spec Spec) Start() (*Process, error) {
	traceFork(spec)
	if spec.Task.As != (schedule.As{}) {
		locks := spec.Locks
		if foreign(spec.Task.As) {
			locks = nil
		}
		s := setup{Argv: spec.Command.Argv(), Dir: spec.Dir, Keep: len(locks) > 0, KeepTwo: len(locks) > 1}
		return spec.startAs(s, locks...)
	}
	var more []string
	if len(spec.Task.EnvFiles) > 0 {
		err := WhileShort(func() (err error) {
			more, err = ReadEnvFiles(spec.Task.EnvFiles, Environ(spec.Caller, *spec.Task))
			return err
		})
		if err != nil && !spec.Lenient {
			return nil, err
		}
	}
	env := Environ(spec.Caller, *spec.Task, slices.Concat(more, overFiles(spec.Task), spec.Variables)...)
	return Program{Argv: spec.Command.Argv(), Dir: spec.Dir, Env: env, Output: spec.Output, Inherit: spec.Locks, keep: spec.Keep}.spawn()
}

// foreign reports whether a task runs as another user than sched, or may do so.
func foreign(as schedule.As) bool {
	who, err := accountOf(as)
	return err != nil || who.change && who.uid != os.Geteuid()
}

// startAs starts a process of sched that becomes the user and then the command (Become). Its
// descriptors from 3 on are the files.
func (spec Spec) startAs(s setup, files ...*os.File) (*Process, error) {
	var said, says *os.File
	err := WhileShort(func() (err error) {
		said, says, err = os.Pipe()
		return err
	})
	if err != nil {
		return nil, err
	}
	defer says.Close()
	files = append(slices.Clone(files), says)
	s.Says = 2 + len(files)
	s.As, s.EnvFiles, s.Variables, s.Lenient, s.Folder = spec.Task.As, spec.Task.EnvFiles, slices.Concat(overFiles(spec.Task), spec.Variables), spec.Lenient, spec.Task.Folder
	text, err := json.Marshal(s)
	if err != nil {
		said.Close()
		return nil, err
	}
	caller := spec.Caller
	if user, err := accountOf(s.As); err != nil || user.uid != os.Geteuid() && user.given {
		caller = OfMachine(caller)
	} else if user.given { // HOME may be another one, and Become sets the right one
		caller = slices.DeleteFunc(slices.Clone(caller), ofAccount)
	}
	env := append(Environ(caller, *spec.Task, spec.Variables...), setupVariable+"="+string(text))
	// In a session of its own it has no terminal: with the terminal of root it could type into
	// root's shell.
	p, err := Program{
		Path: Self(), Argv: []string{"sched", BecomeArgument}, Dir: "/", Env: env, Output: spec.Output, Inherit: files,
		How: &syscall.SysProcAttr{Setsid: true}, said: said, keep: spec.Keep,
	}.Fork()
	if err != nil {
		said.Close()
	}
	return p, err
}

// errNotFound is the error of a program without a path that no folder of PATH has.
var errNotFound = errors.New("there is no such command in PATH")

// lookPath finds a program as execvp(3) would in the folder dir with the PATH of env; of two PATHs
// the last counts.
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
	if file := Find(name, path, dir); file != "" {
		return file, nil
	}
	return "", fmt.Errorf("%s: %w", name, errNotFound)
}

// Find returns the file of a program in the folders of a PATH, seen from the folder dir; "" if no
// folder has it.
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
