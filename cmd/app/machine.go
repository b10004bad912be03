package app

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sched/cmd/exit"
	"sched/schedule"
	"sched/schedule/placement"
	"sched/schedule/preflight"
	"sched/schedule/ticknote"
)

// This file has what this process knows of its machine: the names of the machine and its users, its
// time zone, the program and the environment.

// serverVariable is the variable with the name of this machine. It helps if two containers or
// clones have the same host name.
const serverVariable = "SCHED_SERVER"

// Hostname is a variable because tests let one machine be several.
var Hostname = os.Hostname

// A Machine is this machine, as the ticks of one schedule take it.
type Machine struct {
	// ofTicks are the variables of ticknote.Placement that the last ticks had. Ticks of other
	// schedules may have others, and `sched serve` loads several of them.
	ofTicks atomic.Pointer[map[string]string]
}

// placeAsTicks keeps the variables with the name and the labels of this server, as the last ticks
// had them. It reports whether lookup has another answer than before.
func (m *Machine) placeAsTicks(stateDir string) (changed bool) {
	if stateDir == "" {
		return false
	}
	note, _ := ticknote.Read(stateDir)
	placed := maps.Clone(note.Placed)
	if !placement.ValidName(placed[serverVariable]) {
		delete(placed, serverVariable)
	}
	before := m.Environ()
	m.ofTicks.Store(&placed)
	return !slices.Equal(before, m.Environ())
}

// lookup returns a variable of this process or, for the name and the labels of this server, of the
// last ticks.
func (m *Machine) lookup(name string) (value string, set bool) {
	if value, set = os.LookupEnv(name); set {
		return value, true
	}
	if placed := m.ofTicks.Load(); placed != nil && slices.Contains(ticknote.Placement, name) {
		value, set = (*placed)[name]
	}
	return value, set
}

// Environ returns the variables of this process, and each variable for which lookup takes the value
// of the last ticks.
func (m *Machine) Environ() []string {
	environ := os.Environ()
	for _, name := range ticknote.Placement {
		_, own := os.LookupEnv(name)
		if value, set := m.lookup(name); set && !own {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}

// ServerName is $SCHED_SERVER if it is valid, else `server` of the schedule, else the host name. It
// is empty if the host has no name.
func (m *Machine) ServerName(fromSchedule string) string {
	if name, _ := m.lookup(serverVariable); placement.ValidName(name) {
		return name
	}
	if fromSchedule != "" {
		return fromSchedule
	}
	name, _ := Hostname()
	return name
}

// checkServerName refuses a $SCHED_SERVER that is not valid. Otherwise ticks would use the name of
// the host.
func checkServerName() error {
	if name := os.Getenv(serverVariable); name != "" && !placement.ValidName(name) {
		return exit.Usage("use letters, digits and . _ -, and begin with a letter or a digit",
			"$%s %q is not a valid name", serverVariable, name)
	}
	return nil
}

// labelsVariable is the variable with the labels of this machine. If it is not set, LabelsFile has
// the labels.
const labelsVariable = "SCHED_LABELS"

// LabelsFile is a variable because tests have no /etc of their own.
var LabelsFile = "/etc/sched/labels"

// labels returns the labels of this machine, and the problem if they cannot be used.
func (m *Machine) labels() (labels []string, problem string) {
	if text, set := m.lookup(labelsVariable); set {
		return placement.Parse(text, "$"+labelsVariable)
	}
	// The user counts also for a command that only reads: it gives the answer that ticks give.
	return placement.Read(LabelsFile, os.Geteuid())
}

// PersonName is a variable because tests let one user be several.
var PersonName = callerName

// callerName is the login name of the person who called sched, for root before sudo. Any other user
// could have set the variable, and so could act under the name of a colleague.
func callerName() string {
	if name := os.Getenv("SUDO_USER"); name != "" && os.Getuid() == 0 {
		return name
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "user " + strconv.Itoa(os.Getuid())
}

// HomeOf returns the home folder of a user of this machine. It is / if there is no such folder, as
// for nobody on Debian: Debian's cron starts the lines of such users all the same.
func HomeOf(name string) (dir string, ok bool) {
	u, err := user.Lookup(name)
	if err != nil {
		return "", false
	}
	if _, err := os.Stat(u.HomeDir); errors.Is(err, os.ErrNotExist) {
		return "/", true
	}
	return u.HomeDir, true
}

// LocalZone is the zone of this machine under its IANA name, which time.Local lacks. It comes from
// $TZ or /etc/localtime.
var LocalZone = sync.OnceValue(func() *time.Location {
	name, set := os.LookupEnv("TZ")
	name = strings.TrimPrefix(name, ":")
	if !set {
		link, _ := os.Readlink("/etc/localtime")
		_, name, _ = strings.Cut(link, "zoneinfo/")
	}
	if zone, err := time.LoadLocation(name); err == nil && name != "" {
		return zone
	}
	return time.Local
})

// OwnEnvironment returns the environment of this process. It changes the umask for a moment, so
// other goroutines must not make files meanwhile.
func (m *Machine) OwnEnvironment() ticknote.Environment {
	return ticknote.Here(m.Environ(), LocalZone().String())
}

// TickEnviron returns the variables that ticks give to commands. If this process cannot reproduce
// them, it returns nil, and says why. own is the environment of this process.
func (m *Machine) TickEnviron(
	s *schedule.Schedule, own ticknote.Environment,
) (variables []string, whyNot string) {
	note, ok := ticknote.Read(s.StateDir)
	if !ok {
		return nil, "no tick has come yet that nobody typed"
	}
	environ := m.Environ()
	return note.Environ(own, environ), note.Difference(own, environ)
}

// ZoneProblem returns why the TZ of this process names no time zone, and what to do. It returns ""
// if TZ is well, or is not set.
func ZoneProblem(s *schedule.Schedule) (text, hint string) {
	return preflight.ZoneProblem(s, os.Environ(), LocalZone().String())
}

// StateHome returns the folder in which programs of this user keep their state.
func StateHome() (string, error) {
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return state, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local/state"), err
}

// Executable returns the path of this program.
func Executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", exit.Failed("", "where is sched? %w", err)
	}
	return path, nil
}

// Self is the path of this program, or the name by which it was called if its path is unknown.
func Self() string {
	path, err := Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// InstalledProgram is the path of this program for cron and systemd. It prefers sched on PATH if it
// is this program, because that path stays after an update.
func InstalledProgram() (string, error) {
	program, err := Executable()
	if err != nil {
		return "", err
	}
	if onPath, err := exec.LookPath("sched"); err == nil && SamePath(onPath, program) {
		return filepath.Abs(onPath)
	}
	return program, nil
}

// SamePath reports whether both paths lead to the same file.
func SamePath(a, b string) bool {
	first, firstErr := os.Stat(a)
	second, secondErr := os.Stat(b)
	return firstErr == nil && secondErr == nil && os.SameFile(first, second)
}

// SystemVariable is set to have --system in each call of sched.
const SystemVariable = "SCHED_SYSTEM"
