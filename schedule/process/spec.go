package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"sched/schedule"

	"sched/schedule/dotenv"
	"sched/schedule/text"
)

// A Spec is a command or a hook of a task that is about to be started: as the user of the task, with its
// umask, priority and environment.
type Spec struct {
	Task      *schedule.Task
	Command   schedule.Command
	Dir       string
	Caller    []string // of the caller
	Variables []string // the SCHED_ ones
	Output    *os.File // nil: nowhere
	Lock      *os.File // to be inherited; nil where there is none

	Mark     string   // of a hook: the event to write right before it starts; empty for none
	MarkFile *os.File // where to

	Lenient bool // also without the files of env_file that cannot be used, and from the schedule's folder
}

// Start starts it. What a task has no key for costs nothing: no user is looked up, and no process
// stands between.
func (l Spec) Start() (*Process, error) {
	if l.Task.As != (schedule.As{}) {
		s := setup{Argv: l.Command.Argv(), Dir: l.Dir, Mark: l.Mark, Keep: l.Lock != nil}
		if l.Mark != "" {
			return l.startAs(s, l.MarkFile)
		}
		return l.startAs(s, l.Lock)
	}
	more, err := dotenv.Read(l.Task.EnvFiles, Environ(l.Caller, *l.Task))
	if err != nil && !l.Lenient {
		return nil, err
	}
	env := Environ(l.Caller, *l.Task, slices.Concat(more, l.Variables)...)
	if l.Mark != "" {
		return spawn(marked(l.Mark, l.Command), l.Dir, env, l.Output, l.MarkFile)
	}
	return spawn(l.Command.Argv(), l.Dir, env, l.Output, Present(l.Lock)...)
}

// startAs starts a stage, which becomes the user and then the command. It finds third as descriptor 3.
func (l Spec) startAs(s setup, third *os.File) (*Process, error) {
	said, says, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer says.Close()
	files := append(Present(third), says)
	s.Says = 2 + len(files)
	s.As, s.EnvFiles, s.Variables, s.Lenient, s.Folder = l.Task.As, l.Task.EnvFiles, l.Variables, l.Lenient, l.Task.Folder
	text, err := json.Marshal(s)
	if err != nil {
		said.Close()
		return nil, err
	}
	caller := l.Caller
	if s.As.User != "" { // those of root would be wrong, and the stage knows the right ones
		caller = slices.DeleteFunc(slices.Clone(caller), ofAccount)
	}
	env := Environ(caller, *l.Task, l.Variables...)
	// In a session of its own it has no terminal: with that of root it could type into root's shell.
	p, err := Fork(Self(), []string{"sched", BecomeArgument, string(text)}, "/", env, l.Output, files, &syscall.SysProcAttr{Setsid: true}, said)
	if err != nil {
		said.Close()
	}
	return p, err
}

// copyTimeout is how long a copy may take.
const copyTimeout = 30 * time.Second

// CopyOutput makes a copy of what a run printed, as the user of its task: root would follow the links of
// whoever can write in that folder.
func (l Spec) CopyOutput(to schedule.Output, captured *os.File) error {
	p, err := l.startAs(setup{Copy: to}, captured)
	if err != nil {
		return err
	}
	timer := time.NewTimer(copyTimeout)
	defer timer.Stop()
	select {
	case <-p.Done:
	case <-timer.C: // a named pipe that nobody reads
		syscall.Kill(-p.PID, syscall.SIGKILL)
		return fmt.Errorf("no end after %s", copyTimeout)
	}
	switch {
	case p.Refusal != "":
		return errors.New(p.Refusal)
	case p.ExitCode() != 0:
		return fmt.Errorf("exit code %d", p.ExitCode())
	}
	return nil
}

// Present is a list of the file, or of none.
func Present(file *os.File) []*os.File {
	if file == nil {
		return nil
	}
	return []*os.File{file}
}

// CheckEnvFiles returns why the files of a task's env_file cannot be used now, or nil; env is the
// environment of the caller. Of a task of another user it tells only that they are there: what that user
// may read is found out by the task itself.
func CheckEnvFiles(t *schedule.Task, env []string) error {
	if who, err := accountOf(t.As); err != nil || !who.change || who.uid == 0 {
		_, err := dotenv.Read(t.EnvFiles, Environ(env, *t))
		return err
	}
	for _, path := range t.EnvFiles {
		if _, err := os.Stat(path); err != nil {
			return dotenv.FileError(path, text.WithoutPath(err))
		}
	}
	return nil
}
