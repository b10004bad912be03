package runner

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

// A launch is a command or a hook of a task that is about to be started: as the user of the task, with its
// umask, priority and environment.
type launch struct {
	task      *schedule.Task
	command   schedule.Command
	dir       string
	environ   []string // of the caller
	variables []string // the SCHED_ ones
	output    *os.File // nil: nowhere
	lock      *os.File // to be inherited; nil where there is none

	mark string   // of a hook: the event to write right before it starts; empty for none
	run  *os.File // where to

	anyway bool // also without the files of env_file that cannot be used, and from the schedule's folder
}

// start starts it. What a task has no key for costs nothing: no user is looked up, and no process
// stands between.
func (l launch) start() (*process, error) {
	if l.task.As != (schedule.As{}) {
		s := stage{Argv: l.command.Argv(), Dir: l.dir, Mark: l.mark, Keep: l.lock != nil}
		if l.mark != "" {
			return l.startAs(s, l.run)
		}
		return l.startAs(s, l.lock)
	}
	more, err := dotenv.Read(l.task.EnvFiles, environ(l.environ, *l.task))
	if err != nil && !l.anyway {
		return nil, err
	}
	env := environ(l.environ, *l.task, slices.Concat(more, l.variables)...)
	if l.mark != "" {
		return spawn(marked(l.mark, l.command), l.dir, env, l.output, l.run)
	}
	return spawn(l.command.Argv(), l.dir, env, l.output, present(l.lock)...)
}

// startAs starts a stage, which becomes the user and then the command. It finds third as descriptor 3.
func (l launch) startAs(s stage, third *os.File) (*process, error) {
	said, says, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer says.Close()
	files := append(present(third), says)
	s.Says = 2 + len(files)
	s.As, s.EnvFiles, s.Variables, s.Anyway, s.Folder = l.task.As, l.task.EnvFiles, l.variables, l.anyway, l.task.Folder
	text, err := json.Marshal(s)
	if err != nil {
		said.Close()
		return nil, err
	}
	caller := l.environ
	if s.As.User != "" { // those of root would be wrong, and the stage knows the right ones
		caller = slices.DeleteFunc(slices.Clone(caller), ofAccount)
	}
	env := environ(caller, *l.task, l.variables...)
	// In a session of its own it has no terminal: with that of root it could type into root's shell.
	p, err := fork(self(), []string{"sched", StageArgument, string(text)}, "/", env, l.output, files, &syscall.SysProcAttr{Setsid: true}, said)
	if err != nil {
		said.Close()
	}
	return p, err
}

// copyOutput makes a copy of what a run printed, as the user of its task: root would follow the links of
// whoever can write in that folder.
func (l launch) copyOutput(to schedule.Output, captured *os.File) error {
	p, err := l.startAs(stage{Copy: to}, captured)
	if err != nil {
		return err
	}
	timer := time.NewTimer(hookTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C: // a named pipe that nobody reads
		syscall.Kill(-p.pid, syscall.SIGKILL)
		return fmt.Errorf("no end after %s", hookTimeout)
	}
	switch {
	case p.refusal != "":
		return errors.New(p.refusal)
	case p.exitCode() != 0:
		return fmt.Errorf("exit code %d", p.exitCode())
	}
	return nil
}

// present is a list of the file, or of none.
func present(file *os.File) []*os.File {
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
		_, err := dotenv.Read(t.EnvFiles, environ(env, *t))
		return err
	}
	for _, path := range t.EnvFiles {
		if _, err := os.Stat(path); err != nil {
			return dotenv.FileError(path, text.WithoutPath(err))
		}
	}
	return nil
}
