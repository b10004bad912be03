package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sched/schedule"
	"sched/schedule/account"
	"sched/schedule/envfile"
	"sched/schedule/humanize"
	"sched/schedule/mask"
)

// BecomeArgument is the only argument of a process of sched that is to become a command (Become).
const BecomeArgument = "become"

// A setup is what a process of sched does before it becomes a command, if a task has `user`,
// `group`, `umask`, `nice` or `limits`
// (docs/internals/decisions.md#sched-itself-becomes-another-user). A process can change no umask
// but its own. Only a process of the user finds out what that user may not read or enter.
type setup struct {
	As     schedule.As     `json:"as"`
	Limits schedule.Limits `json:"limits,omitzero"` // of the process: not its CPU
	Argv   []string        `json:"argv,omitempty"`
	Copy   schedule.Output `json:"copy,omitzero"`  // in place of Argv: the file to which descriptor 3 is copied
	Tell   bool            `json:"tell,omitempty"` // in place of Argv: the secrets are written to descriptor 3
	Dir    string          `json:"dir,omitempty"`

	// Folder is for Lenient: the command starts in it if it cannot start in Dir.
	Folder string `json:"folder,omitempty"`
	// Locks is how many descriptors, from 3 on, are locks that the command inherits.
	Locks     int      `json:"locks,omitempty"`
	EnvFiles  []string `json:"env_file,omitempty"`
	Secrets   []string `json:"secrets,omitempty"`
	Variables []string `json:"variables,omitempty"` // they replace the variables of the files
	Lenient   bool     `json:"lenient,omitempty"`   // see Spec.Lenient
	// RefusalDescriptor is the pipe for the reason why there is no command.
	RefusalDescriptor int `json:"refusal"`
}

// Become becomes the command that setupVariable of env describes, and does not return. The rest of
// env is for the command. Become returns
//
//   - ok = false if env is not from startAs;
//   - else, if there is no command, or none was asked for, ok = true and the code with which the process
//     must end.
func Become(env []string) (code int, ok bool) {
	var s setup
	text, _ := Lookup(env)(setupVariable)
	if json.Unmarshal([]byte(text), &s) != nil || s.RefusalDescriptor < 3 {
		return 0, false
	}
	runtime.LockOSThread() // the priority is one of the thread, on Linux
	s.keepFromCommand()
	isSetup := func(pair string) bool { return strings.HasPrefix(pair, setupVariable+"=") }
	err := s.apply(slices.DeleteFunc(env, isSetup))
	if err == nil {
		return 0, true // it copied or told
	}
	fmt.Fprint(os.NewFile(uintptr(s.RefusalDescriptor), "the pipe to sched"), err)
	return StartExitCode(err), true
}

// keepFromCommand marks as close-on-exec what sched's own user has open, and the command is not
// meant to inherit.
func (s setup) keepFromCommand() {
	CloseOnExecFrom(3 + s.Locks)
	syscall.CloseOnExec(s.RefusalDescriptor)
}

// apply first does what needs the rights of sched's own user, and the rest with the rights of the
// task's user. It returns nil after Copy and Tell. Otherwise it returns only if there is no
// command, with the error that says why.
func (s setup) apply(env []string) error {
	user, err := account.Of(s.As)
	if err != nil {
		return err
	}
	if err := setNice(s.As.Nice); err != nil {
		return err
	}
	niceSession(s.As.Nice)
	limitFiles(s.Limits.Files)
	if s.As.Umask != nil {
		syscall.Umask(*s.As.Umask)
	}
	if err := user.Become(); err != nil {
		return fmt.Errorf("cannot become %s: %w", user.Name, err)
	}
	if s.Tell {
		err = s.tell(user, env)
	} else if s.Copy.File != "" {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // sched ends it before, if sched lives
		defer cancel()
		err = CopyTo(ctx, s.Copy, os.NewFile(3, "the output"))
	} else {
		err = s.exec(user, env)
	}
	if err != nil && user.Change {
		return fmt.Errorf("as %s: %w", user.Name, err)
	}
	return err
}

// tell writes the secrets, each with a null character after it.
func (s setup) tell(user account.Account, env []string) error {
	env, fromFiles, err := s.environ(user, env)
	if err == nil {
		pairs := append(mask.Variables(s.Secrets, fromFiles, Lookup(env)), "")
		_, err = io.WriteString(os.NewFile(3, "the pipe"), strings.Join(pairs, "\x00"))
	}
	return err
}

// environ returns the environment of the command, and what of it comes from files.
func (s setup) environ(user account.Account, env []string) (all, fromFiles []string, err error) {
	env = Environ(nil, schedule.Task{}, slices.Concat(user.Variables(), env)...)
	fromFiles, err = envfile.Read(s.EnvFiles, Lookup(env))
	return Environ(env, schedule.Task{}, slices.Concat(fromFiles, s.Variables)...), fromFiles, err
}

// exec replaces this process by the command.
func (s setup) exec(user account.Account, env []string) error {
	env, _, err := s.environ(user, env)
	if err == nil {
		err = mask.Check(s.Secrets, Lookup(env))
	}
	if err != nil && !s.Lenient {
		return err
	}
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

// LimitsText says how the limits of a command are kept. If noCgroup is nil, a cgroup keeps them.
// Otherwise noCgroup says why the command has no cgroup: then each process keeps its own limits
// (setrlimit(2)), which cannot limit its part of a processor.
func LimitsText(l schedule.Limits, noCgroup error) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch memory := humanize.Bytes(l.Memory); {
	case l.Memory == 0: // no limit
	case noCgroup == nil:
		add("memory %s (cgroup)", memory)
	case memoryResource != 0:
		add("memory %s for each process (rlimit)", memory)
	default:
		add("memory %s cannot be kept", memory)
	}
	switch {
	case l.CPU == 0: // no limit
	case noCgroup == nil:
		add("cpu %d%% (cgroup)", l.CPU)
	default:
		add("cpu %d%% cannot be kept", l.CPU)
	}
	if allowed := maxFiles(l.Files); allowed < l.Files {
		add("files %d (rlimit; only root may have %d)", allowed, l.Files)
	} else if l.Files > 0 {
		add("files %d (rlimit)", l.Files)
	}
	text := strings.Join(parts, ", ")
	if noCgroup != nil && l.NeedsCgroup() {
		text += "; no cgroup: " + noCgroup.Error()
	}
	return text
}

// maxFiles returns how many open files this process may set as a limit: n, or as many as it may
// have itself.
func maxFiles(n int) int {
	var own syscall.Rlimit
	if os.Geteuid() == 0 || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own) != nil {
		return n
	}
	return int(min(uint64(n), own.Max))
}

// limitFiles sets how many files this process, and what it becomes, may have open; 0 changes
// nothing.
func limitFiles(n int) {
	if n > 0 {
		setLimit(syscall.RLIMIT_NOFILE, uint64(maxFiles(n)))
	}
}

// limitMemory sets how much memory of its own this process may have; 0 changes nothing. It comes
// last before the command: this process itself may need more.
func limitMemory(bytes int64) {
	if bytes > 0 && memoryResource != 0 {
		setLimit(memoryResource, uint64(bytes))
	}
}

// setLimit sets a limit for good. A lower limit that holds already stays.
func setLimit(resource int, value uint64) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(resource, &limit) == nil && os.Geteuid() != 0 {
		value = min(value, limit.Max)
	}
	syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value})
}

// readPeak takes the peak memory from what a process wrote that was to become the command
// (writePeak), and returns the rest.
func readPeak(text string) (peak int64, rest string) {
	line, rest, _ := strings.Cut(text, "\n")
	peak, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return 0, text
	}
	return peak, rest
}

// writePeak writes the peak memory of this process, which is about to become a command, to the
// descriptor.
func writePeak(descriptor int) {
	syscall.Write(descriptor, []byte(strconv.FormatInt(ownPeak(), 10)+"\n"))
}

// ownPeak is the peak memory of this process, in units of ru_maxrss.
func ownPeak() int64 {
	var own syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	return int64(own.Maxrss)
}
