package process

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sched/schedule"
)

// BecomeArgument is the only argument of a process of sched that is to become a command (Become).
const BecomeArgument = "become"

// setupVariable has the setup of such a process, as JSON. It is no argument, because every user may
// read arguments, and the setup has values of env. The command does not get it.
const setupVariable = "SCHED_BECOME"

// A setup is what a process of sched does before it becomes a command, if a task has `user`,
// `group`, `umask`, `nice` or `limits`
// (docs/internals/decisions.md#sched-itself-becomes-another-user). A process can change no umask
// but its own. Only a process of the user finds out what that user may not read or enter.
type setup struct {
	As                schedule.As     `json:"as"`
	Limits            schedule.Limits `json:"limits,omitzero"` // of the process: not its CPU
	Argv              []string        `json:"argv,omitempty"`
	Copy              schedule.Output `json:"copy,omitzero"`   // in place of Argv: copy descriptor 3 to there
	Locks             int             `json:"locks,omitempty"` // so many descriptors from 3 on are locks, which the command inherits
	Dir               string          `json:"dir,omitempty"`
	Folder            string          `json:"folder,omitempty"` // with Lenient: the folder in which it starts if it cannot start in Dir
	EnvFiles          []string        `json:"env_file,omitempty"`
	Variables         []string        `json:"variables,omitempty"` // they replace the variables of the files
	Lenient           bool            `json:"anyway,omitempty"`    // see Spec.Lenient
	RefusalDescriptor int             `json:"refusal"`             // of the pipe for the reason why there is no command
}

// Become becomes the command that a variable of the environment describes. The rest of the
// environment is for the command. If Become returns, there is no command, and the process must end
// with the code. It reports false for an environment that is not from startAs.
func Become(env []string) (code int, ok bool) {
	var s setup
	text, _ := Lookup(env)(setupVariable)
	if json.Unmarshal([]byte(text), &s) != nil || s.RefusalDescriptor < 3 {
		return 0, false
	}
	runtime.LockOSThread() // the priority is one of the thread, on Linux
	s.closeOthers()
	err := s.apply(slices.DeleteFunc(env, func(pair string) bool { return strings.HasPrefix(pair, setupVariable+"=") }))
	if err == nil {
		return 0, true // a copy was made
	}
	fmt.Fprint(os.NewFile(uintptr(s.RefusalDescriptor), "the pipe to sched"), err)
	return StartExitCode(err), true
}

// closeOthers marks what the command is not meant to inherit as close-on-exec: what sched's own
// user has open.
func (s setup) closeOthers() {
	CloseOnExecFrom(3 + s.Locks)
	syscall.CloseOnExec(s.RefusalDescriptor)
}

// apply first does what needs the rights of sched's own user, and the rest with the rights of the
// task's user. It returns nil after a copy, else the error that says why there is no command.
func (s setup) apply(env []string) error {
	who, err := accountOf(s.As)
	if err != nil {
		return err
	}
	if err := setNice(s.As.Nice); err != nil {
		return err
	}
	limitFiles(s.Limits.Files)
	if s.As.Umask != nil {
		syscall.Umask(*s.As.Umask)
	}
	if err := who.become(); err != nil {
		return fmt.Errorf("cannot become %s: %w", who.name, err)
	}
	if s.Copy.File != "" {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // sched ends it before, if sched lives
		defer cancel()
		err = CopyTo(ctx, s.Copy, os.NewFile(3, "the output"))
	} else {
		err = s.exec(who, env)
	}
	if err != nil && who.change {
		return fmt.Errorf("as %s: %w", who.name, err)
	}
	return err
}

// exec replaces this process by the command.
func (s setup) exec(who account, env []string) error {
	env = Environ(nil, schedule.Task{}, slices.Concat(who.variables(), env)...)
	more, err := ReadEnvFiles(s.EnvFiles, env)
	if err != nil && !s.Lenient {
		return err
	}
	env = Environ(env, schedule.Task{}, slices.Concat(more, s.Variables)...)
	if err := os.Chdir(s.Dir); err != nil && (!s.Lenient || os.Chdir(s.Folder) != nil) {
		return folderError(s.Dir, err)
	}
	path, err := lookPath(s.Argv[0], s.Dir, env)
	if err != nil {
		return err
	}
	writePeak(s.RefusalDescriptor)
	limitMemory(s.Limits.Memory)
	// As the user, whose limit of processes counts from here on (execve(2): EAGAIN).
	err = retryOnShortage(func() error { return syscall.Exec(path, s.Argv, env) })
	return &os.PathError{Op: "exec", Path: path, Err: err}
}

// CloseOnExecFrom keeps the descriptors from first on from the processes that this one starts from
// now on, unless Fork passes them. The descriptors stay open here.
func CloseOnExecFrom(first int) {
	open, _ := os.ReadDir("/dev/fd")
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= first {
			syscall.CloseOnExec(fd)
		}
	}
}
