package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"sched/schedule"
	"sched/schedule/account"
	"sched/schedule/cgroup"
	"sched/schedule/envfile"
	"sched/schedule/mask"
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
	Stderr    *os.File // nil: where Output goes
	// Locks are inherited by the command, unless it runs as another user: a process that it leaves
	// behind could keep a lock of ours, or take it again.
	Locks []*os.File

	// KeepZombie keeps the ended command a zombie until Process.Reap: if this process is killed
	// before, the process that becomes the parent still learns the exit code. It does nothing on
	// systems without a subreaper.
	KeepZombie bool
	Limits     schedule.Limits // for the command itself, not for hooks
	Cgroup     *cgroup.Group   // that keeps the limits of memory and CPU; nil: the process keeps what it can
	// Lenient starts the command even if files of env_file cannot be used, or if only the folder of
	// the schedule can be entered, and not Dir.
	Lenient bool
}

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
			fromFiles, err = envfile.Read(spec.Task.EnvFiles, Lookup(Environ(spec.CallerEnv, *spec.Task)))
			return err
		})
		if err != nil && !spec.Lenient {
			return nil, err
		}
	}
	env := Environ(spec.CallerEnv, *spec.Task, slices.Concat(fromFiles, envOverFiles(spec.Task), spec.Variables)...)
	if err := mask.Check(spec.Task.Secrets, Lookup(env)); err != nil && !spec.Lenient {
		return nil, err
	}
	return Program{
		Argv:       spec.Command.Argv(),
		Dir:        spec.Dir,
		Env:        env,
		Output:     spec.Output,
		Stderr:     spec.Stderr,
		Inherit:    spec.Locks,
		keepZombie: spec.KeepZombie,
		cgroup:     spec.Cgroup,
	}.spawn()
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
	s.EnvFiles, s.Secrets = spec.Task.EnvFiles, spec.Task.Secrets
	s.Variables = slices.Concat(envOverFiles(spec.Task), spec.Variables)
	// In a session of its own the process has no terminal: with the terminal of root it could type
	// into root's shell.
	p, err := Program{
		Path:       Self(),
		Argv:       []string{"sched", BecomeArgument},
		Dir:        "/",
		Env:        spec.setupEnviron(s),
		Output:     spec.Output,
		Stderr:     spec.Stderr,
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
	if user, err := account.Of(s.As); err != nil || user.UID != os.Geteuid() && user.Given {
		caller = account.MachineVariables(caller)
	} else if user.Given { // HOME may be another one, and Become sets the right one
		caller = slices.DeleteFunc(slices.Clone(caller), account.IsVariable)
	}
	text, _ := json.Marshal(s) // texts and numbers
	return append(Environ(caller, *spec.Task, spec.Variables...), setupVariable+"="+string(text))
}

// CopyOutput makes the copy as the user of the task, because root would follow the links of anybody
// who can write in that folder
// (docs/internals/decisions.md#the-copy-of-the-output-is-made-as-the-user). It returns when ctx is
// done, with the cause of ctx.
func (spec Spec) CopyOutput(ctx context.Context, to schedule.Output, captured *os.File) error {
	return spec.doAs(ctx, setup{Copy: to}, captured)
}

// doAs lets a process of the task's user do what the setup says, with the file.
func (spec Spec) doAs(ctx context.Context, s setup, file *os.File) error {
	p, err := spec.startAs(s, file)
	if err != nil {
		return err
	}
	select {
	case <-p.Done:
	case <-ctx.Done():
		syscall.Kill(-p.PID, syscall.SIGKILL)
		return context.Cause(ctx)
	}
	switch {
	case p.Refusal != "":
		return errors.New(p.Refusal)
	case p.ExitCode() != 0:
		return fmt.Errorf("exit code %d", p.ExitCode())
	}
	return nil
}

// Secrets returns, as NAME=value, the variables of the task's commands whose values its output must
// not show: all of env_file, and the ones that secrets names and that are set. It reads as the user
// of the task. Of the Spec, Task, CallerEnv and Variables count.
func (spec Spec) Secrets() ([]string, error) {
	t := spec.Task
	switch {
	case t.Unmasked || len(t.EnvFiles) == 0 && len(t.Secrets) == 0:
		return nil, nil
	case len(t.EnvFiles) > 0 && runsAsOther(t.As):
		return spec.askForSecrets()
	}
	env := Environ(spec.CallerEnv, *t)
	fromFiles, err := envfile.Read(t.EnvFiles, Lookup(env))
	env = Environ(env, *t, slices.Concat(fromFiles, envOverFiles(t), spec.Variables)...)
	return mask.Variables(t.Secrets, fromFiles, Lookup(env)), err
}

// askForSecrets asks a process of the task's user for the secrets.
func (spec Spec) askForSecrets() ([]string, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeoutCause(context.Background(), tellTimeout,
		fmt.Errorf("nothing came for %s", tellTimeout))
	defer cancel()
	told := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(reader)
		told <- text
	}()
	err = spec.doAs(ctx, setup{Tell: true}, writer)
	writer.Close()
	if err != nil {
		return nil, err
	}
	pairs := strings.Split(string(<-told), "\x00")
	return pairs[:len(pairs)-1], nil
}

// tellTimeout is how long the process of the user may take.
const tellTimeout = 10 * time.Second

// Forking is called before a command is forked. Package testing/trace replaces it.
var Forking = func(Spec) {}

// runsAsOther reports whether a task runs as another user than sched, or may do so.
func runsAsOther(as schedule.As) bool {
	user, err := account.Of(as)
	return err != nil || user.Change && user.UID != os.Geteuid()
}
