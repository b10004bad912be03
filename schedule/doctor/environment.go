package doctor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/process"
	"sched/schedule/statedir"
)

// This file compares the environment that ticks have with the environment of this process. Below
// the checks stands the note in which a tick leaves its environment.

// unknownYet is the finding of checks that need the note of a tick.
func unknownYet() findings { return fine("not known before a tick has come that nobody typed") }

// checkVariables looks for variables that the schedule or its commands name and that ticks lack.
func checkVariables(_ context.Context, s *Subject) (found findings) {
	note, ok := s.tickNote()
	if !ok {
		return unknownYet()
	}
	ours := process.Lookup(s.Environ)
	err := s.LoadWith(func(name string) (string, bool) {
		if _, inTicks := slices.BinarySearch(note.Names, name); !inTicks {
			return "", false
		}
		if value, known := ours(name); known {
			return value, true
		}
		return "unknown", true
	})
	if invalid, ok := errors.AsType[*load.InvalidError](err); ok {
		for _, p := range invalid.Problems {
			if strings.Contains(p.Text, "is not set") {
				found.add(Bad, "set it in the crontab, or write ${VAR:-default} or ${file:PATH}",
					"ticks lack a variable: %s: %s", p.Place.String(), p.Text)
			}
		}
	}
	found = append(found, s.missingVariables(note)...)
	return found.orFine("ticks have all variables that the schedule and its commands name")
}

// missingVariables finds variables of this shell that commands use and that ticks do not give them.
func (s *Subject) missingVariables(note Note) (found findings) {
	ticks := &Machine{}
	for _, name := range note.Names {
		ticks.Environ = append(ticks.Environ, name+"=unknown")
	}
	ours := process.Lookup(s.Environ)
	uses := map[string][]string{} // tasks, by the variable
	for t := range s.Schedule.ActiveTasks() {
		given, known := ticks.Variables(t)
		theirs := process.Lookup(given)
		for _, name := range usedVariables(t) {
			_, inShell := ours(name)
			if _, inTicks := theirs(name); known && inShell && !inTicks {
				uses[name] = append(uses[name], t.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		found.add(Bad, "set it in `env:`, if it is a secret in a file of `env_file:`, or in the crontab",
			"your shell has the variable %s, and ticks have not; commands use it: %s",
			name, humanize.Names(uses[name], 3))
	}
	return found
}

// checkPath looks for programs of tasks that the PATH of this shell has, and not the PATH of ticks.
func checkPath(_ context.Context, s *Subject) (found findings) {
	note, ok := s.tickNote()
	if !ok {
		return unknownYet()
	}
	ticks, ours := &Machine{Environ: []string{"PATH=" + note.Path}}, &Machine{Environ: s.Environ}
	type missing struct{ name, program, path string } // path: the PATH of the ticks
	users := map[missing][]string{}                   // tasks
	for t := range s.Schedule.ActiveTasks() {
		path, known := ticks.Path(t)
		ourPath, _ := ours.Path(t)
		for _, name := range programNames(t) {
			program := process.FindProgram(name, ourPath, t.Dir)
			if known && program != "" && process.FindProgram(name, path, t.Dir) == "" {
				m := missing{name, program, path}
				users[m] = append(users[m], t.Name)
			}
		}
	}
	byName := func(a, b missing) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.program, b.program), cmp.Compare(a.path, b.path))
	}
	for _, m := range slices.SortedFunc(maps.Keys(users), byName) {
		found.add(Bad, "add to the top of the schedule: env: {PATH: "+filepath.Dir(m.program)+":"+m.path+"}",
			"%s is %s in your shell, and not in the PATH of ticks, %s: %s",
			m.name, m.program, m.path, humanize.Names(users[m], 3))
	}
	return found.orFine("the programs of all tasks are in the PATH of ticks, %s", note.Path)
}

// checkZone compares the machine's zone in ticks and here, unless the schedule names its own.
func checkZone(_ context.Context, s *Subject) findings {
	note, ok := s.tickNote()
	zone := s.Schedule.Location.String()
	if ok && note.Zone != s.Zone && zone == s.Zone {
		return finding(Bad, "name one in the schedule: timezone: "+zone,
			"ticks take the machine to be in %s, and your shell in %s (TZ)", note.Zone, s.Zone)
	}
	return fine("the schedule is in %s", zone)
}

// minOpenFiles is how many files a process should be able to open: a lower limit is too low for
// many programs.
const minOpenFiles = 256

// checkLimits looks for a limit of ticks that is less than half of the limit of this shell, for too
// few open files, and for another umask.
func checkLimits(_ context.Context, s *Subject) (found findings) {
	note, ok := s.tickNote()
	if !ok {
		return unknownYet()
	}
	ours := EnvironmentHere(s.Environ, s.Zone)
	for _, name := range slices.Sorted(maps.Keys(note.Limits)) {
		theirs := note.Limits[name]
		our, limited := ours.Limits[name]
		switch {
		case name == openFiles && theirs < minOpenFiles:
			found.add(Warning, "raise it in limits.conf, or with LimitNOFILE=",
				"commands of ticks may open %d files at once", theirs)
		case name != openFiles && (!limited || theirs < our/2):
			found.add(Warning, "see limits.conf(5)",
				"ticks have a limit for %s, %d, that your shell has not", name, theirs)
		}
	}
	if note.UID == ours.UID && note.Umask != ours.Umask {
		found.add(Warning, "set `umask:` where it matters",
			"files of ticks get the umask %s, yours %s", note.Umask, ours.Umask)
	}
	files := "any number of"
	if limit, limited := note.Limits[openFiles]; limited {
		files = fmt.Sprintf("up to %d", limit)
	}
	return found.orFine("commands of ticks may open %s files, with umask %s", files, note.Umask)
}

// serverVariables say for which server a machine takes itself.
var serverVariables = []string{"SCHED_LABELS", "SCHED_SERVER"}

// checkServers says for which server this machine takes itself, and which tasks it leaves to
// others.
func checkServers(_ context.Context, s *Subject) (found findings) {
	asks := func(t *schedule.Task) bool { return len(t.Servers) > 0 }
	if !slices.ContainsFunc(s.Schedule.Tasks, asks) {
		return nil
	}
	if problem := s.Schedule.Machine.Wrong; problem != "" {
		found.add(Bad, "tasks that ask for labels in `servers` do not run here until it is mended", "%s", problem)
	}
	found = append(found, s.otherVariables()...)
	var elsewhere []string
	for _, t := range s.Schedule.Tasks {
		if s.Schedule.InUse(t) && !s.Schedule.Here(t) {
			elsewhere = append(elsewhere, t.Name)
		}
	}
	if len(elsewhere) == 0 {
		return found.orFine("all tasks are for this server: %s", s.Schedule.Machine)
	}
	return found.orFine("this is %s; of %s these do not run here: %s",
		s.Schedule.Machine, humanize.Count(len(s.Schedule.Tasks), "task"), humanize.Names(elsewhere, 5))
}

// otherVariables names variables that make ticks take this machine for another one than this
// process does.
func (s *Subject) otherVariables() (found findings) {
	note, ok := s.tickNote()
	if !ok {
		return nil
	}
	ours := process.Lookup(s.Environ)
	for _, name := range serverVariables {
		_, inTicks := slices.BinarySearch(note.Names, name)
		if _, inShell := ours(name); inShell != inTicks {
			who := "ticks have $" + name + ", and this shell has not"
			if inShell {
				who = "this shell has $" + name + ", and ticks have not"
			}
			found.add(Warning, "set it in both, or let the file /etc/sched/labels and the host name say it",
				"%s: commands here take other tasks for the tasks of this server", who)
		}
	}
	return found
}

// An Environment is what the caller of a tick gave it. It has only the names of variables, but for
// PATH and SHELL, because values may be secret.
type Environment struct {
	Names  []string // of variables, sorted
	Digest string   `json:"Values"` // of their values, without PATH, SHELL and processVariables
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

// openFiles is the name of a limit in Environment.Limits.
const openFiles = "open files"

// limits are the limits that end commands, or keep them from starting.
var limits = []struct {
	name     string
	resource int
}{
	{openFiles, unix.RLIMIT_NOFILE},
	{"file size", unix.RLIMIT_FSIZE},
	{"memory", unix.RLIMIT_AS},
	{"cpu seconds", unix.RLIMIT_CPU},
}

// EnvironmentHere returns the environment of this process. environ is as os.Environ returns it. It
// sets the umask for a moment: no other goroutine may make files meanwhile.
func EnvironmentHere(environ []string, zone string) Environment {
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
	e.Digest = digest(environ, e.Names)
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

// digest returns a digest of the variables with the names, which are sorted. It tells values apart,
// and does not reveal them.
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

// Difference says why this process cannot start commands as the last ticks would; "" if it can. A
// service of systemd ends and confines its processes. ours is the environment of this process, and
// environ its variables.
func (n Note) Difference(ours Environment, environ []string) string {
	missing := func(name string) bool {
		_, found := slices.BinarySearch(ours.Names, name)
		return !found && name != "PATH" && name != "SHELL" && !slices.Contains(processVariables, name)
	}
	switch {
	case slices.Contains(n.Names, serviceVariable):
		return "ticks run in a service of systemd"
	case slices.Contains(ours.Names, serviceVariable):
		return "this process is of a service of systemd"
	case n.UID != ours.UID || n.GID != ours.GID:
		return "ticks have another user or group"
	case n.Zone != ours.Zone:
		return "ticks have another time zone: " + n.Zone
	case n.Umask != ours.Umask || !maps.Equal(n.Limits, ours.Limits):
		return "ticks have another umask or other limits"
	case slices.ContainsFunc(n.Names, missing):
		lacks := slices.DeleteFunc(slices.Clone(n.Names), func(name string) bool { return !missing(name) })
		return "this shell lacks variables of the ticks: " + humanize.Names(lacks, 3)
	case digest(environ, n.Names) != n.Digest:
		return "a variable of the ticks has another value in this shell"
	}
	return ""
}

// Environ returns the variables of the last ticks, for commands that this process is to start as a
// tick would. It returns nil after a Difference.
func (n Note) Environ(ours Environment, environ []string) (variables []string) {
	if n.Difference(ours, environ) != "" {
		return nil
	}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if _, inTicks := slices.BinarySearch(n.Names, name); inTicks && name != "PATH" && name != "SHELL" {
			variables = append(variables, pair)
		}
	}
	for name, value := range map[string]string{"PATH": n.Path, "SHELL": n.Shell} {
		if _, inTicks := slices.BinarySearch(n.Names, name); inTicks {
			variables = append(variables, name+"="+value)
		}
	}
	return variables
}

func notePath(dir string) string { return filepath.Join(dir, "tick-environment") }

// KeepNote writes down the environment of a tick, in the state folder, if it differs from the one
// before. Most ticks only read.
func KeepNote(dir string, e Environment, now time.Time) error {
	if before, ok := ReadNote(dir); ok && reflect.DeepEqual(before.Environment, e) {
		return nil
	}
	return writeJSON(notePath(dir), Note{e, now.UTC(), processesAbove()})
}

// ReadNote returns what the last ticks wrote down; false if no tick did, or the note is incomplete.
func ReadNote(dir string) (note Note, ok bool) {
	text, err := statedir.ReadFile(notePath(dir))
	return note, err == nil && json.Unmarshal(text, &note) == nil
}

// writeJSON writes a value into a file, which survives a crash of the machine.
func writeJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return statedir.WriteSynced(path, append(text, '\n'))
}
