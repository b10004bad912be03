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
	"sched/schedule/dotenv"
)

// A Spec describes a command or a hook of a task that is about to be started, as the user of the task, with the task's
// umask, priority and environment.
type Spec struct {
	Task      *schedule.Task
	Command   schedule.Command
	Dir       string
	Caller    []string // the environment of the caller
	Variables []string // the SCHED_ ones
	Output    *os.File // nil: nowhere
	// Locks are inherited by the command, unless it runs as another user: what that leaves behind could
	// keep a lock of ours, or take it again.
	Locks []*os.File

	Mark     string   // of a hook: the event to write right before it starts; empty for none
	MarkFile *os.File // where to

	Keep    bool // where a process can become the parent of orphans: the kernel keeps how it ended until Process.Release, for the next parent
	Lenient bool // start it even where files of env_file cannot be used, or only the schedule's folder can be entered
}

// Start starts it, directly where the task has none of `user`, `group`, `umask` and `nice`. For the exit code of an error
// see StartExitCode.
func (spec Spec) Start() (*Process, error) {
	if spec.Task.As != (schedule.As{}) {
		locks := spec.Locks
		if foreign(spec.Task.As) {
			locks = nil
		}
		s := setup{Argv: spec.Command.Argv(), Dir: spec.Dir, Mark: spec.Mark, Keep: len(locks) > 0, KeepTwo: len(locks) > 1}
		if spec.Mark != "" {
			return spec.startAs(s, spec.MarkFile)
		}
		return spec.startAs(s, locks...)
	}
	var more []string
	if len(spec.Task.EnvFiles) > 0 {
		err := WhileShort(func() (err error) {
			more, err = dotenv.Read(spec.Task.EnvFiles, Environ(spec.Caller, *spec.Task))
			return err
		})
		if err != nil && !spec.Lenient {
			return nil, err
		}
	}
	env := Environ(spec.Caller, *spec.Task, slices.Concat(more, overFiles(spec.Task), spec.Variables)...)
	p := Program{Argv: spec.Command.Argv(), Dir: spec.Dir, Env: env, Output: spec.Output, Inherit: spec.Locks, keep: spec.Keep}
	if spec.Mark != "" {
		p.Argv, p.Inherit = marked(spec.Mark, spec.Command), []*os.File{spec.MarkFile}
	}
	return p.spawn()
}

// foreign reports whether a task runs as another user than sched, or may do so.
func foreign(as schedule.As) bool {
	who, err := accountOf(as)
	return err != nil || who.change && who.uid != os.Geteuid()
}

// startAs starts a process of sched that becomes the user and then the command (Become). Its descriptors from 3 on are
// the files.
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
	// In a session of its own it has no terminal: with the terminal of root it could type into root's shell.
	p, err := Program{
		Path: Self(), Argv: []string{"sched", BecomeArgument}, Dir: "/", Env: env, Output: spec.Output, Inherit: files,
		How: &syscall.SysProcAttr{Setsid: true}, said: said, keep: spec.Keep,
	}.Fork()
	if err != nil {
		said.Close()
	}
	return p, err
}

// The scripts with which a hook marks itself as started in the run's file, and becomes its command
// (docs/internals/decisions.md#a-hook-marks-itself-as-started). A finish that is killed at this moment leaves both or neither: the
// finish after it does not fire the hook again, and does not leave it out. Until the mark is written the process has the
// run's file open, which is the proof of life of the run, so no other finish begins before.
const (
	markAndRun  = mark + `exec "$@"`
	markAndEval = mark + `eval "$1"` // for a line for /bin/sh: no second shell
	mark        = `printf '\n%s,"pid":%d}\n' "${0%?}" $$ >&3; exec 3>&-; `
)

// marked returns the command of a hook that writes the event, a JSON object, to descriptor 3 before it starts, with its pid in it.
func marked(event string, hook schedule.Command) []string {
	if slices.Equal(hook.Shell, []string{"/bin/sh", "-c"}) {
		return []string{"/bin/sh", "-c", markAndEval, event, hook.Line}
	}
	return append([]string{"/bin/sh", "-c", markAndRun, event}, hook.Argv()...)
}

// errNotFound is the error of a program without a path that no folder of PATH has.
var errNotFound = errors.New("there is no such command in PATH")

// lookPath finds a program as execvp(3) would in the folder dir with the PATH of env; of two PATHs the last counts.
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

// Find returns the file of a program in the folders of a PATH, seen from the folder dir; "" where it has none.
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
