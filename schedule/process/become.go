package process

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"sched/schedule"
	"sched/schedule/dotenv"
)

// BecomeArgument is the first argument of a process that is to become a command.
const BecomeArgument = "become"

// A setup is what a process that is still sched does before it becomes a command, where a task has
// `user`, `group`, `umask` or `nice`. A process can change its own umask and no other's, a hook must be
// marked as started by the process that becomes it (see markAndRun) and by nobody who is not sched's own
// user, and only a process that is the user already finds out what that user may not read or enter.
type setup struct {
	As        schedule.As     `json:"as"`
	Argv      []string        `json:"argv,omitempty"`
	Copy      schedule.Output `json:"copy,omitzero"`  // in place of Argv: copy descriptor 3 to there
	Mark      string          `json:"mark,omitempty"` // to be written to descriptor 3, the run's file, which is closed then
	Keep      bool            `json:"keep,omitempty"` // descriptor 3 is a lock, which the command inherits
	Dir       string          `json:"dir,omitempty"`
	Folder    string          `json:"folder,omitempty"` // with Anyway: where it starts when it cannot start in Dir
	EnvFiles  []string        `json:"env_file,omitempty"`
	Variables []string        `json:"variables,omitempty"` // which win over those of the files
	Lenient   bool            `json:"anyway,omitempty"`
	Says      int             `json:"says"` // the descriptor for the reason why there is no command
}

// Become becomes the command that the text describes, with the environment of this process. Where it
// returns it could not, and the process must end with the code. It reports false for a text that is
// not from sched.
func Become(text string, env []string) (code int, ok bool) {
	var s setup
	if json.Unmarshal([]byte(text), &s) != nil || s.Says < 3 {
		return 0, false
	}
	runtime.LockOSThread() // the priority is one of the thread, on Linux
	s.closeOthers()
	err := s.apply(env)
	if err == nil {
		return 0, true // a copy was made
	}
	fmt.Fprint(os.NewFile(uintptr(s.Says), "the pipe to sched"), err)
	return StartExitCode(err), true
}

// closeOthers sees to it that the command inherits what it is meant to, and nothing that root has open.
func (s setup) closeOthers() {
	keep := 2
	if s.Keep {
		keep = 3
	}
	open, _ := os.ReadDir("/dev/fd")
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > keep {
			syscall.CloseOnExec(fd)
		}
	}
	syscall.CloseOnExec(s.Says)
}

// apply does first what needs the rights of sched, and then the rest with those of the user.
func (s setup) apply(env []string) error {
	who, err := accountOf(s.As)
	if err != nil {
		return err
	}
	if err := setNice(s.As.Nice); err != nil {
		return err
	}
	if s.As.Umask != nil {
		syscall.Umask(*s.As.Umask)
	}
	if s.Mark != "" {
		syscall.Write(3, []byte("\n"+s.Mark+"\n"))
		syscall.Close(3)
	}
	if err := who.become(); err != nil {
		return fmt.Errorf("cannot become %s: %w", who.name, err)
	}
	if s.Copy.File != "" {
		err = CopyTo(s.Copy, os.NewFile(3, "the output"))
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
	env = Environ(who.variables(), schedule.Task{}, env...)
	more, err := dotenv.Read(s.EnvFiles, env)
	if err != nil && !s.Lenient {
		return err
	}
	env = Environ(env, schedule.Task{}, append(more, s.Variables...)...)
	if err := os.Chdir(s.Dir); err != nil && (!s.Lenient || os.Chdir(s.Folder) != nil) {
		return folderError(s.Dir, err)
	}
	path, err := lookPath(s.Argv[0], s.Dir, env)
	if err != nil {
		return err
	}
	return &os.PathError{Op: "exec", Path: path, Err: syscall.Exec(path, s.Argv, env)}
}

// CopyTo makes the copy that output asks for.
func CopyTo(to schedule.Output, from io.Reader) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if to.Append {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	if err := os.MkdirAll(filepath.Dir(to.File), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(to.File, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}
