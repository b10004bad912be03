// Package ticknote is what a tick writes down of its surroundings, in the state folder: the
// environment that its caller gave it, and minutes that were ticked twice. It holds no secret.
package ticknote

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/humanize"
	"sched/schedule/process"
	"sched/schedule/statedir"
)

// Placement are the variables that say which server of a schedule this is. Their values are no
// secrets.
var Placement = []string{"SCHED_SERVER", "SCHED_LABELS"}

// An Environment is what the caller of a tick gave it. It has only the names of variables, but for
// PATH, SHELL and Placement, because values may be secret.
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

	Placed map[string]string `json:",omitempty"` // the variables of Placement that are set, and their values
}

// A Note is the environment of the last tick that changed it.
type Note struct {
	Environment
	Since time.Time // of the first tick that had it
	By    []string  // the processes above it then, the nearest first: sh, cron; empty if they are not known
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
		return "ticks have " + strings.Join(n.otherLimits(ours), ", ")
	case slices.ContainsFunc(n.Names, missing):
		lacks := slices.DeleteFunc(slices.Clone(n.Names), func(name string) bool { return !missing(name) })
		return "this shell lacks variables of the ticks: " + humanize.Names(lacks, 3)
	case digest(environ, n.Names) != n.Digest:
		return "a variable of the ticks has another value in this shell"
	}
	return ""
}

// otherLimits names the umask and the limits that ticks have and this process has not, each with
// both values.
func (n Note) otherLimits(ours Environment) (others []string) {
	add := func(name, theirs, here string) {
		if theirs != here {
			others = append(others, fmt.Sprintf("%s %s (here %s)", name, theirs, here))
		}
	}
	add("umask", n.Umask, ours.Umask)
	names := maps.Clone(n.Limits)
	if names == nil {
		names = map[string]uint64{}
	}
	maps.Copy(names, ours.Limits)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		add(name, limitText(n.Limits, name), limitText(ours.Limits, name))
	}
	return others
}

func limitText(limits map[string]uint64, name string) string {
	if limit, ok := limits[name]; ok {
		return strconv.FormatUint(limit, 10)
	}
	return "unlimited"
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

// OpenFiles is the name of a limit in Environment.Limits.
const OpenFiles = "open files"

// limits are the limits that end commands, or keep them from starting.
var limits = []struct {
	name     string
	resource int
}{
	{OpenFiles, unix.RLIMIT_NOFILE},
	{"file size", unix.RLIMIT_FSIZE},
	{"memory", unix.RLIMIT_AS},
	{"cpu seconds", unix.RLIMIT_CPU},
}

// Here returns the environment of this process. environ is as os.Environ returns it. It
// sets the umask for a moment: no other goroutine may make files meanwhile.
func Here(environ []string, zone string) Environment {
	e := Environment{UID: os.Geteuid(), GID: os.Getegid(), Zone: zone, Limits: map[string]uint64{}}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		e.Names = append(e.Names, name)
		switch {
		case name == "PATH":
			e.Path = value
		case name == "SHELL":
			e.Shell = value
		case slices.Contains(Placement, name):
			if e.Placed == nil {
				e.Placed = map[string]string{}
			}
			e.Placed[name] = value
		}
	}
	slices.Sort(e.Names)
	e.Digest = digest(environ, e.Names)
	syscall.ForkLock.RLock() // a supervisor that is started ahead must not inherit it
	umask := unix.Umask(0o77)
	unix.Umask(umask)
	syscall.ForkLock.RUnlock()
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

func notePath(dir string) string { return filepath.Join(dir, "tick-environment") }

// Keep writes down the environment of a tick, in the state folder, if it differs from the one
// before. Most ticks only read.
func Keep(dir string, e Environment, now time.Time) error {
	if before, ok := Read(dir); ok && reflect.DeepEqual(before.Environment, e) {
		return nil
	}
	return writeJSON(notePath(dir), Note{e, now.UTC(), processesAbove()})
}

// Read returns what the last ticks wrote down; false if no tick did, or the note is incomplete.
func Read(dir string) (note Note, ok bool) {
	text, err := statedir.ReadFile(notePath(dir))
	return note, err == nil && json.Unmarshal(text, &note) == nil
}

// A Double is a minute that was covered already when a tick came for it.
type Double struct {
	Minute time.Time
	By     []string // the processes above the tick that came second
}

// maxDoubles is how many minutes are kept: the newest.
const maxDoubles = 20

func doublesPath(dir string) string { return filepath.Join(dir, "double-ticks") }

// KeepDouble notes that a tick came for a minute that was covered already. A third tick of that
// minute adds nothing.
func KeepDouble(dir string, minute time.Time) error {
	all := Doubles(dir)
	if n := len(all); n > 0 && all[n-1].Minute.Equal(minute) {
		return nil
	}
	all = append(all, Double{minute.UTC(), processesAbove()})
	return writeJSON(doublesPath(dir), all[max(0, len(all)-maxDoubles):])
}

// Doubles returns the newest minutes that were ticked twice, at most maxDoubles, the oldest
// first.
func Doubles(dir string) (all []Double) {
	if text, err := statedir.ReadFile(doublesPath(dir)); err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}

// writeJSON writes a value into a file, which survives a crash of the machine.
func writeJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return statedir.WriteSynced(path, append(text, '\n'))
}

// maxProcessesAbove is how many processes above this one are named at most.
const maxProcessesAbove = 6

// processesAbove returns the names of the processes above this one, the nearest first. The process
// with the id 1, which is above all, counts only if it called this one itself, as systemd does. It
// returns nothing on systems that do not tell.
func processesAbove() (names []string) {
	for pid := os.Getppid(); pid > 0 && len(names) < maxProcessesAbove; {
		name, parent, ok := process.NameAndParent(pid)
		if !ok || pid == 1 && names != nil {
			break
		}
		names, pid = append(names, name), parent
	}
	return names
}
