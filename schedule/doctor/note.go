package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/statedir"
)

// An Environment is what a tick was given by what called it. Of its variables it has the names alone, but for PATH and SHELL,
// since the others may be secret.
type Environment struct {
	Names  []string          `json:"names"` // of variables, sorted
	Path   string            `json:"path"`
	Shell  string            `json:"shell"`
	Umask  string            `json:"umask"` // in octal
	UID    int               `json:"uid"`
	GID    int               `json:"gid"`
	Zone   string            `json:"zone"`   // the machine's, as this process sees it
	Limits map[string]uint64 `json:"limits"` // soft ones, by name; those without a limit are left out
}

// A Note is the environment of the last tick that had another one than the tick before.
type Note struct {
	Environment
	Since time.Time `json:"since"` // of the first tick that had it
	By    []string  `json:"by"`    // the processes above it then, the nearest first: sh, cron; empty where they are not known
}

// limits are those that end commands, or keep them from starting.
var limits = map[string]int{"open files": unix.RLIMIT_NOFILE, "file size": unix.RLIMIT_FSIZE, "memory": unix.RLIMIT_AS, "cpu seconds": unix.RLIMIT_CPU}

// Here returns the environment of this process. environ is as os.Environ returns it. It sets the umask for a moment: no
// other goroutine may make files meanwhile.
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
	umask := unix.Umask(0o77)
	unix.Umask(umask)
	e.Umask = fmt.Sprintf("%04o", umask)
	for name, resource := range limits {
		var limit unix.Rlimit
		if unix.Getrlimit(resource, &limit) == nil && limit.Cur < 1<<62 {
			e.Limits[name] = limit.Cur
		}
	}
	return e
}

func notePath(dir string) string { return filepath.Join(dir, "tick-environment") }

// Keep writes down the environment of a tick, in the state folder, where it is another one than before. Most ticks only
// read. Nothing is synced to disk: what a power cut takes away, the next tick writes again.
func Keep(dir string, e Environment, now time.Time) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if before, err := readPlain(notePath(dir)); err == nil && bytes.HasPrefix(before, line) {
		return nil
	}
	rest, err := json.Marshal(struct {
		Since time.Time `json:"since"`
		By    []string  `json:"by"`
	}{now.UTC(), Callers()})
	if err != nil {
		return err
	}
	return writePlain(notePath(dir), append(append(line, rest...), '\n'))
}

// Noted returns what the last ticks wrote down; false where none did.
func Noted(dir string) (Note, bool) {
	text, err := readPlain(notePath(dir))
	if err != nil {
		return Note{}, false
	}
	var note Note
	first, second, _ := bytes.Cut(text, []byte("\n"))
	if json.Unmarshal(first, &note) != nil || json.Unmarshal(second, &note) != nil {
		return Note{}, false
	}
	return note, true
}

func readPlain(path string) ([]byte, error) {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return statedir.ReadAll(file)
}

func writePlain(path string, text []byte) error {
	file, err := statedir.Open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	file.Close()
	return err
}
