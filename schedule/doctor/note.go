package doctor

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/statedir"
)

// An Environment is what the caller of a tick gave it. It has only the names of variables, but for
// PATH and SHELL, because values may be secret.
type Environment struct {
	Names  []string // of variables, sorted
	Values string   // a digest of their values, without PATH, SHELL and processVariables
	Path   string
	Shell  string
	Umask  string // in octal
	UID    int
	GID    int
	Zone   string            // the machine's, as this process sees it
	Limits map[string]uint64 // soft ones, by name; those without a limit are left out
}

// A Note is the environment of the last tick that changed it.
type Note struct {
	Environment
	Since time.Time // of the first tick that had it
	By    []string  // the processes above it then, the nearest first: sh, cron; empty if they are not known
}

// limits are the limits that end commands, or keep them from starting.
var limits = []struct {
	name     string
	resource int
}{
	{"open files", unix.RLIMIT_NOFILE},
	{"file size", unix.RLIMIT_FSIZE},
	{"memory", unix.RLIMIT_AS},
	{"cpu seconds", unix.RLIMIT_CPU},
}

// Here returns the environment of this process. environ is as os.Environ returns it. It sets the
// umask for a moment: no other goroutine may make files meanwhile.
func Here(environ []string, zone string) Environment {
	e := Environment{UID: os.Geteuid(), GID: os.Getegid(), Zone: zone, Limits: map[string]uint64{}}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		e.Names = append(e.Names, name)
		switch name {
		case "PATH":
			e.Path = value
		case "SHELL":
			e.Shell = value
		}
	}
	slices.Sort(e.Names)
	e.Values = digest(environ, e.Names)
	umask := unix.Umask(0o77)
	unix.Umask(umask)
	e.Umask = fmt.Sprintf("%04o", umask)
	for _, l := range limits {
		var limit unix.Rlimit
		if unix.Getrlimit(l.resource, &limit) == nil && uint64(limit.Cur) < 1<<62 {
			e.Limits[l.name] = uint64(limit.Cur)
		}
	}
	return e
}

// processVariables differ from process to process, and mean nothing to commands. MAILTO is for cron
// alone.
var processVariables = []string{"_", "MAILTO", "OLDPWD", "PWD", "SHLVL", "TERM", "XDG_SESSION_ID"}

// serviceVariable is a variable that systemd gives to the processes of a service, another value
// each time (systemd.exec(5)).
const serviceVariable = "INVOCATION_ID"

// digest is the digest of the variables with the names. It tells values apart, and does not reveal
// them.
func digest(environ, names []string) string {
	var pairs []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		_, isNamed := slices.BinarySearch(names, name)
		if isNamed && name != "PATH" && name != "SHELL" && !slices.Contains(processVariables, name) {
			pairs = append(pairs, pair)
		}
	}
	slices.Sort(pairs)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(pairs, "\x00"))))
}

// Environ returns the variables of the last ticks, for commands that this process is to start as a
// tick would. It returns nil if this process cannot do so: it has another user, another value of a
// variable, or other limits, or one of the two runs in a service of systemd, which ends and
// confines its processes. ours is the environment of this process, and environ its variables.
func (n Note) Environ(ours Environment, environ []string) (variables []string) {
	if slices.Contains(n.Names, serviceVariable) || slices.Contains(ours.Names, serviceVariable) {
		return nil
	}
	same := n.Environment
	same.Names, same.Path, same.Shell, same.Values = ours.Names, ours.Path, ours.Shell, ours.Values
	if !reflect.DeepEqual(same, ours) || digest(environ, n.Names) != n.Values {
		return nil
	}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if _, wanted := slices.BinarySearch(n.Names, name); wanted && name != "PATH" && name != "SHELL" {
			variables = append(variables, pair)
		}
	}
	for name, value := range map[string]string{"PATH": n.Path, "SHELL": n.Shell} {
		if _, wanted := slices.BinarySearch(n.Names, name); wanted {
			variables = append(variables, name+"="+value)
		}
	}
	return variables
}

func notePath(dir string) string { return filepath.Join(dir, "tick-environment") }

// Keep writes down the environment of a tick, in the state folder, if it differs from the one
// before. Most ticks only read.
func Keep(dir string, e Environment, now time.Time) error {
	if before, ok := Noted(dir); ok && reflect.DeepEqual(before.Environment, e) {
		return nil
	}
	return writeJSON(notePath(dir), Note{e, now.UTC(), processesAbove()})
}

// Noted returns what the last ticks wrote down; false if no tick did, or the note is incomplete.
func Noted(dir string) (note Note, ok bool) {
	text, err := statedir.ReadFile(notePath(dir))
	return note, err == nil && json.Unmarshal(text, &note) == nil
}

func writeJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return statedir.WriteSynced(path, append(text, '\n'))
}
